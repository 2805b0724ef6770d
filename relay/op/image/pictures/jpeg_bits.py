"""Bits of the entropy-coded parts of JPEG, the high bit of each byte first.

A byte 255 is followed by a 0 that does not count; by anything else it is a marker, where the bits
end.
"""

from __future__ import annotations

from relay import te
from relay.op.image.pictures.header import Bytes
from relay.op.image.pictures.problem import Outcome, Problem

_ENOUGH = 32  # bits: more than the longest code and the longest number after it have
_WORD = 0xFFFFFFFF
_LONGEST = 16
_DIRECT = 9  # bits of codes that are looked up; longer ones are rare
TABLES = 8  # of codes: four for the first coefficients of blocks, four for the others


class Bits:
    """Reads bits. After `fill` there are 32 or more to take; those beyond the end are 0."""

    def __init__(self, b: te.Builder, file: Bytes, at: te.Buffer) -> None:
        self.b, self.file, self.at = b, file, at
        self.hold = b.variable("uint64", 0, "hold")
        self.count = b.variable("int64", 0, "count")  # how many of them are to be taken
        self.missing = b.variable("int64", 0, "missing")  # the last of them, which are not there

    def fill(self) -> None:
        b, at, count, hold = self.b, self.at, self.count, self.hold
        with b.if_(count[()] < _ENOUGH):
            word = b.let(self.file.big(at[()], 4))
            # a byte is 255 where its complement borrows when 1 is taken away from it
            rest = (word ^ _WORD) - 0x01010101
            plain = te.equal(rest & word & 0x80808080, 0) & (at[()] + 4 <= self.file.count)
            with b.if_(plain):
                b.store(hold, (), (hold[()] << 32) | te.cast(word, "uint64"))
                b.store(count, (), count[()] + 32)
                b.store(at, (), at[()] + 4)
            with b.else_(), b.while_(count[()] < _ENOUGH):
                self._add_byte()

    def _add_byte(self) -> None:
        b, at = self.b, self.at
        byte, following = b.let(self.file[at[()]]), self.file[at[()] + 1]
        ends = b.let((at[()] >= self.file.count) | (te.equal(byte, 255) & (following > 0)))
        step = te.select(ends, te.index(0), te.select(te.equal(byte, 255), 2, te.index(1)))
        value = te.cast(te.select(ends, te.index(0), byte), "uint64")
        b.store(self.hold, (), (self.hold[()] << 8) | value)
        b.store(self.missing, (), self.missing[()] + te.select(ends, te.index(8), te.index(0)))
        b.store(at, (), at[()] + step)
        b.store(self.count, (), self.count[()] + 8)

    def peek(self, width: te.Scalar) -> te.Expr:
        """The next bits as a number; they stay."""
        rest = te.cast(self.count[()] - te.index(width), "uint64")
        mask = (te.index(1) << te.index(width)) - 1
        return te.bitcast(self.hold[()] >> rest, "int64") & mask

    def drop(self, width: te.Scalar) -> None:
        self.b.store(self.count, (), self.count[()] - te.index(width))

    def take_signed(self, width: te.Expr) -> te.Expr:
        """The next bits as a number; one that begins with 0 is negative."""
        found = self.b.let(self.peek(width))
        self.drop(width)
        half = te.index(1) << te.maximum(width - 1, 0)
        lowest = 1 - (te.index(1) << width)
        return self.b.let(te.select((width > 0) & (found < half), found + lowest, found))

    def rest(self) -> te.Expr:
        """How many of those to be taken are there; negative if some were taken that were not."""
        return self.count[()] - self.missing[()]

    def begin_again(self) -> None:
        """Go on with the byte at `at`."""
        for variable in (self.hold, self.count, self.missing):
            self.b.store(variable, (), 0)


class Codes:
    """Which bytes codes stand for, in each table."""

    def __init__(self, b: te.Builder, file: Bytes) -> None:
        self.b, self.file = b, file
        # by the next bits, whatever follows a code: byte * 32 + length, or 0 for longer codes
        self.direct = b.local("int32", (TABLES, 1 << _DIRECT), "direct")
        self.counts = b.local("int32", (TABLES, _LONGEST + 1), "counts")  # by length
        self.sorted = b.local("uint8", (TABLES, 256), "sorted")
        with b.loop(TABLES) as table:
            with b.loop(1 << _DIRECT) as i:
                b.store(self.direct, (table, i), 0)
            with b.loop(_LONGEST + 1) as i:
                b.store(self.counts, (table, i), 0)
            with b.loop(256) as i:
                b.store(self.sorted, (table, i), 0)

    def build(self, table: te.Expr, at: te.Expr, outcome: Outcome) -> te.Expr:
        """A table from how many codes there are of each length, then what they stand for; how many
        there are in all."""
        b = self.b
        total = b.variable("int64", 0, "total")
        left = b.variable("int64", 1, "left")
        with b.loop(_LONGEST) as i:
            here = b.let(self.file[at + i])
            b.store(self.counts, (table, i + 1), te.cast(here, "int32"))
            b.store(total, (), total[()] + here)
            b.store(left, (), left[()] * 2 - here)
            outcome.require(left[()] >= 0, Problem.DAMAGED)
        outcome.require(total[()] <= 256, Problem.DAMAGED)
        with b.if_(outcome.fine):
            with b.loop(total[()]) as i:
                b.store(self.sorted, (table, i), te.cast(self.file[at + _LONGEST + i], "uint8"))
            self._fill(table)
        return total[()]

    def _fill(self, table: te.Expr) -> None:
        b = self.b
        with b.loop(1 << _DIRECT) as i:
            b.store(self.direct, (table, i), 0)
        place, behind = b.variable("int64", 0, "place"), b.variable("int64", 0, "behind")
        with b.loop(_DIRECT) as shorter:
            length = b.let(shorter + 1)
            each = b.let(te.index(1) << (_DIRECT - length))
            with b.loop(te.index(self.counts[table, length])):
                byte = te.cast(self.sorted[table, place[()]], "int32")
                entry = b.let(byte * 32 + te.cast(length, "int32"))
                begin = b.let(behind[()])
                with b.loop(each) as rest:
                    b.store(self.direct, (table, begin + rest), entry)
                b.store(behind, (), begin + each)
                b.store(place, (), place[()] + 1)

    def read(self, table: te.Expr, bits: Bits, outcome: Outcome) -> te.Expr:
        """What the code stands for that comes next."""
        b = self.b
        entry = b.let(te.index(self.direct[table, bits.peek(_DIRECT)]))
        found = b.variable("int64", entry >> 5, "byte")
        with b.if_(entry > 0):
            bits.drop(entry & 31)
        with b.else_():
            self._search(table, bits, found, outcome)
        return b.let(found[()])

    def _search(self, table: te.Expr, bits: Bits, found: te.Buffer, outcome: Outcome) -> None:
        """By one length after the other: the codes of a length are numbers without a gap."""
        b = self.b
        names = ("lowest", "place", "length")
        lowest, place, length = (b.variable("int64", 0, name) for name in names)
        searches = b.variable("bool", True, "searches")
        with b.while_(searches[()] & (length[()] < _LONGEST)):
            b.store(length, (), length[()] + 1)
            here = b.let(te.index(self.counts[table, length[()]]))
            beyond = b.let(bits.peek(length[()]) - lowest[()] * 2)
            with b.if_(beyond < here):
                b.store(found, (), te.index(self.sorted[table, place[()] + beyond]))
                b.store(searches, (), False)
            b.store(place, (), place[()] + here)
            b.store(lowest, (), lowest[()] * 2 + here)
        outcome.require(~searches[()], Problem.DAMAGED)
        bits.drop(length[()])
