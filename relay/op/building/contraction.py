"""Contractions as tensor expressions. Narrow floats are accumulated in float32; integers in the
element type of the result, where they wrap."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay import te
from relay.op.building.scalars import wide

Factors = tuple[te.Expr, te.Expr]


def contraction(
    out: te.Spec, factors: Callable[..., Factors], axes: Sequence[te.Axis], name: str
) -> te.Tensor:
    """The tensor whose element at (i, j, …) is the sum of the products of `factors(i, j, …)`."""
    total = wide(out.dtype)
    sums = te.compute(out.shape, lambda *i: te.sum(product(factors(*i), total), axes), name)
    return converted(sums, out.dtype)


def product(factors: Factors, dtype: str) -> te.Expr:
    """The product, computed in that type."""
    left, right = factors
    return te.cast(left, dtype) * te.cast(right, dtype)


def converted(tensor: te.Tensor, dtype: str) -> te.Tensor:
    """The tensor cast to that type."""
    if tensor.dtype == dtype:
        return tensor
    return te.compute(tensor.shape, lambda *i: te.cast(tensor[i], dtype), tensor.name)
