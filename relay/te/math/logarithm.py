"""Logarithms and inverse hyperbolic functions.

x = 2**k * m,   sqrt(1/2) <= m < sqrt(2):   log(x) = k * log(2) + log(m)
"""

from __future__ import annotations

import math
import struct

from relay.te.expr import Expr, absolute, call, equal, select
from relay.te.math import coefficients
from relay.te.math.floats import Floats


def decompose(f: Floats, x: Expr) -> tuple[Expr, Expr]:
    """(k as a float, m) of a positive number."""
    smallest = f.number(2.0 ** (1 - f.bias))
    denormal = x < smallest
    shift = f.fraction + 1
    bits = f.bits(select(denormal, x * f.number(2.0**shift), x))
    one = f.bias << f.fraction
    root_half = f.number(math.sqrt(0.5))
    offset = one - _pattern(f, root_half.value)
    exponent = (bits + f.word(offset)) >> f.fraction
    m = f.from_bits(bits - (exponent << f.fraction) + f.word(one))
    # the exponent in the low bits of 2**fraction is a float
    base = 2.0**f.fraction
    biased = f.from_bits(exponent | f.word(_pattern(f, base)))
    zero = select(denormal, f.number(base + f.bias + shift), f.number(base + f.bias))
    return biased - zero, m


def _pattern(f: Floats, value: float) -> int:
    """The bit pattern of a number."""
    codes = ("<f", "<I") if f.dtype == "float32" else ("<d", "<Q")
    return int(struct.unpack(codes[1], struct.pack(codes[0], value))[0])


def log_of_mantissa(f: Floats, m: Expr) -> Expr:
    """log(m) for sqrt(1/2) <= m < sqrt(2)."""
    x = m - f.number(1.0)
    if f.dtype == "float32":
        return x * f.polynomial(x, coefficients.LOG["float32"])
    # log(m) = x - (x*x/2 - s * (x*x/2 + r)), where s = x / (2 + x)
    s = x / (x + f.number(2.0))
    z = s * s
    r = z * f.polynomial(z, coefficients.LOG_RATIO["float64"])
    half = x * x * f.number(0.5)
    return x - (half - s * (half + r))


def _ends(f: Floats, x: Expr, result: Expr) -> Expr:
    """Special cases: zero, infinity, negative numbers."""
    inside = select(x < f.infinity, result, f.infinity)
    return select(x > f.number(0.0), inside, select(equal(x, f.number(0.0)), -f.infinity, f.nan))


def log(f: Floats, x: Expr) -> Expr:
    k, m = decompose(f, x)
    high, low = map(f.number, coefficients.LN2[f.dtype])
    rest = f.fma(k, low, log_of_mantissa(f, m))
    return _ends(f, x, f.fma(k, high, rest))


def log2(f: Floats, x: Expr) -> Expr:
    k, m = decompose(f, x)
    return _ends(f, x, f.fma(log_of_mantissa(f, m), f.number(1 / math.log(2)), k))


def log10(f: Floats, x: Expr) -> Expr:
    k, m = decompose(f, x)
    high, low = map(f.number, coefficients.LOG10_2[f.dtype])
    rest = f.fma(log_of_mantissa(f, m), f.number(1 / math.log(10)), k * low)
    return _ends(f, x, f.fma(k, high, rest))


def log1p(f: Floats, x: Expr) -> Expr:
    return _log1p(f, x, f.number(0.0))


def _log1p(f: Floats, x: Expr, powers: Expr) -> Expr:
    """log((1 + x) * 2**powers)"""
    total, lost = f.two_sum(f.number(1.0), x)
    k, m = decompose(f, total)
    k = k + powers
    high, low = map(f.number, coefficients.LN2[f.dtype])
    # log(total + lost) is log(total) + lost / total
    rest = f.fma(k, low, lost / total) + log_of_mantissa(f, m)
    result = _ends(f, total, f.fma(k, high, rest))
    return select(equal(x, f.number(0.0)), x, result)  # keeps the sign of zero


def asinh(f: Floats, x: Expr) -> Expr:
    """log(|x| + sqrt(x*x + 1)), without cancellation for small x."""
    size = absolute(x)
    one = f.number(1.0)
    square = size * size
    near = size + square / (one + call("sqrt", one + square))
    return f.with_sign_of(_log_of_sum(f, size, near), x)


def acosh(f: Floats, x: Expr) -> Expr:
    """log(x + sqrt(x*x - 1)), from the distance to one."""
    above = x - f.number(1.0)
    near = above + call("sqrt", f.fma(above, above, above + above))
    return select(x < f.number(1.0), f.nan, _log_of_sum(f, x, near))


def _log_of_sum(f: Floats, size: Expr, near: Expr) -> Expr:
    """log(1 + near), which is log(2 * size) where the square of size may overflow."""
    large = size > f.number(2.0 ** (f.fraction + 3))
    argument = select(large, size, near)
    return _log1p(f, argument, select(large, f.number(1.0), f.number(0.0)))


def atanh(f: Floats, x: Expr) -> Expr:
    size = absolute(x)
    twice = log1p(f, (size + size) / (f.number(1.0) - size))
    return f.with_sign_of(twice * f.number(0.5), x)
