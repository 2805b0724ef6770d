"""Unified diff of two program texts that ignores the numbering of graph bindings.

One computation more at the beginning renumbers all that follow, and `diff` would show every line.
So lines are compared with the operator that `%12` is a call of in place of the number, and without
comments and positions in the metadata. Lines are shown as they are.

Lines that occur once on both sides, in the same order, are anchors (patience diff), and only what
is between them is passed to `difflib`, so the time is linear in the length of the texts.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from relay.immutable import frozen

CONTEXT = 2  # equal lines shown around those that differ

_DEFINED = re.compile(r"^\s*%(\d+) = (@?[\w.]+|[^\s\w])")
_NUMBER = re.compile(r"%(\d+)")
_COMMENT = re.compile(r"\s*/\*.*?\*/")
_POSITION = re.compile(r"(meta\[[\w.]+\])\[\d+\]")


@frozen
class _Piece:
    """Lines [i1, i2) of the old text and [j1, j2) of the new one, and whether they are equal."""

    same: bool
    i1: int
    i2: int
    j1: int
    j2: int


def text_diff(before: str, after: str, context: int = CONTEXT) -> str:
    """The diff from `before` to `after`; empty when the programs read the same."""
    old, new = before.splitlines(), after.splitlines()
    pieces = list(_pieces(_keys(old), _keys(new)))
    shown: list[str] = []
    for position, piece in enumerate(pieces):
        if not piece.same:
            shown += [f"-{line}" for line in old[piece.i1 : piece.i2]]
            shown += [f"+{line}" for line in new[piece.j1 : piece.j2]]
            continue
        first, last = position == 0, position == len(pieces) - 1
        if first and last:
            return ""
        lines = [f" {line}" for line in new[piece.j1 : piece.j2]]
        head, tail = 0 if first else context, 0 if last else context
        if len(lines) > head + tail:
            left_out = len(lines) - head - tail
            mark = f"@@ {left_out} line{'s' * (left_out > 1)} as before @@"
            lines = [*lines[:head], mark, *lines[len(lines) - tail :]]
        shown += lines
    return "\n".join(shown)


def _keys(lines: Sequence[str]) -> list[str]:
    """The lines as they are compared."""
    heads: dict[str, str] = {}
    for line in lines:
        if found := _DEFINED.match(line):
            # numbers start afresh in no block of a text, so each is defined once
            heads[found[1]] = found[2]
    keys = []
    for line in lines:
        key = _POSITION.sub(r"\1", _COMMENT.sub("", line))
        keys.append(_NUMBER.sub(lambda found: f"%{heads.get(found[1], '')}", key))
    return keys


def _pieces(old: list[str], new: list[str]) -> Iterator[_Piece]:
    """Alternating equal and different pieces of the two texts."""
    found: list[_Piece] = []
    i = j = 0
    for anchor_i, anchor_j in [*_anchors(old, new), (len(old), len(new))]:
        matcher = SequenceMatcher(None, old[i:anchor_i], new[j:anchor_j], autojunk=False)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            found.append(_Piece(tag == "equal", i + i1, i + i2, j + j1, j + j2))
        if anchor_i < len(old):
            found.append(_Piece(True, anchor_i, anchor_i + 1, anchor_j, anchor_j + 1))
        i, j = anchor_i + 1, anchor_j + 1
    return _joined(found)


def _joined(pieces: Sequence[_Piece]) -> Iterator[_Piece]:
    """Adjacent pieces of one kind merged."""
    last: _Piece | None = None
    for piece in pieces:
        if last is not None and last.same == piece.same:
            last = _Piece(last.same, last.i1, piece.i2, last.j1, piece.j2)
            continue
        if last is not None:
            yield last
        last = piece
    if last is not None:
        yield last


def _anchors(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Positions of lines that occur once on both sides: a longest common subsequence of them."""
    once = {key for key, count in Counter(old).items() if count == 1}
    once &= {key for key, count in Counter(new).items() if count == 1}
    where = {key: j for j, key in enumerate(new) if key in once}
    # the longest increasing sequence of positions: the last positions of the best of each length
    ends: list[int] = []
    best: list[tuple[int, int]] = []
    before: dict[tuple[int, int], tuple[int, int] | None] = {}
    for i, key in enumerate(old):
        if key in once:
            pair = (i, where[key])
            length = bisect_left(ends, pair[1])
            before[pair] = best[length - 1] if length else None
            ends[length : length + 1] = [pair[1]]
            best[length : length + 1] = [pair]
    chain: list[tuple[int, int]] = []
    step = best[-1] if best else None
    while step is not None:
        chain.append(step)
        step = before[step]
    return chain[::-1]
