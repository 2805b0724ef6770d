"""Sorting, top-k, searches, quantiles."""

from __future__ import annotations

from typing import Any

from relay import dtypes, op
from relay.frontend.keras.converters import Operations
from relay.frontend.keras.node import Node
from relay.frontend.keras.operations.reductions import axes_of, keeps
from relay.frontend.keras.promotion import floating, promoted
from relay.ir.expr import Expr, const

table = Operations()


@table("numpy.Sort", "numpy.Argsort")
def sort(node: Node, x: Expr) -> Expr:
    axis: Any = node.config.get("axis", -1)
    data = node.as_dtype(x, "int32") if node.dtype(x) == "bool" else x
    if axis is None:
        data, axis = node.let(op.reshape(data, (-1,))), 0
    axis = node.axis_of(int(axis), node.rank(data))
    if node.operator == "Argsort":
        return op.argsort(data, axis=axis, dtype="int32")
    return node.as_dtype(node.let(op.sort(data, axis=axis)), node.dtype(x))


@table("math.TopK")
def top_k(node: Node, x: Expr) -> Any:
    return op.topk(x, node.option("k", 1), axis=-1, ret_type="both", is_ascend=False, dtype="int32")


@table("math.InTopK")
def in_top_k(node: Node, targets: Expr, predictions: Expr) -> Expr:
    """Whether fewer than k scores are higher than that of the target."""
    places = node.let(op.expand_dims(node.as_dtype(targets, "int64"), 1))
    own = node.let(op.gather(predictions, 1, places))
    higher = op.sum(op.cast(op.greater(predictions, own), "int32"), axis=(1,))
    return op.less(higher, const(node.option("k", 1), "int32"))


@table("numpy.SearchSorted", "numpy.Digitize")
def search_sorted(node: Node, first: Any, second: Any, **_: Any) -> Expr:
    if node.operator == "Digitize":
        bins, values, right = second, first, True
    else:
        bins, values, right = first, second, node.option("side", "left") == "right"
    ordered, data = promoted(node, bins, values)
    return op.searchsorted(ordered, data, right=right, dtype="int32")


@table("numpy.Median", "numpy.Quantile", "numpy.Percentile")
def quantile(node: Node, x: Expr, q: Any = 0.5) -> Expr:
    """Quantiles, by interpolation between sorted elements."""
    if not isinstance(q, int | float):
        raise node.refused("the share must be a number that is known before the model runs")
    share = float(q) / 100 if node.operator == "Percentile" else float(q)
    method = node.option("method", "linear")
    data, axes = floating(node, x), axes_of(node, x)
    rank = node.rank(data)
    order = [axis for axis in range(rank) if axis not in axes] + list(axes)
    moved = node.let(op.transpose(data, tuple(order)))
    kept = rank - len(axes)
    for _ in axes[1:]:
        moved = node.let(op.reshape(moved, (*[0] * kept, -3, *[0] * (node.rank(moved) - kept - 2))))
    count = node.static_extent(moved, -1, "how many elements there are")
    ordered = node.let(op.sort(moved, axis=-1))
    place = share * (count - 1)
    low = int(place)
    high = min(low + 1, count - 1)
    part = place - low
    match method:
        case "linear":
            weight = part
        case "lower":
            weight = 0.0
        case "higher":
            weight = 1.0 if part else 0.0
        case "midpoint":
            weight = 0.5 if part else 0.0
        case "nearest":
            weight = float(round(place) - low)
        case _:
            raise node.refused("there is no such method", found=method)
    one, other = (op.take(ordered, const(at, "int64"), axis=kept) for at in (low, high))
    found = node.let(one * node.number(1 - weight, data) + other * node.number(weight, data))
    if keeps(node):
        for axis in sorted(axes):
            found = node.let(op.expand_dims(found, axis))
    return found


@table("numpy.IsIn")
def is_in(node: Node, x1: Any, x2: Any) -> Expr:
    data, words = promoted(node, x1, x2)
    flat = node.let(op.reshape(words, (-1,)))
    found = op.any(op.equal(op.expand_dims(data, node.rank(data)), flat), axis=(-1,))
    return op.logical_not(found) if node.option("invert", False) else found


@table("numpy.Diff")
def diff(node: Node, a: Expr) -> Expr:
    axis = node.axis_of(node.option("axis", -1), node.rank(a))
    for _ in range(node.option("n", 1)):
        later = op.strided_slice(a, [1], [2**31 - 1], axes=(axis,))
        earlier = op.strided_slice(a, [0], [-1], axes=(axis,))
        combine = op.not_equal if node.dtype(a) == "bool" else op.subtract
        a = node.let(combine(later, earlier))
    return a


@table("math.SegmentSum", "math.SegmentMax")
def segments(node: Node, data: Expr, segment_ids: Expr) -> Expr:
    """segment_sum, segment_max: rows combined by segment."""
    count = node.config.get("num_segments")
    if not isinstance(count, int):
        raise node.refused("how many segments there are must be known", hint="give num_segments")
    numbers = node.as_dtype(segment_ids, "int64")
    shape = node.static_shape(data, "data")[1:]
    if node.operator == "SegmentSum":
        begin, mode = node.zeros((count, *shape), node.dtype(data)), "add"
    else:
        lowest = float("-inf") if dtypes.is_float(node.dtype(data)) else -(2**31)
        begin = node.let(op.full(node.number(lowest, data), (count, *shape), node.dtype(data)))
        mode = "max"
    places = node.let(op.expand_dims(numbers, 0))
    return op.scatter_nd(begin, places, data, mode)
