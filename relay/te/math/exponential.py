"""exp and related functions, by reduction to a power of two and a small remainder.

    base**x = 2**n * base**r,   n = round(x * log2(base)),   r = x - n / log2(base)

A polynomial approximates base**r; 2**n is assembled from bits. Adding a large constant rounds
x * log2(base) and leaves n in the low bits of the sum, so n needs no conversion; with the exponent
bias in the constant as well, a shift makes 2**n of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from relay.immutable import frozen
from relay.te.expr import Expr, absolute, equal, select
from relay.te.math import coefficients
from relay.te.math.floats import Floats


@frozen
class Base:
    """The base of a power."""

    log2: float
    step: Mapping[str, tuple[float, ...]]  # 1 / log2 in parts; none if it is 1
    polynomial: Mapping[str, tuple[float, ...]]
    high: Mapping[str, float]  # larger arguments give infinity


E = Base(
    1 / math.log(2),
    coefficients.LN2,
    coefficients.EXP,
    {"float32": 89.5, "float64": 710.5},
)
TWO = Base(
    1.0,
    {"float32": (), "float64": ()},
    coefficients.EXP2,
    {"float32": 128.0, "float64": 1024.0},
)
TEN = Base(
    1 / math.log10(2),
    coefficients.LOG10_2,
    coefficients.EXP10,
    {"float32": 38.6, "float64": 308.3},
)


def reduced(f: Floats, x: Expr, base: Base, offset: int) -> tuple[Expr, Expr, Expr]:
    """(n, r, an integer whose low bits are n + offset)"""
    constant = f.number(f.magic + offset)
    total = x + constant if base.log2 == 1 else f.fma(x, f.number(base.log2), constant)
    n = total - constant
    rest = x - n if base.log2 == 1 else x
    for part in base.step[f.dtype]:
        rest = f.fma(n, f.number(-part), rest)
    return n, rest, f.bits(total)


def power(f: Floats, x: Expr, base: Base, exponent: int = 0) -> Expr:
    """base**x * 2**exponent, as a product with two powers of two to reach denormals.

    Far below, both powers are zero, so that the product is exact: an underflow is slow, and masks
    of large negative numbers are common.
    """
    low = -(2 * f.bias + exponent) / base.log2
    x = f.at_least(f.at_most(x, base.high[f.dtype]), low)
    _, rest, bits = reduced(f, x, base, 2 * f.bias + exponent)
    half = bits >> 1
    first, second = half << f.fraction, (bits - half) << f.fraction
    value = f.polynomial(rest, base.polynomial[f.dtype])
    return (value * f.from_bits(first)) * f.from_bits(second)


def exp(f: Floats, x: Expr) -> Expr:
    return power(f, x, E)


def exp2(f: Floats, x: Expr) -> Expr:
    return power(f, x, TWO)


def exp10(f: Floats, x: Expr) -> Expr:
    return power(f, x, TEN)


def _expm1_of_rest(f: Floats, rest: Expr) -> Expr:
    return f.fma(rest * rest, f.polynomial(rest, coefficients.EXPM1[f.dtype]), rest)


def expm1(f: Floats, x: Expr) -> Expr:
    """2**n * (e**r - 1) + (2**n - 1), computed at half its value to avoid overflow."""
    low, high = (-18.0, 89.0) if f.dtype == "float32" else (-38.0, 710.0)
    n, rest, bits = reduced(f, f.at_least(f.at_most(x, high), low), E, f.bias - 1)
    small = _expm1_of_rest(f, rest)
    half = f.from_bits(bits << f.fraction)
    large = f.fma(half, small, half - f.number(0.5)) * f.number(2.0)
    return f.with_sign_of(select(equal(n, f.number(0.0)), small, large), x)


def tanh(f: Floats, x: Expr) -> Expr:
    """The quotient e / (e + 2), where e = expm1(2 * |x|)."""
    # for larger arguments the result is 1
    size = f.at_most(absolute(x), 9.1 if f.dtype == "float32" else 19.1)
    _, rest, bits = reduced(f, size + size, E, f.bias)
    scale = f.from_bits(bits << f.fraction)
    e = f.fma(scale, _expm1_of_rest(f, rest), scale - f.number(1.0))
    return f.with_sign_of(e / (e + f.number(2.0)), x)


def sigmoid(f: Floats, x: Expr) -> Expr:
    """1 / (1 + e**-x), without overflow."""
    small = power(f, -absolute(x), E)
    one = f.number(1.0)
    return select(x < f.number(0.0), small, one) / (one + small)


def cosh(f: Floats, x: Expr) -> Expr:
    half = power(f, absolute(x), E, -1)
    return half + f.number(0.25) / half


def sinh(f: Floats, x: Expr) -> Expr:
    half = power(f, absolute(x), E, -1)
    large = half - f.number(0.25) / half
    square = x * x
    # avoids cancellation
    small = f.fma(x * square, f.polynomial(square, coefficients.SINH[f.dtype]), x)
    size = absolute(x)
    return f.with_sign_of(select(size < f.number(1.0), absolute(small), large), x)
