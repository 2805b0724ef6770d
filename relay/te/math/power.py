"""rsqrt, and pow: 2**(y * log2(x)), with a logarithm in extended precision.

For float32 it is computed in float64; for float64 it is a sum of two floats.
"""

from __future__ import annotations

import math

from relay.te.expr import Expr, absolute, call, cast, equal, select
from relay.te.math import coefficients, exponential
from relay.te.math.floats import Floats
from relay.te.math.logarithm import decompose


def rsqrt(f: Floats, x: Expr) -> Expr:
    return f.number(1.0) / call("sqrt", x)


def pow(f: Floats, x: Expr, y: Expr) -> Expr:
    size = absolute(x)
    value = _single(f, size, y) if f.dtype == "float32" else _double(f, size, y)
    zero, one = f.number(0.0), f.number(1.0)
    whole = f.is_integer(y)
    odd = whole & ~f.is_integer(y * f.number(0.5))
    signed = select(f.is_negative(x) & odd, -value, value)
    impossible = (x < zero) & (x > -f.infinity) & ~whole
    result = select(impossible, f.nan, signed)
    return select(equal(y, zero), one, result)


def _single(f: Floats, size: Expr, y: Expr) -> Expr:
    """size**y of float32, in float64."""
    wide = Floats("float64", f.facts)
    base, exponent = cast(size, "float64"), cast(y, "float64")
    k, m = decompose(wide, base)
    s = (m - wide.number(1.0)) / (m + wide.number(1.0))
    z = s * s
    series = wide.polynomial(z, coefficients.LOG_RATIO_SHORT["float64"])
    log_m = s * wide.fma(z, series, wide.number(2.0))
    log = wide.fma(log_m, wide.number(1 / math.log(2)), k)
    log = select(equal(base, wide.number(0.0)), -wide.infinity, log)
    log = select(base < wide.infinity, log, base)
    # 1**y is 1, even for NaN
    product = select(equal(base, wide.number(1.0)), wide.number(0.0), exponent * log)
    power = wide.at_least(wide.at_most(product, 130.0), -152.0)
    _, rest, bits = exponential.reduced(wide, power, exponential.TWO, wide.bias)
    scale = wide.from_bits(bits << 52)
    value = wide.polynomial(rest, coefficients.EXP2_SHORT["float64"]) * scale
    return cast(value, "float32")


def _double(f: Floats, size: Expr, y: Expr) -> Expr:
    """size**y of float64."""
    zero, one = f.number(0.0), f.number(1.0)
    high, low = _log(f, size)
    # larger exponents overflow or underflow for every base but 1; the product must stay finite
    exponent = f.at_least(f.at_most(y, 2.0**65), -(2.0**65))
    product, lost = f.two_product(high, exponent)
    lost = f.fma(low, exponent, lost)
    lost = select(absolute(product) < f.number(1000.0), lost, zero)
    power = f.at_least(f.at_most(product, 710.5), -746.0)
    # exp of a sum: the low part joins the remainder
    _, rest, bits = exponential.reduced(f, power, exponential.E, 2 * f.bias)
    half = bits >> 1
    value = f.polynomial(rest + lost, coefficients.EXP["float64"])
    value = (value * f.from_bits(half << 52)) * f.from_bits((bits - half) << 52)
    down, up = y < zero, y > zero
    at_zero = select(down, f.infinity, zero)
    at_infinity = select(down, zero, f.infinity)
    value = select(equal(size, zero), at_zero, value)
    value = select(size < f.infinity, value, select(equal(size, size), at_infinity, size))
    # 1**y is 1, even for NaN
    return select(equal(size, one), one, select(down | up | equal(y, zero), value, f.nan))


def _log(f: Floats, x: Expr) -> tuple[Expr, Expr]:
    """log(x) of a positive number as a sum of two floats, with relative error about 2**-66."""
    k, m = decompose(f, x)
    one, two = f.number(1.0), f.number(2.0)
    # s = (m - 1) / (m + 1)
    above = m - one
    below, below_low = f.two_sum(one, m)
    s = above / below
    product, lost = f.two_product(s, below)
    s_low = (((above - product) - lost) - s * below_low) / below
    # log(m) = 2*s + s * z * (2/3 + z * series(z)), z = s*s
    z, z_low = f.two_product(s, s)
    z_low = f.fma(two * s, s_low, z_low)
    series = f.polynomial(z, coefficients.LOG_RATIO_FURTHER["float64"])
    third, third_low = map(f.number, coefficients.TWO_THIRDS)
    c, c_low = f.fast_two_sum(third, f.fma(z, series, third_low))
    u, u_low = f.two_product(z, c)
    u_low = f.fma(z, c_low, f.fma(z_low, c, u_low))
    v, v_low = f.two_product(s, u)
    v_low = f.fma(s, u_low, f.fma(s_low, u, v_low))
    log_m, low = f.fast_two_sum(two * s, v)
    low = low + f.fma(two, s_low, v_low)
    ln2, ln2_low = map(f.number, coefficients.LN2["float64"])
    total, total_low = f.fast_two_sum(k * ln2, log_m)
    total_low = total_low + f.fma(k, ln2_low, low)
    return f.fast_two_sum(total, total_low)
