"""Blocks of coefficients to samples: the inverse cosine transform in whole numbers.

The way of Loeffler, Ligtenberg and Moschytz with 11 multiplications, in 13 bits behind the point,
first down the columns and then along the rows; results are those of libjpeg to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay import te
from relay.te.loops import Kind

_BITS = 13  # of constants, behind the point
_MORE = 2  # bits behind the point that are kept between the columns and the rows


def _fixed(number: float) -> int:
    return round(number * (1 << _BITS))


def transform(
    b: te.Builder, block: te.Buffer, samples: te.Buffer, first: te.Expr, stride: te.Expr
) -> None:
    """The block into 8 rows of samples, the first of which is at `first`."""
    with b.loop(8, kind=Kind.VECTOR) as column:
        given = [b.let(block[8 * i + column]) for i in range(8)]
        for i, value in enumerate(_eight(b, given, _BITS - _MORE)):
            b.store(block, 8 * i + column, value)
    with b.loop(8) as row:
        given = [b.let(block[8 * row + i]) for i in range(8)]
        start = b.let(first + row * stride)
        for i, value in enumerate(_eight(b, given, _BITS + _MORE + 3)):
            inside = te.minimum(te.maximum(value + 128, 0), 255)
            b.store(samples, start + i, te.cast(inside, "uint8"))


def fill(
    b: te.Builder, block: te.Buffer, samples: te.Buffer, first: te.Expr, stride: te.Expr
) -> None:
    """The same, of a block of which only the first coefficient is not 0."""
    level = te.minimum(te.maximum(((block[0] + 4) >> 3) + 128, 0), 255)
    value = b.let(te.cast(level, "uint8"))
    with b.loop(8) as row:
        start = b.let(first + row * stride)
        with b.loop(8, kind=Kind.VECTOR) as column:
            b.store(samples, start + column, value)


def _eight(b: te.Builder, x: Sequence[te.Expr], shift: int) -> list[te.Expr]:
    """The transform of eight numbers, rounded off by so many bits."""
    between = b.let((x[2] + x[6]) * _fixed(0.541196100))
    low = b.let(between - x[6] * _fixed(1.847759065))
    high = b.let(between + x[2] * _fixed(0.765366865))
    total, difference = b.let((x[0] + x[4]) << _BITS), b.let((x[0] - x[4]) << _BITS)
    even = [total + high, difference + low, difference - low, total - high]
    fifth = b.let((x[7] + x[3] + x[5] + x[1]) * _fixed(1.175875602))
    first = b.let((x[7] + x[1]) * -_fixed(0.899976223))
    second = b.let((x[5] + x[3]) * -_fixed(2.562915447))
    third = b.let((x[7] + x[3]) * -_fixed(1.961570560) + fifth)
    fourth = b.let((x[5] + x[1]) * -_fixed(0.390180644) + fifth)
    odd = [
        x[1] * _fixed(1.501321110) + first + fourth,
        x[3] * _fixed(3.072711026) + second + third,
        x[5] * _fixed(2.053119869) + second + fourth,
        x[7] * _fixed(0.298631336) + first + third,
    ]
    pairs = [(b.let(e), b.let(o)) for e, o in zip(even, odd, strict=True)]
    half = 1 << (shift - 1)
    upper = [(e + o + half) >> shift for e, o in pairs]
    lower = [(e - o + half) >> shift for e, o in reversed(pairs)]
    return [*upper, *lower]
