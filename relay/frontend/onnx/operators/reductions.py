"""Reductions along axes, which are an attribute, and later an input.

Where the axes are known at run time only, the elements of each result are gathered into a row:

    data: Tensor[(2, 3, 4)], axes = [1]      rows: Tensor[(8, 3)], each reduced to one element
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from relay import dtypes, op
from relay.frontend.common.builder import int64
from relay.frontend.common.checking import axes_within
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.ranks import expected_rank
from relay.ir.expr import Expr

table = Converters()

Axes = tuple[int, ...]
Unary = Callable[[Expr], Expr]
# (node, data, axes, keepdims) -> the reduced tensor
Reduction = Callable[[Node, Expr, Axes, bool], Expr]


def _plain(operator: op.OpDef) -> Reduction:
    """A reduction by one operator."""

    def reduced(node: Node, data: Expr, axes: Axes, keepdims: bool) -> Expr:
        return operator(data, axis=axes, keepdims=keepdims) if axes else data

    return reduced


_sum = _plain(op.sum)


def _sum_of(before: Unary, after: Unary = lambda total: total) -> Reduction:
    """A function of the sum of a function of the elements."""
    return lambda node, data, axes, keepdims: after(_sum(node, before(data), axes, keepdims))


def _log_sum_exp(node: Node, data: Expr, axes: Axes, keepdims: bool) -> Expr:
    """Log-sum-exp, shifted by the maximum where that is finite."""
    if not axes:
        return data
    greatest = node.let(op.max(data, axis=axes, keepdims=True))
    ahead = node.let(op.where(op.isfinite(greatest), greatest, op.zeros_like(greatest)))
    total = op.sum(op.exp(data - ahead), axis=axes, keepdims=True)
    found = op.log(total) + ahead
    return found if keepdims else op.squeeze(found, axes)


def _as_float(reduction: Reduction) -> Reduction:
    """A reduction computed in float32 or float64, for integers and narrow floats too."""

    def reduced(node: Node, data: Expr, axes: Axes, keepdims: bool) -> Expr:
        dtype = node.dtype(data)
        if dtype in ("float32", "float64"):
            return reduction(node, data, axes, keepdims)
        is_large = dtypes.is_integer(dtype) and dtypes.bits(dtype) > 16
        wide = node.let(op.cast(data, "float64" if is_large else "float32"))
        return op.cast(reduction(node, wide, axes, keepdims), dtype)

    return reduced


REDUCTIONS: Mapping[str, Reduction] = {
    "ReduceSum": _sum,
    "ReduceProd": _plain(op.prod),
    "ReduceMax": _plain(op.max),
    "ReduceMin": _plain(op.min),
    "ReduceMean": _plain(op.mean),
    "ReduceL1": _sum_of(op.abs),
    "ReduceL2": _as_float(_sum_of(lambda data: data * data, op.sqrt)),
    "ReduceLogSum": _as_float(_sum_of(lambda data: data, op.log)),
    "ReduceLogSumExp": _as_float(_log_sum_exp),
    "ReduceSumSquare": _sum_of(lambda data: data * data),
}


def _convert(reduction: Reduction, node: Node, data: Expr, axes: Expr | None = None) -> Expr:
    """The axes are an attribute; from version 18 on, or 13 for ReduceSum, an input."""
    rank = node.rank(data)
    if node.version < (13 if node.operator == "ReduceSum" else 18):
        chosen = node.attribute("axes") or range(rank)
    else:
        known = () if axes is None or node.shape(axes) == (0,) else node.constant(axes)
        if known is None:
            assert axes is not None
            return _along_dynamic_axes(reduction, node, data, axes)
        chosen = [*np.ravel(known)]
        if not chosen and not node.attribute("noop_with_empty_axes", 0):
            chosen = range(rank)
    positions = tuple(sorted(node.axes_of(chosen, rank, distinct=True)))
    return reduction(node, data, positions, _keeps(node))


def _keeps(node: Node) -> bool:
    return bool(node.attribute("keepdims", 1))


for _name, _reduction in REDUCTIONS.items():
    table.add(_name, partial(_convert, _reduction))


def _along_dynamic_axes(reduction: Reduction, node: Node, data: Expr, axes: Expr) -> Expr:
    rank, keepdims = node.rank(data), _keeps(node)
    node.must_have_axes(axes, 1, "axes")
    if node.has_dynamic_length(axes) and not keepdims and (left := expected_rank(node)) is not None:
        axes = node.of_length(axes, rank - left, "axes")
    (count,) = node.shape(axes)
    if not isinstance(count, int) and not keepdims:
        left = expected_rank(node)
        if left is None or not 0 < rank - left <= rank:
            raise node.refused(
                "how many axes go must be known before the model runs",
                "a result that is declared with a number of axes",
                str(node.type_of(axes)),
                "keepdims=1 leaves the number of axes as it is",
            )
        count = rank - left
        axes = node.of_length(axes, count, "the axes")
    if isinstance(count, int) and count > rank:
        raise node.refused("an axis is named twice", f"axes of {rank}", f"{count} axes")
    axes = axes_within(node, axes, rank, different=True)
    gone = _mask(node, data, axes)
    extents = node.let(op.shape_of(data, dtype="int64"))
    one = int64(1)
    kept = node.let(op.where(gone, one, extents))
    steps = node.let(_steps(extents))
    starts = _offsets(node, kept, steps)
    within = _offsets(node, node.let(op.where(gone, extents, one)), steps)
    positions = op.expand_dims(starts, 1) + op.expand_dims(within, 0)
    rows = node.let(op.take(op.reshape(data, (-1,)), positions, axis=0))
    results = reduction(node, rows, (1,), False)
    if not keepdims:
        assert isinstance(count, int)
        kept = op.take(extents, places_of(node, op.logical_not(gone), rank - count), axis=0)
    return op.reshape(results, kept, allowzero=True)


def _mask(node: Node, data: Expr, axes: Expr) -> Expr:
    """Which axes are named; if none is, all or none, by `noop_with_empty_axes`."""
    rank = node.rank(data)
    from_front = op.where(axes < int64(0), axes + int64(rank), axes)
    all_axes = op.arange(int64(rank), dtype="int64")
    matches = node.let(op.equal(op.expand_dims(all_axes, 1), op.expand_dims(from_front, 0)))
    named = node.let(op.any(matches, axis=1))
    if isinstance(node.shape(matches)[1], int) or node.attribute("noop_with_empty_axes", 0):
        return named
    return node.let(op.logical_or(named, op.logical_not(op.any(named))))


def _steps(extents: Expr) -> Expr:
    """The strides of each axis."""
    return op.reverse(op.cumprod(op.reverse(extents, axis=0), axis=0, exclusive=True), axis=0)


def _offsets(node: Node, extents: Expr, steps: Expr) -> Expr:
    """The offsets in memory of the elements of a part with these extents, in order."""
    count = node.let(op.prod(extents, axis=0))
    numbers = node.let(op.expand_dims(op.arange(count, dtype="int64"), 1))
    own = op.expand_dims(_steps(extents), 0)
    digits = op.floor_mod(op.floor_divide(numbers, own), op.expand_dims(extents, 0))
    return node.let(op.sum(digits * op.expand_dims(steps, 0), axis=1))


def places_of(node: Node, mask: Expr, count: int) -> Expr:
    """The positions of the first `count` true elements of a mask."""
    so_far = op.cumsum(op.cast(mask, "int64"), axis=0)
    numbers = op.arange(int64(count), dtype="int64")
    before = op.expand_dims(so_far, 0) <= op.expand_dims(numbers, 1)
    return op.sum(op.cast(before, "int64"), axis=1)


@table("LpNormalization")
def lp_normalization(node: Node, data: Expr) -> Expr:
    """Elements divided by the norm along an axis; zeros stay."""
    axis, power = node.axis(data, -1), node.attribute("p", 2)
    if power not in (1, 2):
        raise node.refused("there is no such norm", "p = 1 or p = 2", f"p = {power}")
    norm = node.let(REDUCTIONS[f"ReduceL{power}"](node, data, (axis,), True))
    is_zero = op.equal(norm, node.number(0, norm))
    return data / op.where(is_zero, node.number(1, norm), norm)


__all__ = ["REDUCTIONS", "table"]
