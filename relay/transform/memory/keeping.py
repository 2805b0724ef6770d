"""What is made of weights alone, and is worth computing once and keeping.

A result may have `SMALL` bytes, or `GROWTH` times as many as the weights it is made of: a bias that
is broadcast to a large tensor is read from the bias whenever it is needed.
"""

from __future__ import annotations

from math import prod

from relay import dtypes
from relay.ir.types import TensorType, TupleType, Type
from relay.op.opdef import OpDef
from relay.op.tensor.index_checks import check_indices

SMALL = 1 << 16
GROWTH = 8


def is_worth_keeping(made: int, read: int) -> bool:
    """Whether to keep a result of `made` bytes, made of `read` bytes of weights."""
    return made <= max(SMALL, GROWTH * read)


def gives_the_same(op: OpDef) -> bool:
    """Whether an operator gives the same whenever it is called, and nothing but that."""
    if op is check_indices:  # may end a run, and does so in the run that comes to it
        return False
    return op.is_repeatable


def size_of(ty: Type | None) -> int | None:
    """The bytes of a tensor or of several; None where they are not known."""
    total = 0
    for part in ty.fields if isinstance(ty, TupleType) else (ty,):
        if not isinstance(part, TensorType) or not all(isinstance(d, int) for d in part.shape):
            return None
        total += prod(part.concrete_shape) * dtypes.to_numpy(part.dtype).itemsize
    return total
