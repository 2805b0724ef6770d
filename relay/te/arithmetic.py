"""The semantics of scalar operations, on NumPy arrays and scalars: the oracle of generated code.

Values are computed in a carrier type: narrow floats in float32, 2-bit and 4-bit integers in 8 bits.
Narrow floats are rounded where they are stored or cast to, not between; integers wrap at every
step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from relay import dtypes
from relay.errors import RelayError
from relay.scalar_functions import FUNCTIONS
from relay.te import expr as te

Array = Any  # an array, or a NumPy scalar

_CARRIERS = {
    **dict.fromkeys(("float16", "bfloat16", *dtypes.FLOAT8, *dtypes.MICROSCALING), "float32"),
    **dict.fromkeys(("int2", "int4"), "int8"),
    **dict.fromkeys(("uint2", "uint4"), "uint8"),
}


@cache
def carrier(dtype: str) -> np.dtype:
    """The NumPy type that values of `dtype` are computed in."""
    return np.dtype(_CARRIERS.get(dtype, dtype))


def load(stored: Array, dtype: str) -> Array:
    """Stored elements in the carrier type."""
    return stored.astype(carrier(dtype))


def store(value: Array, dtype: str) -> Array:
    """Elements as stored; narrow floats are rounded here."""
    return value.astype(dtypes.to_numpy(dtype))


def wrap(value: Array, dtype: str) -> Array:
    """Integers wrapped to `dtype`."""
    if dtype == "bool":
        return (value & value.dtype.type(1)).astype(bool)
    value = value.astype(carrier(dtype))
    if (bits := te.width(dtype)) >= 8:
        return value
    if dtype in dtypes.SIGNED:
        return (value << np.int8(8 - bits)) >> np.int8(8 - bits)
    return value & np.uint8((1 << bits) - 1)


def apply(expr: te.Expr, operands: list[Array]) -> Array:
    """The value of a node, from the values of its operands."""
    match expr:
        case te.Const():
            return np.asarray(expr.value).astype(carrier(expr.dtype))
        case te.Binary():
            return binary(expr.op, operands[0], operands[1], expr.dtype)
        case te.Compare():
            return COMPARE[expr.op](operands[0], operands[1])
        case te.Unary():
            return unary(expr.op, operands[0], expr.dtype)
        case te.Cast():
            return cast(operands[0], expr.operand.dtype, expr.dtype)
        case te.Bitcast():
            return bitcast(operands[0], expr.operand.dtype, expr.dtype)
        case te.Call():
            return call(expr.function, operands, expr.args[0].dtype)
        case te.Var():
            raise RelayError(f"`{expr.name}` has no value here")
    raise RelayError(f"`{expr!r}` is no scalar by itself")


# --- operators


def binary(op: str, a: Array, b: Array, dtype: str) -> Array:
    """`a op b` of two values of `dtype`."""
    if dtypes.is_float(dtype):
        return _FLOAT[op](a, b)
    if dtype == "bool":
        a, b = a.astype(np.uint8), b.astype(np.uint8)
    return wrap(_INTEGER[op](a, b, te.width(dtype)), dtype)


_FLOAT: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "floordiv": np.floor_divide,
    "mod": np.mod,
    "truncdiv": lambda a, b: np.trunc(np.divide(a, b)),
    "truncmod": np.fmod,
    "min": np.minimum,
    "max": np.maximum,
}


def _floordiv(a: Array, b: Array) -> Array:
    return np.where(b == 0, a.dtype.type(0), np.floor_divide(a, np.where(b == 0, 1, b)))


def _truncdiv(a: Array, b: Array) -> Array:
    floored = _floordiv(a, b)
    # one too low where the quotient is negative and has a fraction
    low = (b != 0) & (floored * b != a) & ((a < 0) != (b < 0))
    return floored + low.astype(a.dtype)


def _shift(shift: Callable[[Array, Array], Array], a: Array, count: Array, bits: int) -> Array:
    inside = (count >= 0) & (count < bits)
    emptied = np.where(
        (a < 0) & (shift is np.right_shift),
        a.dtype.type(-1 * (a.dtype.kind == "i")),
        a.dtype.type(0),
    )
    return np.where(inside, shift(a, np.where(inside, count, 0).astype(a.dtype)), emptied)


_INTEGER: dict[str, Callable[[Array, Array, int], Array]] = {
    "add": lambda a, b, _: a + b,
    "sub": lambda a, b, _: a - b,
    "mul": lambda a, b, _: a * b,
    "floordiv": lambda a, b, _: _floordiv(a, b),
    "mod": lambda a, b, _: a - b * _floordiv(a, b),
    "truncdiv": lambda a, b, _: _truncdiv(a, b),
    "truncmod": lambda a, b, _: a - b * _truncdiv(a, b),
    "min": lambda a, b, _: np.minimum(a, b),
    "max": lambda a, b, _: np.maximum(a, b),
    "and": lambda a, b, _: a & b,
    "or": lambda a, b, _: a | b,
    "xor": lambda a, b, _: a ^ b,
    "shl": lambda a, b, bits: _shift(np.left_shift, a, b, bits),
    "shr": lambda a, b, bits: _shift(np.right_shift, a, b, bits),
}

COMPARE: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def unary(op: str, a: Array, dtype: str) -> Array:
    """`neg`, `not` or `abs` of a value of `dtype`."""
    if dtypes.is_float(dtype):
        return np.negative(a) if op == "neg" else np.abs(a)
    if dtype == "bool":
        return np.logical_not(a) if op == "not" else a  # -b is b modulo 2
    return wrap({"neg": np.negative, "not": np.invert, "abs": np.abs}[op](a), dtype)


# --- conversions


def cast(value: Array, source: str, target: str) -> Array:
    """Floats to integers truncate and saturate, NaN is 0; integers keep their low bits."""
    if target == "bool":
        return np.not_equal(value, 0)
    if dtypes.is_float(target):
        # rounded to the storage type, then back to the carrier
        return load(store(value, target), target)
    if not dtypes.is_float(source):
        return wrap(value.astype(np.uint8) if source == "bool" else value, target)
    bits = te.width(target)
    low, high = (-(1 << bits - 1), 1 << bits - 1) if target in dtypes.SIGNED else (0, 1 << bits)
    exact = np.asarray(value, np.float64)  # low and high are powers of two: exact as well
    inside = np.where((exact > low) & (exact < high), exact, 0)
    whole = inside.astype(np.uint64 if target == "uint64" else np.int64).astype(carrier(target))
    whole = np.where(exact >= high, np.array(high - 1, carrier(target)), whole)
    return np.where(exact <= low, np.array(low, carrier(target)), whole)


def bitcast(value: Array, source: str, target: str) -> Array:
    """The bits reinterpreted as another type."""
    if not dtypes.is_float(source) and not dtypes.is_float(target):
        return wrap(value, target)
    found = load(np.asarray(store(value, source)).view(dtypes.to_numpy(target)), target)
    return found if dtypes.is_float(target) else wrap(found, target)


# --- functions


def call(function: str, args: list[Array], dtype: str) -> Array:
    """A function by name; floats are computed in float64 and rounded."""
    if function in ("dot4", "dot2"):
        return _dot(*args)
    if function in _BITS:
        return wrap(_BITS[function](args[0], te.width(dtype)), dtype)
    if function == "nearest":
        return np.rint(args[0]).astype(dtype)
    known = FUNCTIONS[function]
    if not dtypes.is_float(dtype):
        if known.kind == "rounding":
            return args[0]
        if known.kind == "predicate":
            return np.full(np.shape(args[0]), function == "isfinite")
        raise RelayError(f"`{function}` is a function of floats, found {dtype}")
    if function == "fma" and dtype == "float64":
        return _fma(*args)
    assert known.values is not None
    result = known.values(*(np.asarray(arg, np.float64) for arg in args))
    return result if result.dtype == bool else result.astype(carrier(dtype))


def _dot(start: Array, *factors: Array) -> Array:
    """Add the dot product of the first half of the factors with the second, in int32."""
    wide = [each.astype(np.int32) for each in factors]
    steps = len(wide) // 2
    return sum((a * b for a, b in zip(wide[:steps], wide[steps:], strict=True)), start)


def _low_bits(value: Array, bits: int) -> Array:
    return np.asarray(value).astype(object) & ((1 << bits) - 1)


def _elementwise(function: Callable[..., Any], arguments: int, result: type) -> Any:
    of_objects = np.frompyfunc(function, arguments, 1)
    return lambda *args: np.asarray(of_objects(*args)).astype(result)


_BITS: dict[str, Callable[[Array, int], Array]] = {
    "popcount": lambda x, bits: _elementwise(int.bit_count, 1, int)(_low_bits(x, bits)),
    "clz": lambda x, bits: bits - _elementwise(int.bit_length, 1, int)(_low_bits(x, bits)),
}


def _fma(a: Array, b: Array, c: Array) -> Array:
    """a*b + c of float64, rounded once (Boldo and Melquiond, Emulation of a FMA)."""
    product, low = _two_product(a, b)
    middle, lowest = _two_sum(c, low)
    high, low = _two_sum(product, middle)
    fast = high + _sum_to_odd(lowest, low)
    # the proof requires intermediate exponents without overflow or underflow
    sizes = np.abs(np.broadcast_arrays(a, b, c, product))
    safe = np.all(sizes < 2.0**480, axis=0) & ((sizes[3] > 2.0**-900) | (a == 0) | (b == 0))
    return np.where(safe, fast, fast if np.all(safe) else _exact_fma(a, b, c))


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, (
        ((a_high * b_high - product) + a_high * b_low) + a_low * b_high
    ) + a_low * b_low


def _halves(x: Array) -> tuple[Array, Array]:
    scaled = x * (2.0**27 + 1)
    high = scaled - (scaled - x)
    return high, x - high


def _sum_to_odd(a: Array, b: Array) -> Array:
    """The sum, rounded to odd."""
    total, lost = _two_sum(a, b)
    bits = np.asarray(total).view(np.int64)
    other = np.where((lost > 0) == (total > 0), bits + 1, bits - 1).view(np.float64)
    return np.where((lost != 0) & (bits & 1 == 0), other, total)


def _fraction_fma(a: float, b: float, c: float) -> float:
    if not math.isfinite(a) or not math.isfinite(b):
        return a * b + c
    if not math.isfinite(c):
        return c  # the exact product is finite
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c  # for the sign of the zero
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


_exact_fma = _elementwise(_fraction_fma, 3, float)
