"""The operations a program has on scalars, by name. They mean what they do in `relay.te.expr`.

add sub mul div floordiv mod truncdiv truncmod min max and or xor shl shr
                      of two scalars of one type, which is the result's
eq ne lt le gt ge     of two scalars of one type; bool
neg not abs           of one, the same type
exp floor pow fma …   functions of mathematics; isnan and its like give bool
cast, bitcast         of one; the result has another type
select                a bool, and two scalars of the result's type

The names of operators are listed here once more: a program is loaded without `relay.te`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from relay import dtypes
from relay.scalar_functions import FUNCTIONS, PREDICATES

BINARY: Final = (
    *("add", "sub", "mul", "div", "floordiv", "mod", "truncdiv", "truncmod", "min", "max"),
    *("and", "or", "xor", "shl", "shr"),
)
COMPARE: Final = ("eq", "ne", "lt", "le", "gt", "ge")
UNARY: Final = ("neg", "not", "abs")

# Name -> how many operands it takes.
OPERATIONS: Final[Mapping[str, int]] = {
    **dict.fromkeys((*BINARY, *COMPARE), 2),
    **dict.fromkeys(UNARY, 1),
    **{name: function.arguments for name, function in FUNCTIONS.items()},
    "cast": 1,
    "bitcast": 1,
    "select": 3,
}
SIZE_OPERATIONS: Final = ("add", "mul")  # which also say where the result does not fit
OF_FLOATS: Final = frozenset({"div", *(n for n, f in FUNCTIONS.items() if f.kind == "float")})
_BITS: Final = tuple(name for name, function in FUNCTIONS.items() if function.kind == "bits")
OF_INTEGERS: Final = frozenset({*_BITS, "and", "or", "xor", "shl", "shr", "not"})


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
