"""Operations of a program on scalars, with the semantics of kernels (`relay.te.arithmetic`).

A scalar is a NumPy scalar of the type that carries its element type. Narrow floats are rounded when
a register is written, as when they are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relay import dtypes
from relay.errors import RelayError
from relay.program.scalars import OPERATIONS
from relay.scalar_functions import BINARY, COMPARE, UNARY
from relay.te import arithmetic

Operation = Callable[..., Any]


def from_number(number: bool | int | float, dtype: str) -> Any:
    """A number literal as a scalar."""
    stored = np.asarray(number).astype(dtypes.to_numpy(dtype))
    return from_memory(stored, dtype)


def from_memory(stored: Any, dtype: str) -> Any:
    """The scalar in a tensor of rank 0."""
    return arithmetic.load(stored, dtype)[()]


def to_memory(scalar: Any, dtype: str) -> np.ndarray:
    """A tensor of rank 0 that holds the scalar."""
    return np.asarray(arithmetic.store(scalar, dtype))


def operation(op: str, operands: Sequence[str], result: str) -> Operation:
    """The function of an operation, for operands and a result of these types."""
    compute = _compute(op, operands[0], result)
    if arithmetic.carrier(result) != dtypes.to_numpy(result) and dtypes.is_float(result):
        return lambda *values: from_memory(arithmetic.store(compute(*values), result), result)
    return lambda *values: compute(*values)[()]


def _compute(op: str, first: str, result: str) -> Operation:
    if op in BINARY:
        return lambda a, b: arithmetic.binary(op, a, b, first)
    if op in COMPARE:
        return arithmetic.COMPARE[op]
    if op in UNARY:
        return lambda a: arithmetic.unary(op, a, first)
    if op == "cast":
        return lambda a: arithmetic.cast(a, first, result)
    if op == "bitcast":
        return lambda a: arithmetic.bitcast(a, first, result)
    if op == "select":
        return lambda condition, a, b: a if condition else b
    if op in OPERATIONS:
        return lambda *values: arithmetic.call(op, list(values), first)
    raise RelayError(f"there is no operation `{op}` on scalars")
