"""The semantics of arithmetic where NumPy warns, refuses, or depends on the machine.

    integers wrap                     127 + 1 == -128 in int8
    integer x / 0 is 0                and x mod 0 is x, so that x == y * (x / y) + x mod y always
    INT_MIN / -1 wraps                to INT_MIN
    shifts by the width or more       give 0, or the sign for `>>`; so do negative counts
    float -> integer                  truncates and saturates; NaN is 0
    integer -> integer                keeps the low bits
    anything -> bool                  is `!= 0`
    narrow floats, int4 and int2      compute in 32 (8) bits and round once, at the end

Every executor has to agree, for integers and bools exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import numpy as np

from relay import dtypes

# The types that stored-only element types are computed in.
_WIDER = {
    **dict.fromkeys(("float16", "bfloat16", *dtypes.FLOAT8, *dtypes.MICROSCALING), "float32"),
    **dict.fromkeys(("int2", "int4"), "int8"),
    **dict.fromkeys(("uint2", "uint4"), "uint8"),
}

Reference = Callable[..., Any]


@cache
def computing_dtype(dtype: np.dtype) -> np.dtype:
    """The type in which elements of `dtype` are computed."""
    return np.dtype(_WIDER.get(dtype.name, dtype))


def widened(array: np.ndarray) -> np.ndarray:
    """`array` in the type it is computed in."""
    return array.astype(computing_dtype(array.dtype), copy=False)


def matrix_product(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """`np.matmul`, at once where the result is empty: it counts the matrices, which may be 2^60."""
    if (left.size and right.size) or min(left.ndim, right.ndim) < 2:
        return np.asarray(np.matmul(left, right))
    batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    return np.zeros((*batch, left.shape[-2], right.shape[-1]), np.result_type(left, right))


def rounded_once(function: Reference) -> Reference:
    """`function` computed in wider types where the first argument is narrow.

    Results of the wide type are rounded to the narrow one; others (bool, int32) stay.
    """

    @wraps(function)
    def compute(*args: np.ndarray, **attrs: Any) -> Any:
        narrow = args[0].dtype
        wide = computing_dtype(narrow)
        if wide == narrow:
            return function(*args, **attrs)
        result = np.asarray(function(*map(widened, args), **attrs))
        return result.astype(narrow) if result.dtype == wide else result

    return compute


def limits(dtype: np.dtype) -> tuple[Any, Any]:
    """The lowest and the highest value of an element type, including infinities."""
    if dtype.kind == "b":
        return False, True
    if dtypes.is_integer(dtype.name):
        bits = int(dtype.name.lstrip("uint"))
        return (
            (0, 2**bits - 1) if dtype.name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )
    return -np.inf, np.inf


def convert(array: np.ndarray, dtype: str) -> np.ndarray:
    """`array` converted to another element type, by the rules above."""
    target = dtypes.to_numpy(dtype)
    if target.kind == "b":
        return np.asarray(widened(array) != 0)
    if dtypes.is_float(array.dtype.name) and dtypes.is_integer(dtype):
        low, high = limits(target)
        exact = array.astype(np.float64)
        inside = np.where((exact > low) & (exact < high), exact, 0)
        whole = inside.astype(np.uint64 if dtype == "uint64" else np.int64)
        result = whole.astype(target)
        result = np.where(exact >= high, np.array(high, target), result)
        return np.where(exact <= low, np.array(low, target), result)
    if target == array.dtype:
        return array
    return widened(array).astype(target)


def sliding_windows(
    array: np.ndarray, extents: tuple[int, ...], axes: tuple[int, ...]
) -> np.ndarray:
    """A view of all windows over the axes; NumPy's own does not support 8-bit floats."""
    stored = array.view(np.uint8) if array.dtype.itemsize == 1 else array
    return np.lib.stride_tricks.sliding_window_view(stored, extents, axes).view(array.dtype)


def is_integral(array: np.ndarray) -> bool:
    return dtypes.is_integer(array.dtype.name)


def in_64_bits(array: np.ndarray) -> np.ndarray:
    """Integers in the widest type of their signedness, to be added up; floats unchanged."""
    if not is_integral(array):
        return array
    return array.astype(np.uint64 if array.dtype.kind == "u" else np.int64)


def _safe(divisor: np.ndarray) -> np.ndarray:
    return np.where(divisor == 0, divisor.dtype.type(1), divisor)


def divide(lhs: np.ndarray, rhs: np.ndarray) -> Any:
    """`lhs / rhs`; integers truncate toward zero, and x / 0 is 0."""
    return trunc_divide(lhs, rhs) if is_integral(lhs) else np.divide(lhs, rhs)


def trunc_divide(lhs: np.ndarray, rhs: np.ndarray) -> Any:
    """`lhs / rhs` truncated; integer x / 0 is 0."""
    if not is_integral(lhs):
        return np.trunc(np.divide(lhs, rhs))
    divisor = _safe(rhs)
    floored = np.floor_divide(lhs, divisor)
    # the floor is one too low for negative inexact quotients
    low = (np.multiply(floored, divisor) != lhs) & ((lhs < 0) != (divisor < 0))
    return np.where(rhs == 0, lhs.dtype.type(0), floored + low.astype(lhs.dtype))


def floor_divide(lhs: np.ndarray, rhs: np.ndarray) -> Any:
    """`lhs / rhs` rounded down; integer x / 0 is 0."""
    if not is_integral(lhs):
        return np.floor_divide(lhs, rhs)
    return np.where(rhs == 0, lhs.dtype.type(0), np.floor_divide(lhs, _safe(rhs)))


def trunc_mod(lhs: np.ndarray, rhs: np.ndarray) -> Any:
    """The remainder of `trunc_divide`, with the sign of lhs; integer x mod 0 is x."""
    if not is_integral(lhs):
        return np.fmod(lhs, rhs)
    return lhs - np.multiply(trunc_divide(lhs, rhs), rhs)


def floor_mod(lhs: np.ndarray, rhs: np.ndarray) -> Any:
    """The remainder of `floor_divide`, with the sign of rhs; integer x mod 0 is x."""
    if not is_integral(lhs):
        return np.mod(lhs, rhs)
    return lhs - np.multiply(floor_divide(lhs, rhs), rhs)


def power(lhs: np.ndarray, rhs: np.ndarray) -> Any:
    """Lhs to the power of rhs; integers wrap, and a negative exponent gives 1 / lhs**-rhs, which is
    0 but for lhs = 1 and lhs = -1."""
    if not is_integral(lhs) or rhs.dtype.kind == "u":
        return np.power(lhs, rhs)
    positive = np.power(lhs, np.maximum(rhs, rhs.dtype.type(0)))
    unit = np.where(np.bitwise_and(rhs, rhs.dtype.type(1)) == 1, lhs, lhs.dtype.type(1))
    inverse = np.where(np.abs(lhs) == 1, unit, lhs.dtype.type(0))
    return np.where(rhs < 0, inverse, positive)
