"""The common supertype of tensors from several paths.

Tensor[(2, 3), float32], Tensor[(5, 3), float32]      Tensor[(?, 3), float32]
"""

from __future__ import annotations

from relay.ir import dims
from relay.ir.dims import Any
from relay.ir.types import TensorType


def of_tensors(one: TensorType, other: TensorType) -> TensorType | None:
    """The common supertype of two types; None where they differ in more than extents."""
    if one.dtype != other.dtype or len(one.shape) != len(other.shape):
        return None
    pairs = zip(one.shape, other.shape, strict=True)
    return TensorType(tuple(a if dims.equal(a, b) else Any() for a, b in pairs), one.dtype)
