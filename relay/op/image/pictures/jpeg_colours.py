"""Planes of samples to rows of pixels, as libjpeg makes them.

A plane with half as many samples along an axis has one for two pixels: each pixel is three parts
of its own sample and one part of the neighbour on its side. What is halfway between two numbers is
rounded down and up in turns.
"""

from __future__ import annotations

from relay import te
from relay.immutable import frozen
from relay.op.image.pictures.header import Picture
from relay.op.loop_nest import spread


@frozen
class Plane:
    """Samples of one component: where they are, how many, and for how many pixels each."""

    samples: te.Buffer
    begin: te.Expr
    stride: te.Expr
    height: te.Expr
    width: te.Expr
    down: te.Expr
    across: te.Expr


def spread_plane(known: Picture, plane: Plane, rows: te.Buffer, place: te.Expr) -> None:
    """A sample of the plane for every pixel, as its sample number `place`."""
    b = known.b
    # a plane of one or two columns is not worth it, says libjpeg
    smooth_across = te.equal(plane.across, 2) & (plane.width > 2)
    smooth_down = te.equal(plane.down, 2) & (te.equal(plane.across, 1) | smooth_across)
    smooth_across = smooth_across & (plane.down <= 2)
    horizontal, vertical = b.let(smooth_across), b.let(smooth_down)
    width, count, stride = b.let(known.width), b.let(known.samples), b.let(known.stride)
    with spread(b, (known.height,)) as (y,):
        own = b.let(y // plane.down)
        beside = te.minimum(te.maximum(own + (y & 1) * 2 - 1, 0), plane.height - 1)
        row = b.let(plane.begin + own * plane.stride)
        near = b.let(te.select(vertical, plane.begin + beside * plane.stride, row))
        start = b.let(y * stride + place)

        def column(x: te.Expr, row: te.Expr = row, near: te.Expr = near) -> te.Expr:
            sample, other = (te.index(plane.samples[line + x]) for line in (row, near))
            return sample * 3 + other

        with b.if_(horizontal), b.loop(width) as x:
            at = b.let(x >> 1)
            side = te.minimum(te.maximum(at + (x & 1) * 2 - 1, 0), plane.width - 1)
            total = b.let(column(at) * 3 + column(b.let(side)))
            # without rows to mix, what is 16 times here was 4 times there
            flat = ((total >> 2) + 1 + (x & 1)) >> 2
            both = (total + 8 - (x & 1)) >> 4
            value = te.select(vertical, both, flat)
            b.store(rows, start + x * count, te.cast(value, "uint8"))
        with b.else_():
            with b.if_(vertical), b.loop(width) as x:
                value = (column(x) + 1 + (y & 1)) >> 2
                b.store(rows, start + x * count, te.cast(value, "uint8"))
            with b.else_():
                _repeat(b, plane, row, rows, start, count, width)


def _repeat(
    b: te.Builder,
    plane: Plane,
    row: te.Expr,
    rows: te.Buffer,
    start: te.Expr,
    count: te.Expr,
    width: te.Expr,
) -> None:
    """Every sample of a row for as many pixels as it is for."""
    with b.if_(te.equal(plane.across, 1)), b.loop(width) as x:
        b.store(rows, start + x * count, plane.samples[row + x])
    with b.else_(), b.loop(width) as x:
        b.store(rows, start + x * count, plane.samples[row + x // plane.across])


def to_colours(known: Picture, rows: te.Buffer) -> None:
    """Red, green and blue in the place of brightness and two differences of colours."""
    b = known.b
    stride = b.let(known.stride)
    with spread(b, (known.height,)) as (y,), b.loop(b.let(known.width)) as x:
        at = b.let(y * stride + x * 3)
        light, blue, red = (b.let(te.cast(rows[at + i], "int32")) for i in range(3))
        blue, red = b.let(blue - 128), b.let(red - 128)
        half = 1 << 15
        each = (
            light + ((red * 91881 + half) >> 16),
            light + ((blue * -22554 - red * 46802 + half) >> 16),
            light + ((blue * 116130 + half) >> 16),
        )
        inside = [b.let(te.minimum(te.maximum(value, 0), 255)) for value in each]
        for i, value in enumerate(inside):
            b.store(rows, at + i, te.cast(value, "uint8"))
