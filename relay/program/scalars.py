"""The operations a program has on scalars, by name. They mean what they do in `relay.te.expr`.

add sub mul div floordiv mod truncdiv truncmod min max and or xor shl shr
                      of two scalars of one type, which is the result's
eq ne lt le gt ge     of two scalars of one type; bool
neg not abs           of one, the same type
exp floor pow fma …   functions of mathematics; isnan and its like give bool
cast, bitcast         of one; the result has another type
select                a bool, and two scalars of the result's type

The names are listed here once more: who loads a program does not load what makes kernels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from relay import dtypes

BINARY: Final = (
    *("add", "sub", "mul", "div", "floordiv", "mod", "truncdiv", "truncmod", "min", "max"),
    *("and", "or", "xor", "shl", "shr"),
)
COMPARE: Final = ("eq", "ne", "lt", "le", "gt", "ge")
UNARY: Final = ("neg", "not", "abs")
PREDICATES: Final = ("isnan", "isinf", "isfinite")
ROUNDING: Final = ("floor", "ceil", "trunc", "round")  # of an integer the integer itself
BITS: Final = ("popcount", "clz")
CONTINUOUS: Final = (
    *("exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh"),
    *("atanh", "erf", "sigmoid"),
)

# Name -> how many operands it takes.
OPERATIONS: Final[Mapping[str, int]] = {
    **dict.fromkeys((*BINARY, *COMPARE), 2),
    **dict.fromkeys((*UNARY, *PREDICATES, *ROUNDING, *BITS, *CONTINUOUS), 1),
    **dict.fromkeys(("pow", "fmod", "atan2", "copysign"), 2),
    "fma": 3,
    "cast": 1,
    "bitcast": 1,
    "select": 3,
}
SIZE_OPERATIONS: Final = ("add", "mul")  # which also say where the result does not fit
OF_FLOATS: Final = frozenset({*CONTINUOUS, "div", "pow", "fmod", "atan2", "copysign", "fma"})
OF_INTEGERS: Final = frozenset({*BITS, "and", "or", "xor", "shl", "shr", "not"})


def result_type(op: str, operands: Sequence[str], wanted: str) -> str | None:
    """The type of the result, given those of the operands; None where they do not fit.

    `wanted` is the type the result is to have: that of a conversion is free.
    """
    if OPERATIONS.get(op) != len(operands):
        return None
    first = operands[0]
    if op == "cast":
        return wanted
    if op == "bitcast":
        alike = dtypes.to_numpy(first).itemsize == dtypes.to_numpy(wanted).itemsize
        return wanted if alike else None
    if op == "select":
        return operands[1] if first == "bool" and operands[1] == operands[2] else None
    if any(operand != first for operand in operands):
        return None
    if op in COMPARE or op in PREDICATES:
        return "bool"
    if op in (OF_INTEGERS if dtypes.is_float(first) else OF_FLOATS):
        return None
    return first
