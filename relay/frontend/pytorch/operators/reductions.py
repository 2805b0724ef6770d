"""Sums, means and other reductions along axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay import dtypes, op
from relay.frontend.common.reshaping import product
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.promotion import (
    DEFAULT,
    accumulated,
    as_float,
    cast,
    category,
    truth,
    wide,
)
from relay.ir import dims
from relay.ir.expr import Expr, const

table = Converters()

Axes = Sequence[int] | int | None


def reduced(node: Node, operator: Any, data: Expr, axes: Sequence[int], keepdim: bool) -> Expr:
    """A reduction along axes; a scalar is its own reduction."""
    if not axes:
        return data
    return node.let(operator(data, axis=tuple(axes), keepdims=keepdim))


@table("sum")
def sum_(
    node: Node, self: Expr, dim: Axes = None, keepdim: bool = False, dtype: str | None = None
) -> Expr:
    data = accumulated(node, self, dtype)
    return total(node, data, node.axes(self, dim), keepdim)


def total(node: Node, data: Expr, axes: Sequence[int], keepdim: bool = False) -> Expr:
    """A sum, of narrow floats in float32."""
    dtype = node.dtype(data)
    if category(dtype) == 2 and dtypes.bits(dtype) < 32:
        whole = reduced(node, op.sum, node.as_dtype(data, DEFAULT), axes, keepdim)
        return node.as_dtype(whole, dtype)
    return reduced(node, op.sum, data, axes, keepdim)


@table("nansum")
def nansum(
    node: Node, self: Expr, dim: Axes = None, keepdim: bool = False, dtype: str | None = None
) -> Expr:
    data = accumulated(node, self, dtype)
    if category(node.dtype(data)) == 2:
        data = node.let(op.where(op.isnan(data), node.number(0, data), data))
    return total(node, data, node.axes(self, dim), keepdim)


@table("mean")
def mean(
    node: Node, self: Expr, dim: Axes = None, keepdim: bool = False, dtype: str | None = None
) -> Expr:
    data = self if dtype is None else cast(node, self, dtype)
    axes = node.axes(self, dim)
    return wide(node, data, lambda one: reduced(node, op.mean, one, axes, keepdim))


@table("nanmean")
def nanmean(
    node: Node, self: Expr, dim: Axes = None, keepdim: bool = False, dtype: str | None = None
) -> Expr:
    data = self if dtype is None else cast(node, self, dtype)
    axes = node.axes(self, dim)

    def found(one: Expr) -> Expr:
        missing = node.let(op.isnan(one))
        kept = node.let(op.where(missing, node.number(0, one), one))
        count = node.let(op.cast(op.logical_not(missing), node.dtype(one)))
        whole = reduced(node, op.sum, kept, axes, keepdim)
        return whole / reduced(node, op.sum, count, axes, keepdim)

    return wide(node, data, found)


@table("prod")
def prod(
    node: Node, self: Expr, dim: Axes = None, keepdim: bool = False, dtype: str | None = None
) -> Expr:
    data = accumulated(node, self, dtype)
    axes = node.axes(self, dim)
    if category(node.dtype(data)) < 2:
        return reduced(node, op.prod, data, axes, keepdim)
    return wide(node, data, lambda one: reduced(node, op.prod, one, axes, keepdim))


@table("all", "any")
def every(node: Node, self: Expr, dim: Axes = None, keepdim: bool = False) -> Expr:
    reduction = op.all if node.operator == "aten.all" else op.any
    axes = node.axes(self, dim)
    if isinstance(dim, list | tuple) and not dim:
        axes = [*range(node.rank(self))]
    found = reduced(node, reduction, truth(node, self), axes, keepdim)
    return node.as_dtype(found, "uint8") if node.dtype(self) == "uint8" else found


@table("count_nonzero")
def count_nonzero(node: Node, self: Expr, dim: Axes = None) -> Expr:
    flags = node.as_dtype(truth(node, self), "int64")
    return reduced(node, op.sum, flags, node.axes(self, dim), False)


@table("logsumexp", "special_logsumexp")
def logsumexp(node: Node, self: Expr, dim: Axes, keepdim: bool = False) -> Expr:
    axes = node.axes(self, dim)

    def found(data: Expr) -> Expr:
        if not axes:
            return data
        if 0 in node.shape(data):
            return op.log(node.let(op.sum(op.exp(data), axis=tuple(axes), keepdims=keepdim)))
        return log_sum_exp(node, data, axes, keepdim)

    return wide(node, self, found)


def log_sum_exp(node: Node, data: Expr, axes: Sequence[int], keepdim: bool) -> Expr:
    """Log-sum-exp, shifted by the maximum where that is finite."""
    greatest = node.let(op.max(data, axis=tuple(axes), keepdims=True))
    zero = node.number(0, data)
    ahead = node.let(op.where(op.isfinite(greatest), greatest, zero))
    found = op.log(op.sum(op.exp(data - ahead), axis=tuple(axes), keepdims=True)) + ahead
    return node.let(found if keepdim else op.squeeze(found, tuple(axes)))


# --- spread ------------------------------------------------------------------------------------


def count_of(node: Node, data: Expr, axes: Sequence[int], dtype: str) -> Expr:
    """The number of elements along axes as a scalar."""
    whole = product([node.shape(data)[axis] for axis in axes])
    if not isinstance(whole, dims.Any):
        return node.scalar(whole, dtype)
    found = node.scalar(1, "int64")
    for axis in axes:
        found = node.let(found * node.size(data, axis))
    return node.as_dtype(found, dtype)


def spread_of(
    node: Node, data: Expr, axes: Sequence[int], correction: float, keepdim: bool
) -> tuple[Expr, Expr]:
    """The variance and the mean of floats, of which narrow ones are computed in float32."""
    dtype = node.dtype(data)
    data = node.as_dtype(data, DEFAULT) if dtypes.bits(dtype) < 32 else data
    middle = reduced(node, op.mean, data, axes, True)
    apart = node.let(data - middle)
    whole = reduced(node, op.sum, node.let(apart * apart), axes, keepdim)
    count = count_of(node, data, axes, node.dtype(data))
    divisor = op.maximum(count - node.number(correction, count), node.number(0, count))
    if axes and not keepdim:
        middle = reduced(node, op.mean, data, axes, False)
    found = (node.let(whole / divisor), middle)
    variance, average = (node.as_dtype(one, dtype) for one in found)
    return variance, average


def _correction(unbiased: Any, correction: Any) -> float:
    if correction is not None:
        return float(correction)
    return 0.0 if unbiased is False else 1.0


def _measured(
    node: Node, self: Expr, dim: Any, unbiased: Any, keepdim: bool, correction: Any
) -> tuple[Expr, Expr]:
    if isinstance(dim, bool):  # the overload without axes
        dim, unbiased = None, dim
    data = as_float(node, self)
    axes = node.axes(self, dim)
    return spread_of(node, data, axes, _correction(unbiased, correction), keepdim)


@table("var", "std")
def var(
    node: Node,
    self: Expr,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Expr:
    found, _ = _measured(node, self, dim, unbiased, keepdim, correction)
    return op.sqrt(found) if node.operator == "aten.std" else found


@table("var_mean", "std_mean")
def var_mean(
    node: Node,
    self: Expr,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> list[Expr]:
    found, middle = _measured(node, self, dim, unbiased, keepdim, correction)
    return [op.sqrt(found) if node.operator == "aten.std_mean" else found, middle]


# --- extremes ----------------------------------------------------------------------------------


@table("amax", "amin")
def extreme(node: Node, self: Expr, dim: Axes = (), keepdim: bool = False) -> Expr:
    reduction = op.max if node.operator == "aten.amax" else op.min
    return extremes(node, reduction, self, node.axes(self, dim), keepdim)


def extremes(node: Node, operator: Any, data: Expr, axes: Sequence[int], keepdim: bool) -> Expr:
    """The largest or smallest elements; true is larger than false."""
    if node.dtype(data) != "bool":
        return reduced(node, operator, data, axes, keepdim)
    return reduced(node, op.any if operator is op.max else op.all, data, axes, keepdim)


@table("aminmax", "_aminmax")
def aminmax(node: Node, self: Expr, dim: int | None = None, keepdim: bool = False) -> list[Expr]:
    axes = node.axes(self, dim)
    return [extremes(node, one, self, axes, keepdim) for one in (op.min, op.max)]


@table("max.default", "min.default", "max.unary_out", "min.unary_out")
def extreme_of_all(node: Node, self: Expr) -> Expr:
    reduction = op.max if node.operator == "aten.max" else op.min
    return extremes(node, reduction, self, [*range(node.rank(self))], False)


@table("max.dim", "min.dim")
def extreme_and_place(node: Node, self: Expr, dim: int, keepdim: bool = False) -> list[Expr]:
    axis = node.axis(self, dim)
    is_max = node.operator == "aten.max"
    if node.rank(self) == 0:
        return [self, const(0, "int64")]
    values = extremes(node, op.max if is_max else op.min, self, [axis], keepdim)
    return [values, place_of_extreme(node, self, axis, keepdim, is_max=is_max)]


def place_of_extreme(node: Node, data: Expr, axis: int, keepdim: bool, *, is_max: bool) -> Expr:
    """The first position of the largest or the smallest element along an axis."""
    if node.dtype(data) == "bool":
        data = node.as_dtype(data, "uint8")
    search = op.argmax if is_max else op.argmin
    return node.let(op.cast(search(data, axis=axis, keepdims=keepdim), "int64"))


@table("argmax", "argmin")
def argmax(node: Node, self: Expr, dim: int | None = None, keepdim: bool = False) -> Expr:
    is_max = node.operator == "aten.argmax"
    rank = node.rank(self)
    if rank == 0:
        return const(0, "int64")
    if dim is not None:
        return place_of_extreme(node, self, node.axis(self, dim), keepdim, is_max=is_max)
    whole = node.let(op.reshape(self, (-1,)))
    found = place_of_extreme(node, whole, 0, False, is_max=is_max)
    return op.reshape(found, (1,) * rank) if keepdim else found
