"""Scalar operations of programs, with the semantics and the code of kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import dtypes
from relay.errors import RelayError
from relay.scalar_functions import FUNCTIONS
from relay.target.llvm.writer import literal
from relay.te import expr as te
from relay.te.legalize import Facts, carrier, legalize
from relay.te.loops import Buffer, Store
from relay.te.narrow import NARROW_FLOATS


def expression(op: str, operands: Sequence[te.Expr], dtype: str) -> te.Expr:
    """The operation `op` of `relay.te.expr`."""
    if op in te.BINARY:
        return te.binary(op, *operands)
    if op in te.COMPARE:
        return te.compare(op, *operands)
    if op in te.UNARY:
        return te.unary(op, *operands)
    if op in FUNCTIONS:
        return te.call(op, *operands)
    match op:
        case "select":
            return te.select(*operands)
        case "cast":
            return te.cast(operands[0], dtype)
        case "bitcast":
            return te.bitcast(operands[0], dtype)
    raise RelayError(f"there is no operation `{op}` on scalars")


def legal(expr: te.Expr, facts: Facts) -> te.Expr:
    """The expression in instructions of the target, with its value as it is stored in memory."""
    place = Buffer("result", (), expr.dtype)
    stored = legalize(Store(place, (), expr), facts)
    assert isinstance(stored, Store)
    return stored.value


def operand(dtype: str, name: str) -> tuple[te.Var, te.Expr]:
    """A variable for a register, and its value as a scalar of type `dtype`."""
    if dtype in NARROW_FLOATS:
        held = te.Var(f"uint{8 * dtypes.to_numpy(dtype).itemsize}", name)
        return held, te.Bitcast(dtype, held)
    if carrier(dtype) != dtype:
        held = te.Var(carrier(dtype), name)
        return held, te.Cast(dtype, held)
    held = te.Var(dtype, name)
    return held, held


def literal_text(value: bool | int | float, dtype: str) -> str:
    """A number as an LLVM literal of the type of registers."""
    if dtype in NARROW_FLOATS:
        stored = np.asarray(float(value)).astype(dtypes.to_numpy(dtype))
        return str(int(stored.view(f"uint{8 * stored.itemsize}")))
    return literal(te.const(value, dtype))
