"""Which results of weights and constants are computed once and stored.

A result may have `SMALL` bytes, or `GROWTH` times as many as the weights it is computed from: a
bias that is broadcast to a large tensor is read from the bias whenever it is needed.
"""

from __future__ import annotations

from math import prod

from relay import dtypes
from relay.ir.types import TensorType, TupleType, Type
from relay.op.opdef import OpDef
from relay.op.tensor.index_checks import check_indices

SMALL = 1 << 16
GROWTH = 8
MOST = 1 << 62  # bytes; more cannot be stored


def is_worth_storing(made: int, read: int) -> bool:
    """Whether to store a result of `made` bytes, computed from `read` bytes of weights."""
    return made <= max(SMALL, GROWTH * read)


def is_precomputable(op: OpDef) -> bool:
    """Whether calls can be evaluated before the run; a failing index check must fail in the run."""
    return op is not check_indices and op.is_repeatable


def size_of(ty: Type | None) -> int | None:
    """The bytes of a tensor, or of nested tuples of tensors; None where dynamic, or too many."""
    total = 0
    pending = [ty]
    while pending:
        match pending.pop():
            case TensorType(shape=shape, dtype=dtype) if all(isinstance(d, int) for d in shape):
                extents = [d for d in shape if isinstance(d, int)]
                total += prod(extents) * dtypes.to_numpy(dtype).itemsize
            case TupleType(fields=fields):
                pending.extend(fields)
            case _:
                return None
    return total if total < MOST else None
