"""Bits of a stream of bytes, the low bit of each byte first."""

from __future__ import annotations

from relay import te


class Bits:
    """Reads bits. After `fill` there are 56 or more to take; those beyond the end are 0."""

    def __init__(self, b: te.Builder, stream: te.Buffer, length: te.Expr) -> None:
        self.b, self.stream, self.length = b, stream, length
        self.hold = b.variable("uint64", 0, "hold")
        self.count = b.variable("int64", 0, "count")  # how many of them are to be taken
        self.at = b.variable("int64", 0, "at")  # the next byte

    def byte(self, position: te.Expr) -> te.Expr:
        """A byte of the stream, as a number."""
        inside = position < self.length
        return te.select(inside, te.index(self.stream[position]), 0)

    def fill(self) -> None:
        b, at, count, hold = self.b, self.at, self.count, self.hold
        # What lies above `count` is the same bits that come again.
        with b.if_(at[()] + 8 <= self.length):
            word = te.cast(self.stream[at[()]], "uint64")
            for i in range(1, 8):
                word = word | (te.cast(self.stream[at[()] + i], "uint64") << (8 * i))
            b.store(hold, (), hold[()] | (word << te.cast(count[()], "uint64")))
            b.store(at, (), at[()] + ((63 - count[()]) >> 3))
            b.store(count, (), count[()] | 56)
        with b.else_(), b.while_(count[()] < 56):
            byte = te.cast(self.byte(at[()]), "uint64")
            b.store(hold, (), hold[()] | (byte << te.cast(count[()], "uint64")))
            b.store(at, (), at[()] + 1)
            b.store(count, (), count[()] + 8)

    def peek(self, width: te.Scalar) -> te.Expr:
        """The next bits as a number; they stay."""
        mask = (te.index(1) << te.index(width)) - 1
        return te.bitcast(self.hold[()], "int64") & mask

    def drop(self, width: te.Scalar) -> None:
        width = te.index(width)
        self.b.store(self.hold, (), self.hold[()] >> te.cast(width, "uint64"))
        self.b.store(self.count, (), self.count[()] - width)

    def take(self, width: te.Scalar) -> te.Expr:
        """The next bits as a number."""
        found = self.b.let(self.peek(width))
        self.drop(width)
        return found

    def inside(self) -> te.Expr:
        """Whether all that was taken was there."""
        return self.at[()] * 8 - self.count[()] <= self.length * 8

    def align(self) -> te.Expr:
        """Where the next whole byte is."""
        return self.at[()] - (self.count[()] >> 3)

    def go_to(self, position: te.Expr) -> None:
        """Go on with the first bit of a byte."""
        self.b.store(self.at, (), position)
        self.b.store(self.count, (), 0)
        self.b.store(self.hold, (), 0)
