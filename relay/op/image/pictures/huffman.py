"""Codes of different lengths, as deflate orders them: by length, and then by symbol."""

from __future__ import annotations

from relay import te
from relay.op.image.pictures.bits import Bits
from relay.op.image.pictures.problem import Outcome, Problem

_LONGEST = 15
_DIRECT = 10  # bits of codes that are looked up; longer ones are rare


class Code:
    """Which symbols codes stand for."""

    def __init__(self, b: te.Builder, size: int, name: str) -> None:
        self.b = b
        # by the next bits, whatever follows a code: symbol * 16 + length, or 0 for longer codes
        self.direct = b.local("int64", (1 << _DIRECT,), f"{name}_direct")
        self.counts = b.local("int64", (_LONGEST + 1,), f"{name}_counts")  # by length
        self.starts = b.local("int64", (_LONGEST + 1,), f"{name}_starts")
        self.sorted = b.local("int64", (size,), f"{name}_sorted")

    def build(
        self,
        lengths: te.Buffer,
        first: te.Expr,
        count: te.Expr,
        outcome: Outcome,
        whole: bool = False,
    ) -> None:
        """The codes of so many symbols, from their lengths. Unless they have to be `whole`, there
        may be a single code of one bit, or none."""
        b, counts, starts = self.b, self.counts, self.starts
        with b.loop(_LONGEST + 1) as i:
            b.store(counts, i, 0)
        with b.loop(count) as i:
            length = b.let(lengths[first + i])
            b.store(counts, length, counts[length] + 1)
        b.store(counts, 0, 0)
        b.store(starts, 0, 0)
        left = b.variable("int64", 1, "left")  # codes of a length that are not begun by others
        longest = b.variable("int64", 0, "longest")
        with b.loop(_LONGEST) as i:
            here = b.let(counts[i + 1])
            b.store(left, (), left[()] * 2 - here)
            outcome.require(left[()] >= 0, Problem.DAMAGED)
            b.store(longest, (), te.select(here > 0, i + 1, longest[()]))
            b.store(starts, i + 1, starts[i] + counts[i])
        enough = te.equal(left[()], 0)
        outcome.require(enough if whole else enough | (longest[()] <= 1), Problem.DAMAGED)
        with b.if_(outcome.fine):
            with b.loop(count) as i:
                length = b.let(lengths[first + i])
                with b.if_(length > 0):
                    b.store(self.sorted, starts[length], i)
                    b.store(starts, length, starts[length] + 1)
            self._fill()

    def _fill(self) -> None:
        b = self.b
        with b.loop(1 << _DIRECT) as i:
            b.store(self.direct, i, 0)
        code, place = b.variable("int64", 0, "code"), b.variable("int64", 0, "place")
        with b.loop(_DIRECT) as shorter:
            length = b.let(shorter + 1)
            with b.loop(self.counts[length]):
                begin = b.let(_turned(code[()]) >> (16 - length))
                entry = b.let(self.sorted[place[()]] * 16 + length)
                with b.loop(te.index(1) << (_DIRECT - length)) as rest:
                    b.store(self.direct, begin + (rest << length), entry)
                b.store(code, (), code[()] + 1)
                b.store(place, (), place[()] + 1)
            b.store(code, (), code[()] * 2)

    def read(self, bits: Bits, outcome: Outcome) -> te.Expr:
        """The symbol of the code that comes next."""
        b = self.b
        entry = b.let(self.direct[bits.peek(_DIRECT)])
        symbol = b.variable("int64", entry >> 4, "symbol")
        with b.if_(entry > 0):
            bits.drop(entry & 15)
        with b.else_():
            self._search(bits, symbol, outcome)
        return symbol[()]

    def _search(self, bits: Bits, symbol: te.Buffer, outcome: Outcome) -> None:
        """By one bit after the other: the codes of a length are numbers without a gap."""
        b = self.b
        names = ("code", "lowest", "place", "length")
        code, lowest, place, length = (b.variable("int64", 0, name) for name in names)
        found = b.variable("bool", False, "found")
        with b.while_(~found[()] & (length[()] < _LONGEST)):
            b.store(length, (), length[()] + 1)
            b.store(code, (), code[()] * 2 + bits.take(1))
            here = b.let(self.counts[length[()]])
            beyond = b.let(code[()] - lowest[()])
            with b.if_(beyond < here):
                b.store(symbol, (), self.sorted[place[()] + beyond])
                b.store(found, (), True)
            b.store(place, (), place[()] + here)
            b.store(lowest, (), (lowest[()] + here) * 2)
        outcome.require(found[()], Problem.DAMAGED)


def _turned(code: te.Expr) -> te.Expr:
    """16 bits, the last one first."""
    for step, mask in ((1, 0x5555), (2, 0x3333), (4, 0x0F0F), (8, 0x00FF)):
        code = ((code & mask) << step) | ((code >> step) & mask)
    return code
