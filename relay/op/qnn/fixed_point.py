"""Fixed-point multiplication of integers by real factors, with identical results on every target.

A factor is a 31-bit multiplier and a power of two. The product of the multiplier and a 32-bit
integer has 64 bits; it is rounded once, by the shift.

    0.3 = 0.6 * 2**-1 ~ 1288490189 * 2**(-1 - 31)

    UPWARD         ties toward plus infinity:          1.5 -> 2     -1.5 -> -1
    TONEAREST      ties away from zero:                 1.5 -> 2     -1.5 -> -2

Floating-point computation may also round TOEVEN: 1.5 -> 2, 2.5 -> 2.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from relay import dtypes
from relay.op.building.numerics import limits

Rounding = Literal["UPWARD", "TONEAREST", "TOEVEN"]


def centered(data: np.ndarray, zero_point: np.ndarray) -> Any:
    """Data minus its zero point, (1, *shape), without overflow.

    64-bit integers become Python integers. The leading axis keeps scalars arrays, as NumPy scalars
    promote differently.
    """
    wide = object if data.dtype.itemsize > 4 else np.int64
    return data[None].astype(wide) - zero_point.astype(wide)


def multiplier_and_exponent(factor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(m, e) with 2**30 <= m < 2**31, such that factor is about m * 2**(e - 31)."""
    fraction, exponent = np.frexp(factor)
    multiplier = np.floor(np.ldexp(fraction, 31) + 0.5).astype(np.int64)
    carried = multiplier == 2**31
    return np.where(carried, 2**30, multiplier), exponent + carried


def times(lhs: np.ndarray, rhs: np.ndarray) -> Any:
    """The product of integers, without overflow."""
    fits = _size(lhs) * _size(rhs) < 2**63
    return lhs * rhs if fits else lhs.astype(object) * rhs


def _size(values: np.ndarray) -> int:
    return int(np.abs(values).max()) if values.size else 0


def scaled(values: np.ndarray, factor: np.ndarray, rounding: Rounding = "UPWARD") -> Any:
    """Integers from `centered` times a factor, rounded once."""
    multiplier, exponent = multiplier_and_exponent(factor)
    if (exponent > 29).any():  # the result may exceed 64 bits
        values = values.astype(object)
    product = times(values, multiplier)
    if rounding == "TONEAREST":
        size = _halved(np.abs(product), 31 - exponent)
        return np.where(product < 0, -size, size)
    return _halved(product, 31 - exponent)


def _halved(values: np.ndarray, count: np.ndarray) -> Any:
    """Integers divided by 2**count, with ties rounded up."""
    before_last = count - 1
    # shifts of NumPy by 64 bits or more leave the sign
    doubled = (values << np.maximum(-before_last, 0)) >> np.maximum(before_last, 0)
    return (doubled + 1) >> 1


def nearest(values: np.ndarray, rounding: Rounding) -> Any:
    """Floats rounded to integers."""
    if rounding == "TOEVEN":
        return np.rint(values)
    size = np.abs(values) if rounding == "TONEAREST" else values
    whole = np.floor(size)
    whole = whole + (size - whole >= 0.5)
    return np.copysign(whole, values) if rounding == "TONEAREST" else whole


def saturated(values: np.ndarray, dtype: str) -> Any:
    """Integers (1, *shape) saturated to `dtype`."""
    target = dtypes.to_numpy(dtype)
    return np.clip(values, *limits(target)).astype(target)[0]
