"""fmod: the exact remainder, by long division with many quotient bits per step.

Both numbers are scaled to [1, 2); the quotient has `distance` bits. A step takes `DIGIT` of them: r
becomes r * 2**DIGIT minus the nearest multiple of the divisor, exactly. The number of steps is
fixed, as all lanes do the same; unneeded steps change nothing.
"""

from __future__ import annotations

from relay.te.expr import Expr, absolute, cast, const, equal, select
from relay.te.math.floats import Floats

# (bits per step, steps): a digit times a divisor fits into the bits of a float64, for float32 as a
# plain product. They cover the largest distance of two exponents, 277 and 2098.
DIGITS = {"float32": (28, 9), "float64": (50, 41)}


def fmod(f: Floats, x: Expr, y: Expr) -> Expr:
    wide = Floats("float64", f.facts)
    digit, steps = DIGITS[f.dtype]
    above, below = absolute(x), absolute(y)
    rest, high = _normal(f, wide, above)
    divisor, low = _normal(f, wide, below)
    distance = select(high > low, high - low, const(0, "uint64"))
    whole = (distance * (65536 // digit + 1)) >> 16  # distance // digit
    inverse = wide.number(1.0) / divisor
    first = wide.from_bits((distance - whole * digit + const(wide.bias, "uint64")) << 52)
    rest = near = _step(f, wide, rest * first, divisor, inverse)
    for i in range(steps):
        next_ = _step(f, wide, rest * wide.number(2.0**digit), divisor, inverse)
        rest = select(whole > const(i, "uint64"), next_, rest)
    # usually no step is needed: vector code can then skip them
    rest = select(equal(whole, const(0, "uint64")), near, rest)
    rest = select(rest < wide.number(0.0), rest + divisor, rest)
    result = cast(_scaled(wide, rest, low), f.dtype)
    signed = f.with_sign_of(select(above < below, above, result), x)
    possible = (below > f.number(0.0)) & (above < f.infinity)
    return select(possible, signed, f.nan)


def _step(f: Floats, wide: Floats, x: Expr, divisor: Expr, inverse: Expr) -> Expr:
    """Subtract the nearest multiple of the divisor from x."""
    magic = wide.number(wide.magic)
    count = wide.fma(x, inverse, magic) - magic
    if f.facts.has_fma:
        return wide.fma(-count, divisor, x)
    if f.dtype == "float32":
        return x - count * divisor
    product, lost = wide.two_product(count, divisor)
    return (x - product) - lost


def _normal(f: Floats, wide: Floats, x: Expr) -> tuple[Expr, Expr]:
    """(m, e): x = m * 2**(e - 2000) with 1 <= m < 2."""
    value = cast(x, "float64")
    offset: Expr = const(2000 - wide.bias, "uint64")
    if f.dtype == "float64":  # a float32 is never denormal in float64
        denormal = value < wide.number(2.0**-1022)
        value = select(denormal, value * wide.number(2.0**54), value)
        offset = select(denormal, const(2000 - wide.bias - 54, "uint64"), offset)
    bits = wide.bits(value)
    mantissa = bits & ((1 << 52) - 1) | (wide.bias << 52)
    return wide.from_bits(mantissa), (bits >> 52) + offset


def _scaled(wide: Floats, x: Expr, exponent: Expr) -> Expr:
    """Multiply by 2**(exponent - 2000) in two steps: the power alone may overflow."""
    half = exponent >> 1
    unit = wide.bias - 1000
    first = wide.from_bits((half + unit) << 52)
    second = wide.from_bits((exponent - half + unit) << 52)
    return (x * first) * second
