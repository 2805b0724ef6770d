"""Rows of bytes to pixels: filters undone, samples looked up, colours in the order asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from relay import te
from relay.op.image.pictures.header import Filter, Picture
from relay.op.loop_nest import spread

PixelFormat = Literal["RGB", "BGR", "Grayscale"]
# How bright red, green and blue are, in parts of 65536; together they are all of them.
WEIGHTS = (19595, 38470, 7471)


def channels(pixel_format: PixelFormat) -> int:
    return 1 if pixel_format == "Grayscale" else 3


def undo_filters(known: Picture, rows: te.Buffer) -> None:
    """Samples in the place of differences."""
    b = known.b
    with b.if_(te.equal(known.filter, int(Filter.PNG))), b.loop(known.height) as y:
        _undo_png(known, rows, y)
    with b.if_(te.equal(known.filter, int(Filter.LEFT))), b.loop(known.height) as y:
        step = b.let(known.samples)
        begin = b.let(y * known.stride + step)
        with b.loop(te.maximum(known.stride - step, 0)) as i:
            at = b.let(begin + i)
            b.store(rows, at, rows[at] + rows[at - step])


def _undo_png(known: Picture, rows: te.Buffer, y: te.Expr) -> None:
    """What is beyond the left end and above the first row is 0."""
    b = known.b
    stride = b.let(known.stride)
    start = b.let(y * stride)
    kind = b.let(rows[start])
    step = b.let(te.maximum(known.samples * known.bits // 8, 1))
    is_first = b.let(te.equal(y, 0))

    def above(at: te.Expr) -> te.Expr:
        return te.select(is_first, te.const(0, "uint8"), rows[at - stride])

    def undone(number: int, expected: Callable[[te.Expr, te.Expr], te.Expr]) -> None:
        with b.if_(te.equal(kind, number)), b.loop(stride - 1) as i:
            at = b.let(start + 1 + i)
            b.store(rows, at, rows[at] + expected(at, i))

    def left(at: te.Expr, i: te.Expr) -> te.Expr:
        return te.select(i < step, te.const(0, "uint8"), rows[at - step])

    def mean(at: te.Expr, i: te.Expr) -> te.Expr:
        total = te.cast(left(at, i), "int32") + te.cast(above(at), "int32")
        return te.cast(total >> 1, "uint8")

    def nearest(at: te.Expr, i: te.Expr) -> te.Expr:
        """Of left, above and the one between, the one nearest to left + above - between."""
        between = te.select((i < step) | is_first, te.const(0, "uint8"), rows[at - stride - step])
        a, c, d = (b.let(te.cast(x, "int32")) for x in (left(at, i), above(at), between))
        to_left, to_above = te.absolute(c - d), te.absolute(a - d)
        to_between = te.absolute(a + c - d - d)
        is_left = (to_left <= to_above) & (to_left <= to_between)
        other = te.select(to_above <= to_between, c, d)
        return te.cast(te.select(is_left, a, other), "uint8")

    undone(1, left)
    undone(2, lambda at, i: above(at))
    undone(3, mean)
    undone(4, nearest)


def write_pixels(
    known: Picture, rows: te.Buffer, result: te.Buffer, pixel_format: PixelFormat
) -> None:
    """Every pixel of the result."""
    b, palette = known.b, known.palette
    height, width = b.let(known.height), b.let(known.width)
    samples, bits, stride = b.let(known.samples), b.let(known.bits), b.let(known.stride)
    ahead = b.let(te.cast(te.equal(known.filter, int(Filter.PNG)), "int64"))
    upwards = b.let(te.equal(known.upwards, 1))
    backwards = b.let(te.equal(known.reversed, 1))
    first = b.let(te.select(backwards, te.index(2), te.index(0)))
    last = b.let(2 - first)
    with spread(b, (height,)) as (y,):
        begin = b.let(te.select(upwards, height - 1 - y, y) * stride + ahead)
        with b.if_(samples <= 2), b.loop(width) as x:
            bit = b.let(x * samples * bits)
            byte = te.index(rows[begin + (bit >> 3)])
            place = b.let((byte >> (8 - bits - (bit & 7))) & ((te.index(1) << bits) - 1))
            _store(b, result, (y, x), [palette[place, i] for i in range(3)], pixel_format)
        with b.else_(), b.loop(width) as x:
            at = b.let(begin + x * samples)
            each = (rows[at + i] for i in (first, te.index(1), last))
            _store(b, result, (y, x), [palette[value, 0] for value in each], pixel_format)


def _store(
    b: te.Builder,
    result: te.Buffer,
    place: tuple[te.Expr, te.Expr],
    colours: list[te.Expr],
    pixel_format: PixelFormat,
) -> None:
    if pixel_format == "Grayscale":
        total: te.Expr = te.const(1 << 15, "int32")
        for colour, weight in zip(colours, WEIGHTS, strict=True):
            total = total + te.cast(colour, "int32") * weight
        b.store(result, (*place, 0), te.cast(total >> 16, "uint8"))
        return
    for channel, colour in enumerate(colours if pixel_format == "RGB" else colours[::-1]):
        b.store(result, (*place, channel), colour)
