"""Many elements to one along some axes: sums, extrema, norms.

The axes are an attribute, and later an input. Where a run finds them, the elements are put into
rows first, one row for each result:

    data: Tensor[(2, 3, 4)], axes = [1]      rows: Tensor[(8, 3)], each reduced to one element
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from relay import dtypes, op
from relay.frontend.onnx.computations.checking import axes_within
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.indexing import chosen_axis
from relay.frontend.onnx.ranks import expected_rank
from relay.ir.expr import Expr, const

table = Converters()

Axes = tuple[int, ...]
# (node, data, axes, keepdims) -> the elements that are left
Reduction = Callable[[Node, Expr, Axes, bool], Expr]

# --- the reductions ----------------------------------------------------------------------------


def _plain(operator: op.OpDef) -> Reduction:
    """The reduction that one operator is."""

    def reduced(node: Node, data: Expr, axes: Axes, keepdims: bool) -> Expr:
        return operator(data, axis=axes, keepdims=keepdims) if axes else data

    return reduced


_sum = _plain(op.sum)


def _l1(node: Node, data: Expr, axes: Axes, keepdims: bool) -> Expr:
    return _sum(node, op.abs(data), axes, keepdims)


def _sum_square(node: Node, data: Expr, axes: Axes, keepdims: bool) -> Expr:
    return _sum(node, op.multiply(data, data), axes, keepdims)


def _l2(node: Node, data: Expr, axes: Axes, keepdims: bool) -> Expr:
    return op.sqrt(_sum_square(node, data, axes, keepdims))


def _log_sum(node: Node, data: Expr, axes: Axes, keepdims: bool) -> Expr:
    return op.log(_sum(node, data, axes, keepdims))


def _log_sum_exp(node: Node, data: Expr, axes: Axes, keepdims: bool) -> Expr:
    """The exponentials are of what the greatest is ahead, so that none overflows; where that is
    infinite, they are what they are."""
    if not axes:
        return data
    greatest = node.let(op.max(data, axis=axes, keepdims=True))
    ahead = node.let(op.where(op.isfinite(greatest), greatest, op.zeros_like(greatest)))
    total = op.sum(op.exp(op.subtract(data, ahead)), axis=axes, keepdims=True)
    found = op.add(op.log(total), ahead)
    return found if keepdims else op.squeeze(found, axes)


def _as_float(reduction: Reduction) -> Reduction:
    """A reduction on the way of which numbers have fractions, or are far greater than its result:
    narrow floats and integers are converted, and the result is converted back."""

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
    "ReduceL1": _l1,
    "ReduceL2": _as_float(_l2),
    "ReduceLogSum": _as_float(_log_sum),
    "ReduceLogSumExp": _as_float(_log_sum_exp),
    "ReduceSumSquare": _sum_square,
}

# --- their axes --------------------------------------------------------------------------------


def _by_attribute(reduction: Reduction, node: Node, data: Expr) -> Expr:
    axes = node.attribute("axes") or range(node.rank(data))
    return reduction(node, data, _from_front(node, data, axes), _keeps(node))


def _by_input(reduction: Reduction, node: Node, data: Expr, axes: Expr | None = None) -> Expr:
    known = () if axes is None or node.shape(axes) == (0,) else node.constant(axes)
    if known is None:
        assert axes is not None
        return _of_rows(reduction, node, data, axes)
    chosen = [int(one) for one in np.ravel(known)]
    if not chosen and not node.attribute("noop_with_empty_axes", 0):
        chosen = [*range(node.rank(data))]
    return reduction(node, data, _from_front(node, data, chosen), _keeps(node))


def _keeps(node: Node) -> bool:
    return bool(node.attribute("keepdims", 1))


def _from_front(node: Node, data: Expr, axes: object) -> Axes:
    rank = node.rank(data)
    chosen = [int(axis) for axis in axes]  # type: ignore[attr-defined]
    if not all(-rank <= axis < rank for axis in chosen):
        raise node.refused("an axis is out of range", f"axes of {rank}", str(chosen))
    places = sorted(axis % rank for axis in chosen)
    if len(set(places)) < len(places):
        raise node.refused("an axis is named twice", "different axes", str(chosen))
    return tuple(places)


for _name, _reduction in REDUCTIONS.items():
    table.add(_name, partial(_by_attribute, _reduction))
    table.add(_name, partial(_by_input, _reduction), since=13 if _name == "ReduceSum" else 18)

# --- axes that a run finds ---------------------------------------------------------------------


def _of_rows(reduction: Reduction, node: Node, data: Expr, axes: Expr) -> Expr:
    rank, keepdims = node.rank(data), _keeps(node)
    node.must_have_axes(axes, 1, "axes")
    if node.has_open_length(axes) and not keepdims and (left := expected_rank(node)) is not None:
        axes = node.of_length(axes, rank - left, "axes")
    (count,) = node.shape(axes)
    if not isinstance(count, int) and not keepdims:
        left = expected_rank(node)
        if left is None or not 0 < rank - left <= rank:
            raise node.refused(
                "how many axes go must be known before the model runs",
                expected="a result that is declared with a number of axes",
                found=str(node.type_of(axes)),
                hint="keepdims=1 leaves the number of axes as it is",
            )
        count = rank - left
        axes = node.of_length(axes, count, "the axes")
    if isinstance(count, int) and count > rank:
        raise node.refused("an axis is named twice", f"axes of {rank}", f"{count} axes")
    axes = axes_within(node, axes, rank, different=True)
    gone = _mask(node, data, axes)
    extents = node.let(op.shape_of(data, dtype="int64"))
    one = const(1, "int64")
    kept = node.let(op.where(gone, one, extents))
    steps = node.let(_steps(extents))
    starts = _offsets(node, kept, steps)
    within = _offsets(node, node.let(op.where(gone, extents, one)), steps)
    places = op.add(op.expand_dims(starts, 1), op.expand_dims(within, 0))
    rows = node.let(op.take(op.reshape(data, (-1,)), places, axis=0))
    results = reduction(node, rows, (1,), False)
    if not keepdims:
        assert isinstance(count, int)
        kept = op.take(extents, places_of(node, op.logical_not(gone), rank - count), axis=0)
    return op.reshape(results, kept, allowzero=True)


def _mask(node: Node, data: Expr, axes: Expr) -> Expr:
    """Which axes are among those named; if none is named, all or none."""
    rank = node.rank(data)
    places = op.where(op.less(axes, const(0, "int64")), op.add(axes, const(rank, "int64")), axes)
    every = op.arange(const(rank, "int64"), dtype="int64")
    hits = node.let(op.equal(op.expand_dims(every, 1), op.expand_dims(places, 0)))
    named = node.let(op.any(hits, axis=1))
    if isinstance(node.shape(hits)[1], int) or node.attribute("noop_with_empty_axes", 0):
        return named
    return node.let(op.logical_or(named, op.logical_not(op.any(named))))


def _steps(extents: Expr) -> Expr:
    """How far apart neighbours along each axis are."""
    return op.reverse(op.cumprod(op.reverse(extents, axis=0), axis=0, exclusive=True), axis=0)


def _offsets(node: Node, extents: Expr, steps: Expr) -> Expr:
    """Where the elements of a part with these extents stand in all data, in order."""
    count = node.let(op.prod(extents, axis=0))
    numbers = node.let(op.expand_dims(op.arange(count, dtype="int64"), 1))
    own = op.expand_dims(_steps(extents), 0)
    digits = op.floor_mod(op.floor_divide(numbers, own), op.expand_dims(extents, 0))
    return node.let(op.sum(op.multiply(digits, op.expand_dims(steps, 0)), axis=1))


def places_of(node: Node, mask: Expr, count: int) -> Expr:
    """The places of the first so many that hold: before each are all that have fewer up to them."""
    so_far = op.cumsum(op.cast(mask, "int64"), axis=0)
    numbers = op.arange(const(count, "int64"), dtype="int64")
    before = op.less_equal(op.expand_dims(so_far, 0), op.expand_dims(numbers, 1))
    return op.sum(op.cast(before, "int64"), axis=1)


# --- norms -------------------------------------------------------------------------------------


@table("LpNormalization")
def lp_normalization(node: Node, data: Expr) -> Expr:
    """Elements divided by the norm of all along an axis; zeros stay."""
    axis, power = chosen_axis(node, data, -1), node.attribute("p", 2)
    if power not in (1, 2):
        raise node.refused("there is no such norm", "p = 1 or p = 2", f"p = {power}")
    norm = node.let((_l1 if power == 1 else _as_float(_l2))(node, data, (axis,), True))
    is_zero = op.equal(norm, node.number(0, norm))
    return op.divide(data, op.where(is_zero, node.number(1, norm), norm))


__all__ = ["REDUCTIONS", "table"]
