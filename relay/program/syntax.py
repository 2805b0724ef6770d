"""How instructions are written, and what they do with registers: read from their `syntax`.

    syntax = "<output:new> = view <input:read><sizes:sizes><where:where>"

`<field:kind>` is a field of the record; everything else is written as it stands. The kinds:

    new, news             registers that it writes, with their types
    read, reads, listed   registers that it borrows: it looks at values that stay with them
    sizes                 the same, for dynamic dimensions: ` [%1, %2]`, or nothing
    give, gives           registers that it consumes: one hold on the value is handed over
    arguments             the same, or nothing
    value                 the same, in nested tuples
    outputs               registers of a kernel's outputs: tensors it borrows, scalars it writes
    texts, cases          those of `RequireEqual` and `Switch`, which fill several fields

The others are no registers: names, strings, numbers, blocks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple, get_args

from relay.program.program import Instruction

_PIECE: Final = re.compile(r"<(?P<field>\w+):(?P<kind>\w+)>|(?P<text>[^<]+)")
_TOKEN: Final = re.compile(r"->|\w+|[^\s\w]")

BORROWED: Final = frozenset({"read", "reads", "listed", "sizes", "outputs", "texts"})
CONSUMED: Final = frozenset({"give", "gives", "arguments", "value"})
WRITTEN: Final = frozenset({"new", "news"})
ONE: Final = ("new", "read", "give")  # of the kinds above, those of one register


class Field(NamedTuple):
    """A field of an instruction, and how it is written."""

    name: str
    kind: str


@cache
def pieces(instruction: type) -> tuple[Field | str, ...]:
    """The syntax of a class of instructions."""
    found = _PIECE.finditer(instruction.syntax)  # type: ignore[attr-defined]
    return tuple(one["text"] or Field(one["field"], one["kind"]) for one in found)


class Form(NamedTuple):
    """How an instruction is read: the outputs before `=` if it has some, a word that tells it from
    others if it has one, then tokens and fields."""

    instruction: type
    output: Field | None
    word: str
    rest: tuple[Field | str, ...]

    @property
    def calls_by_name(self) -> bool:
        """Whether a function comes next, by its name."""
        return any(isinstance(one, Field) and one.kind == "function" for one in self.rest)


@cache
def forms() -> Mapping[str, tuple[Form, ...]]:
    """The forms of all instructions, by the kind of their outputs (or "") and their first word."""
    made: dict[str, tuple[Form, ...]] = {}
    for instruction in get_args(Instruction):
        parts: list[Any] = []
        for piece in pieces(instruction):
            parts += [piece] if isinstance(piece, Field) else _TOKEN.findall(piece)
        output = parts.pop(0) if isinstance(parts[0], Field) else None
        if output is not None:
            parts.pop(0)  # the mark `=`
        word = parts.pop(0) if isinstance(parts[0], str) else ""
        form = Form(instruction, output, word, tuple(parts))
        key = f"{output.kind if output else ''} {word}"
        made[key] = (*made.get(key, ()), form)
    return made
