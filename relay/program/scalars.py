"""Scalar operations of programs by name, with the semantics of `relay.te.expr`.

BINARY                two scalars of the type of the result
COMPARE               two scalars of one type; the result is bool
UNARY                 one scalar of the type of the result
exp floor pow fma …   mathematical functions (`relay.scalar_functions`); predicates give bool
cast, bitcast         one scalar of another type
select                a bool, and two scalars of the type of the result
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from relay import dtypes
from relay.scalar_functions import BINARY, COMPARE, FUNCTIONS, PREDICATES, UNARY

# Name -> number of operands.
OPERATIONS: Final[Mapping[str, int]] = {
    **dict.fromkeys((*BINARY, *COMPARE), 2),
    **dict.fromkeys(UNARY, 1),
    **{name: function.arguments for name, function in FUNCTIONS.items()},
    "cast": 1,
    "bitcast": 1,
    "select": 3,
}
SIZE_OPERATIONS: Final = ("add", "mul")  # with overflow checks
OF_FLOATS: Final = frozenset({"div", *(n for n, f in FUNCTIONS.items() if f.kind == "float")})
_BITS: Final = tuple(name for name, function in FUNCTIONS.items() if function.kind == "bits")
OF_INTEGERS: Final = frozenset({*_BITS, "and", "or", "xor", "shl", "shr", "not"})


def result_type(op: str, operands: Sequence[str], wanted: str) -> str | None:
    """The result type, None if the operands do not fit; a conversion gives `wanted`."""
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
