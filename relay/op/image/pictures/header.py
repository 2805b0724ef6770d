"""What there is to know of a picture before its pixels, the same for all formats.

A picture is rows of `stride` bytes, stored in strips of whole rows. A pixel is `samples` of `bits`
each. With one sample, or two of which the second is alpha, it is a place in the palette, a picture
in greys too; otherwise three of the samples are its colours, each of them a place in the first
column of the palette.
"""

from __future__ import annotations

from dataclasses import fields
from enum import IntEnum

from relay import te
from relay.immutable import frozen
from relay.op.image.pictures.problem import Outcome, Problem

MOST_PIXELS = 1 << 28  # more is no picture but an attempt to use up memory
SAMPLES = 4  # the most of a pixel, of 8 bits at most
PADDING = 4  # bytes a row may have beyond its pixels


class Method(IntEnum):
    """How the bytes of rows are stored."""

    STORED = 0
    TEXT = 1  # numbers in decimal
    DEFLATE = 2
    LZW = 3
    PACK_BITS = 4
    JPEG = 5


class Filter(IntEnum):
    """What a row holds instead of its samples."""

    NONE = 0
    PNG = 1  # a byte that says which, then differences from neighbours
    LEFT = 2  # differences from the pixel before


@frozen
class Bytes:
    """The bytes of a file. What is not whole inside of it is 0; positions are never negative."""

    data: te.Tensor

    @property
    def count(self) -> te.Expr:
        return self.data.shape[0]

    def __getitem__(self, position: te.Expr | int) -> te.Expr:
        return self.little(position, 1)

    def is_at(self, position: te.Expr | int, text: bytes) -> te.Expr:
        """Whether these bytes stand there."""
        first = te.index(position)
        same = (te.equal(self.data[first + i], byte) for i, byte in enumerate(text))
        return te.select(first <= self.count - len(text), te.every(*same), False)

    def little(self, position: te.Expr | int, size: int) -> te.Expr:
        """A natural number, its low byte first."""
        return self._number(position, range(size))

    def big(self, position: te.Expr | int, size: int) -> te.Expr:
        """A natural number, its high byte first."""
        return self._number(position, range(size)[::-1])

    def _number(self, position: te.Expr | int, places: range) -> te.Expr:
        first = te.index(position)
        total: te.Expr = te.index(0)
        for number, place in enumerate(places):
            total = total | (te.index(self.data[first + place]) << (8 * number))
        return te.select(first <= self.count - len(places), total, 0)


@frozen
class Header:
    """Variables; all are 0 at first."""

    height: te.Buffer
    width: te.Buffer
    samples: te.Buffer
    bits: te.Buffer
    stride: te.Buffer
    method: te.Buffer
    filter: te.Buffer
    upwards: te.Buffer  # the last row is stored first
    reversed: te.Buffer  # blue comes before green and red
    maximum: te.Buffer  # the sample that stands for white
    inverted: te.Buffer  # white is 0
    has_palette: te.Buffer
    begin: te.Buffer  # where what there is of rows begins
    is_png: te.Buffer
    # where strips begin and how long they are: the places of two lists of numbers of 2 or 4 bytes;
    # no lists for one strip that begins at `begin`
    rows: te.Buffer  # in a strip
    offsets: te.Buffer
    offset_size: te.Buffer
    counts: te.Buffer
    count_size: te.Buffer
    big_endian: te.Buffer


@frozen
class Picture:
    """What formats fill in."""

    b: te.Builder
    file: Bytes
    header: Header
    palette: te.Buffer  # (256, 3)
    outcome: Outcome

    def set(self, **values: te.Expr | int) -> None:
        """Give variables of the header a value."""
        for name, value in values.items():
            self.b.store(getattr(self.header, name), (), te.index(value))

    def __getattr__(self, name: str) -> te.Expr:
        """The value of a variable of the header."""
        buffer: te.Buffer = getattr(self.header, name)
        return buffer[()]

    def close_rows(self, more: int = 0, unit: int = 1) -> None:
        """The stride of rows of `more` bytes and their pixels, a multiple of `unit`."""
        self.require_size()
        bits = self.width * self.samples * self.bits + more * 8
        self.set(stride=(bits + (8 * unit - 1)) // (8 * unit) * unit)

    def require_size(self) -> None:
        height, width = self.height, self.width
        some = te.every(height > 0, width > 0, width <= MOST_PIXELS)
        self.outcome.require(some, Problem.SIZE)
        self.outcome.require(height <= MOST_PIXELS // te.maximum(width, 1), Problem.SIZE)
        with self.b.if_(~self.outcome.fine):
            self.set(height=0, width=0)

    def colour(self, place: te.Expr, *channels: te.Expr) -> None:
        """An entry of the palette."""
        for channel, value in enumerate(channels):
            self.b.store(self.palette, (place, channel), te.cast(value, "uint8"))


def picture(b: te.Builder, data: te.Tensor, outcome: Outcome) -> Picture:
    """A picture of which nothing is known."""
    header = Header(*(b.variable("int64", 0, field.name) for field in fields(Header)))
    palette = b.local("uint8", (256, 3), "palette")
    with b.loop(256) as place:
        for channel in range(3):
            b.store(palette, (place, channel), 0)
    return Picture(b, Bytes(data), header, palette, outcome)


def fill_greys(known: Picture) -> None:
    """What samples stand for where no palette says it: from black to white."""
    b, most = known.b, known.maximum
    with b.if_(te.equal(known.has_palette, 0)), b.loop(256) as place:
        level = te.minimum((place * 510 + most) // (most * 2), 255)
        value = b.let(te.select(te.equal(known.inverted, 0), level, 255 - level))
        known.colour(place, value, value, value)
