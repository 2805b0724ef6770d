"""The rules of `relay.op.building.numerics` for scalar expressions, as kernels compute them.

    x / 0 is 0 for integers           and x mod 0 is x
    a negative integer power          is 0 unless the base is 1 or -1
    narrow floats, int4 and int2      compute in 32 (8) bits: `widened`

Wrapping, saturating conversions and shifts are part of the expressions (`relay.te.expr`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from relay import dtypes, te
from relay.op.building.numerics import computing_dtype

Function = Callable[..., te.Expr]


def wide(dtype: str) -> str:
    """The type in which elements of `dtype` are computed."""
    return str(computing_dtype(dtypes.to_numpy(dtype)))


def widened(value: te.Expr) -> te.Expr:
    """The value in the type it is computed in."""
    return te.cast(value, wide(value.dtype))


def rounded_once(function: Function) -> Function:
    """`function` computed in a wider type where its arguments are narrow, and rounded at the end.

    Single operations do not need this, as they are rounded once anyhow; constants that the narrow
    type cannot represent do.
    """

    @wraps(function)
    def scalar(*values: te.Expr, **attrs: Any) -> te.Expr:
        narrow = values[0].dtype
        result = function(*map(widened, values), **attrs)
        return te.cast(result, narrow) if result.dtype == wide(narrow) else result

    return scalar


def is_float(value: te.Expr) -> bool:
    return dtypes.is_float(value.dtype)


def is_truth(value: te.Expr) -> bool:
    return value.dtype == "bool"


# --- division ----------------------------------------------------------------------------------


def divide(x: te.Expr, y: te.Expr) -> te.Expr:
    """`x / y`; integers truncate toward zero."""
    return x / y if is_float(x) else te.truncdiv(x, y)


def trunc_divide(x: te.Expr, y: te.Expr) -> te.Expr:
    """`x / y` truncated."""
    return te.call("trunc", x / y) if is_float(x) else te.truncdiv(x, y)


def trunc_mod(x: te.Expr, y: te.Expr) -> te.Expr:
    """The remainder of `trunc_divide`, with the sign of x."""
    return te.call("fmod", x, y) if is_float(x) else x - te.truncdiv(x, y) * y


def floor_mod(x: te.Expr, y: te.Expr) -> te.Expr:
    """The remainder of `floor_divide`, with the sign of y."""
    if not is_float(x):
        return x - (x // y) * y
    rest = te.call("fmod", x, y)
    other_side = te.not_equal(rest < 0.0, y < 0.0)
    signed = te.select(other_side, rest + y, rest)
    return te.select(te.equal(rest, 0.0), te.call("copysign", te.const(0.0, x.dtype), y), signed)


def floor_divide(x: te.Expr, y: te.Expr) -> te.Expr:
    """`x / y` rounded down, as if the quotient were exact."""
    if not is_float(x):
        return x // y
    rest = te.call("fmod", x, y)
    # nearly exact: x - rest is a multiple of y
    whole = te.call("round", (x - rest) / y)
    below = te.every(te.not_equal(rest, 0.0), te.not_equal(rest < 0.0, y < 0.0))
    floored = te.select(below, whole - 1.0, whole)
    return te.select(te.equal(y, 0.0), x / y, floored)


# --- powers ------------------------------------------------------------------------------------


def power(x: te.Expr, y: te.Expr) -> te.Expr:
    """X to the power of y."""
    if is_float(x):
        return te.call("pow", x, y)
    if y.dtype not in dtypes.SIGNED:
        return _whole_power(x, y)
    unit = te.select(te.equal(y & 1, 1), x, te.const(1, x.dtype))
    has_inverse = te.some(te.equal(x, 1), te.equal(x, -1))
    return te.select(y < 0, te.select(has_inverse, unit, 0), _whole_power(x, y))


def _whole_power(x: te.Expr, y: te.Expr) -> te.Expr:
    """X to the power of y >= 0 by repeated squaring: x**5 is x * (x**2)**2."""
    bits = te.width(y.dtype) - (y.dtype in dtypes.SIGNED)
    result: te.Expr = te.const(1, x.dtype)
    for bit in range(bits):
        result = te.select(te.equal((y >> bit) & 1, 1), result * x, result)
        x = x * x
    return result


def sign(x: te.Expr) -> te.Expr:
    """-1, 0 or 1; NaN stays NaN."""
    zero, one = te.const(0, x.dtype), te.const(1, x.dtype)
    if x.dtype in dtypes.UNSIGNED:
        return te.select(x > 0, one, zero)
    rest = te.select(te.equal(x, 0), zero, x) if is_float(x) else zero
    return te.select(x > 0, one, te.select(x < 0, -one, rest))


def two_to_the(exponent: te.Expr, dtype: str) -> te.Expr:
    """2**exponent as a float32 or float64, assembled from its bits.

    The exponent is an integer of the same width, in the range of normal numbers.
    """
    layout = np.finfo(dtype)
    biased = exponent + (layout.maxexp - 1)
    return te.bitcast(biased << int(layout.nmant), dtype)
