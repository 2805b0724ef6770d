"""Norms along axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relay import dtypes, op
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.operators.reductions import reduced
from relay.frontend.pytorch.promotion import DEFAULT, cast
from relay.ir.expr import Expr

table = Converters()


def vector_norm(
    node: Node,
    data: Expr,
    order: float = 2,
    axes: Sequence[int] | None = None,
    keepdim: bool = False,
) -> Expr:
    """The norm of an order: the root of the sum of powers, a number of nonzeros, or an extreme."""
    dtype = node.dtype(data)
    axes = [*range(node.rank(data))] if axes is None else list(axes)
    data = node.as_dtype(data, DEFAULT) if dtypes.bits(dtype) < 32 else data
    found = _norm(node, data, float(order), axes, keepdim)
    return node.as_dtype(node.let(found), dtype)


def _norm(node: Node, data: Expr, order: float, axes: list[int], keepdim: bool) -> Expr:
    size = node.let(op.abs(data))
    if order == math.inf:
        return reduced(node, op.max, size, axes, keepdim)
    if order == -math.inf:
        return reduced(node, op.min, size, axes, keepdim)
    if order == 0:
        is_there = op.cast(op.not_equal(data, node.number(0, data)), node.dtype(data))
        return reduced(node, op.sum, node.let(is_there), axes, keepdim)
    if order == 1:
        return reduced(node, op.sum, size, axes, keepdim)
    if order == 2:
        return op.sqrt(reduced(node, op.sum, node.let(data * data), axes, keepdim))
    power = node.number(order, data)
    whole = reduced(node, op.sum, node.let(op.power(size, power)), axes, keepdim)
    return op.power(whole, node.number(1.0 / order, data))


@table("linalg_vector_norm")
def linalg_vector_norm(
    node: Node,
    self: Expr,
    ord: float = 2,
    dim: Sequence[int] | int | None = None,
    keepdim: bool = False,
    dtype: str | None = None,
) -> Expr:
    data = self if dtype is None else cast(node, self, dtype)
    return vector_norm(node, data, ord, node.axes(self, dim), keepdim)


@table("norm", "_norm")
def norm(
    node: Node,
    self: Expr,
    p: float | None = 2,
    dim: Sequence[int] | int | None = None,
    keepdim: bool = False,
    dtype: str | None = None,
) -> Expr:
    data = self if dtype is None else cast(node, self, dtype)
    return vector_norm(node, data, 2 if p is None else p, node.axes(self, dim), keepdim)


@table("norm.ScalarOpt_dtype")
def norm_of_all(node: Node, self: Expr, p: float | None, dtype: str) -> Expr:
    return norm(node, self, p, dtype=dtype)


@table("renorm")
def renorm(node: Node, self: Expr, p: float, dim: int, maxnorm: float) -> Expr:
    """Parts along an axis scaled down to a norm."""
    axis = node.axis(self, dim)
    axes = [one for one in range(node.rank(self)) if one != axis]
    size = vector_norm(node, self, p, axes, True)
    most = node.number(maxnorm, size)
    factor = most / (size + node.number(1e-7, size))
    return self * op.where(size > most, factor, node.number(1, size))
