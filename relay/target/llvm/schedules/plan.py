"""Decisions of a schedule that may be made otherwise, as text: what a tuner tries.

    tile=6x4          register tiles of 6 rows and 4 vectors
    lines=out         lines of an image outside of panels of the weight; `in`: inside
    winograd=rows     Winograd's algorithm, a row of tiles at a time; `whole`: an image; `no`: never
    plain             a loop for every axis: the baseline that others are compared with

A plan changes how long a kernel takes, never what it computes; what does not fit a kernel has no
effect on it. The empty plan leaves all decisions to the rules of this folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from relay.immutable import frozen
from relay.target.llvm.schedules.tile import Tile, steps
from relay.target.llvm.target import LLVMTarget

PLAIN: Final = "plain"
_WORDS: Final = re.compile(r"tile=(?P<rows>\d\d?)x(?P<vectors>\d)|(?P<key>\w+)=(?P<value>\w+)")
_VALUES: Final = {"lines": ("in", "out"), "winograd": ("no", "rows", "whole")}
_WIDTHS: Final = (1, 2, 3, 4)  # vectors of a tile of several rows
_WIDTHS_OF_ONE: Final = (2, 4, 6, 8)  # and of one
_HEIGHTS: Final = 3  # tiles of each width
_TALLEST: Final = 14


@frozen
class Plan:
    """Decisions about a sum of products; what is 0 or empty is decided by the rules."""

    rows: int = 0
    vectors: int = 0
    lines: str = ""
    winograd: str = ""

    @classmethod
    def of(cls, text: str) -> Plan:
        """The plan of a text; words that mean nothing here are left out."""
        rows, vectors, known = 0, 0, dict[str, str]()
        for word in text.split():
            if (found := _WORDS.fullmatch(word)) is None:
                continue
            if found["rows"]:
                rows, vectors = int(found["rows"]), int(found["vectors"])
            elif found["value"] in _VALUES.get(found["key"], ()):
                known[found["key"]] = found["value"]
        if not (1 <= rows <= _TALLEST and 1 <= vectors <= max(_WIDTHS_OF_ONE)):
            rows = vectors = 0
        return cls(rows, vectors, **known)

    def __str__(self) -> str:
        tile = f"tile={self.rows}x{self.vectors}" if self.rows else ""
        others = [
            f"{key}={value}"
            for key, value in (("lines", self.lines), ("winograd", self.winograd))
            if value
        ]
        return " ".join([*filter(None, [tile]), *others])

    def tile(self, chosen: Tile, rows: int, columns: int) -> Tile:
        """The tile of this plan in place of the one that the rules chose."""
        if not self.rows:
            return chosen
        total = -(-columns // chosen.lanes)
        return Tile(min(self.rows, rows), min(self.vectors, total), chosen.lanes)


RULES: Final = Plan()


def tiles(chosen: Tile, rows: int, columns: int, target: LLVMTarget) -> Iterator[tuple[int, int]]:
    """(rows, vectors) of other tiles whose sums fit in registers, the promising ones."""
    total = -(-columns // chosen.lanes)
    for vectors in _WIDTHS if rows > 1 else _WIDTHS_OF_ONE:
        if vectors > total:
            return
        most = min(rows, _TALLEST, (target.vector_registers - vectors - 1) // vectors)
        heights = range(most // 2 + 1, most + 1)
        for height in sorted(heights, key=lambda n: steps(n, vectors, rows))[:_HEIGHTS]:
            if (height, vectors) != (chosen.rows, chosen.vectors):
                yield height, vectors
