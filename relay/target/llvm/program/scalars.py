"""Operations on scalars, by the same rules and with the same code as in kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import dtypes
from relay.errors import RelayError
from relay.scalar_functions import FUNCTIONS
from relay.target.llvm.writer import literal
from relay.te.expr import (
    BINARY,
    COMPARE,
    UNARY,
    Bitcast,
    Cast,
    Expr,
    Var,
    binary,
    bitcast,
    call,
    cast,
    compare,
    const,
    select,
    unary,
)
from relay.te.legalize import Facts, carrier, legalize
from relay.te.loops import Buffer, Store
from relay.te.narrow import NARROW_FLOATS


def expression(op: str, operands: Sequence[Expr], dtype: str) -> Expr:
    """The operation of `relay.te.expr` with that name."""
    if op in BINARY:
        return binary(op, *operands)
    if op in COMPARE:
        return compare(op, *operands)
    if op in UNARY:
        return unary(op, *operands)
    if op in FUNCTIONS:
        return call(op, *operands)
    match op:
        case "select":
            return select(*operands)
        case "cast":
            return cast(operands[0], dtype)
        case "bitcast":
            return bitcast(operands[0], dtype)
    raise RelayError(f"there is no operation `{op}` on scalars")


def legal(expr: Expr, facts: Facts) -> Expr:
    """The expression in instructions of the machine; its value as memory holds it."""
    place = Buffer("result", (), expr.dtype)
    stored = legalize(Store(place, (), expr), facts)
    assert isinstance(stored, Store)
    return stored.value


def operand(dtype: str, name: str) -> tuple[Var, Expr]:
    """A variable for what a register holds, and the scalar of type `dtype` that this is."""
    if dtype in NARROW_FLOATS:
        held = Var(f"uint{8 * dtypes.to_numpy(dtype).itemsize}", name)
        return held, Bitcast(dtype, held)
    if carrier(dtype) != dtype:
        held = Var(carrier(dtype), name)
        return held, Cast(dtype, held)
    held = Var(dtype, name)
    return held, held


def literal_text(value: bool | int | float, dtype: str) -> str:
    """A number as LLVM reads it, in the form registers have."""
    if dtype in NARROW_FLOATS:
        stored = np.asarray(float(value)).astype(dtypes.to_numpy(dtype))
        return str(int(stored.view(f"uint{8 * stored.itemsize}")))
    return literal(const(value, dtype))
