"""`relay.op.qnn.fixed_point` in scalar expressions, with 64-bit or 96-bit integers.

    factor = factors((), lambda: a / b)         0.3 as 1288490189 * 2**(-1 - 31), computed once
    scaled(x, factor())                         x times the factor, rounded once

The product of a 33-bit integer and a 31-bit multiplier fits into int64. Wider integers are `Long`:
high * 2**32 + low. Values that are shifted left saturate, far outside of the result types, which
have at most 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable

from relay import te
from relay.immutable import frozen
from relay.op.building.elements import Shape
from relay.op.qnn.fixed_point import Rounding
from relay.op.qnn.parameters import places

_LOW = (1 << 32) - 1


@frozen
class Factor:
    """multiplier * 2**(exponent - 31), both int64; the multiplier has 31 bits."""

    multiplier: te.Expr
    exponent: te.Expr


def factors(shape: Shape, value: Callable[..., te.Expr]) -> Callable[..., Factor]:
    """Factors from float64 values `value(…)`, for each element of a shape."""
    multipliers, exponents = te.compute_many(shape, lambda *i: _parts(value(*i)), "factor")

    def factor(*channel: te.Expr) -> Factor:
        place = places(multipliers.shape, channel)
        return Factor(multipliers[place], exponents[place])

    return factor


def _parts(value: te.Expr) -> tuple[te.Expr, te.Expr]:
    """The multiplier and the exponent of a float64, from its bits."""
    bits = te.bitcast(value, "int64")
    fraction = (bits & ((1 << 52) - 1)) | (1 << 52)
    signed = te.select(bits < 0, -fraction, fraction)
    rounded = (signed + (1 << 21)) >> 22
    exponent = ((bits >> 52) & 0x7FF) - 1022
    carried = te.equal(rounded, 1 << 31)
    empty = te.equal(value, 0.0)
    multiplier = te.select(carried, te.const(1 << 30, "int64"), rounded)
    return (
        te.select(empty, te.const(0, "int64"), multiplier),
        te.select(carried, exponent + 1, exponent),
    )


def centered(data: te.Expr, zero_point: te.Expr) -> te.Expr:
    """An integer of at most 32 bits minus its zero point, as int64."""
    return te.cast(data, "int64") - te.cast(zero_point, "int64")


def scaled(value: te.Expr, factor: Factor, rounding: Rounding = "UPWARD") -> te.Expr:
    """A 33-bit integer times a factor."""
    product = value * factor.multiplier
    if rounding == "TONEAREST":
        size = _halved(te.absolute(product), factor)
        return te.select(product < 0, -size, size)
    return _halved(product, factor)


def _halved(product: te.Expr, factor: Factor) -> te.Expr:
    """The product shifted by the exponent of the factor, with ties rounded up."""
    right = _right(factor)
    left = te.maximum(-right, 0)
    bound = te.const((1 << 63) - 1, "int64") >> left
    inside = te.minimum(te.maximum(product, -bound), bound)
    return (((inside << left) >> te.maximum(right, 0)) + 1) >> 1


def _right(factor: Factor) -> te.Expr:
    """The right shift that makes the rounding bit the last one; at least -29, as a multiplier is at
    least 2**30."""
    return te.maximum(30 - factor.exponent, -29)


def saturated(value: te.Expr, dtype: str) -> te.Expr:
    """An int64 saturated to `dtype`."""
    low, high = te.lowest(dtype).value, te.highest(dtype).value
    return te.cast(te.minimum(te.maximum(value, low), high), dtype)


# --- wide integers------------------------------------------------------------------------------


@frozen
class Long:
    """high * 2**32 + low, with an unsigned 32-bit low."""

    high: te.Expr
    low: te.Expr


def carried(high: te.Expr, low: te.Expr) -> Long:
    """High * 2**32 + low, where low may have any int64 value."""
    return Long(high + (low >> 32), low & _LOW)


def long(value: te.Expr) -> Long:
    """An int64 as a `Long`."""
    return carried(te.const(0, "int64"), value)


def difference(data: te.Expr, zero_point: te.Expr) -> Long:
    """An int64 minus its zero point."""
    whole, zero = long(data), long(te.cast(zero_point, "int64"))
    return carried(whole.high - zero.high, whole.low - zero.low)


def product(x: te.Expr, y: te.Expr) -> Long:
    """The product of two 33-bit integers."""
    upper, lower = x * (y >> 16), x * (y & 0xFFFF)
    return carried(upper >> 16, ((upper & 0xFFFF) << 16) + lower)


def scaled_long(value: Long, factor: Factor, rounding: Rounding = "UPWARD") -> te.Expr:
    """A 65-bit integer times a positive factor."""
    if rounding == "TONEAREST":
        below = value.high < 0
        opposite = carried(-value.high, -value.low)
        size = scaled_long(
            Long(
                te.select(below, opposite.high, value.high),
                te.select(below, opposite.low, value.low),
            ),
            factor,
        )
        return te.select(below, -size, size)
    whole = carried(value.high * factor.multiplier, value.low * factor.multiplier)
    right = _right(factor)
    # the high word is shifted by 32 - right, saturating if that is to the left: to 2**62, since the
    # shifted low word is added
    left = te.maximum(32 - right, 0)
    bound = te.const((1 << 63) - 1, "int64") >> (left + te.minimum(left, 1))
    high = te.minimum(te.maximum(whole.high, -bound), bound)
    low = te.select(te.equal(high, whole.high), whole.low, te.const(0, "int64"))
    shifted = ((high << left) >> te.maximum(right - 32, 0)) + (
        (low << te.maximum(-right, 0)) >> te.maximum(right, 0)
    )
    return (shifted + 1) >> 1
