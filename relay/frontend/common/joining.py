"""The common supertype of tensors from several paths.

Tensor[(2, 3), float32], Tensor[(5, 3), float32]      Tensor[(?, 3), float32]
"""

from __future__ import annotations

from collections.abc import Sequence

from relay.frontend.common.builder import Builder
from relay.ir import dims
from relay.ir.dims import Any
from relay.ir.types import TensorType


def of_tensors(one: TensorType, other: TensorType) -> TensorType | None:
    """The common supertype of two types; None where they differ in more than extents."""
    if one.dtype != other.dtype or len(one.shape) != len(other.shape):
        return None
    pairs = zip(one.shape, other.shape, strict=True)
    return TensorType(tuple(a if dims.equal(a, b) else Any() for a, b in pairs), one.dtype)


def common_types(
    node: Builder, ones: Sequence[TensorType], others: Sequence[TensorType], who: str
) -> list[TensorType]:
    """The types that tensors of two paths have in common."""
    if len(ones) != len(others):
        text = f"{who} give different numbers of values"
        raise node.refused(text, str(len(ones)), str(len(others)))
    found = []
    for one, other in zip(ones, others, strict=True):
        ty = of_tensors(one, other)
        if ty is None:
            raise node.refused(f"{who} give values of different types", str(one), str(other))
        found.append(ty)
    return found
