"""Selection, search and scatter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.indices import in_range
from relay.frontend.common.segments import segments_of
from relay.frontend.common.slices import updated
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.ir.dims import ANY
from relay.ir.expr import Expr, TupleGetItem, as_expr, const
from relay.ir.types import TensorType, TupleType

table = Table()


@table("TopK", "TopKV2")
def topk(node: Node, data: Expr, count: Expr | None = None) -> Sequence[Expr]:
    """The largest elements of rows; their number may be computed."""
    dtype = node.named_type("index_type", "int32")
    known = node.integer("k") if count is None else _number(node, count)
    if known is not None:
        if known == 0:  # would be all of them in Relay
            none = node.let(op.strided_slice(data, [0], [0], axes=(node.rank(data) - 1,)))
            return [none, op.cast(none, dtype)]
        found = op.topk(data, k=known, axis=-1, ret_type="both", dtype=dtype)
        return node.fields(as_expr(found), 2)
    assert count is not None
    number = node.scalar(count)
    shape = (*node.shape(data)[:-1], ANY)
    kinds = (node.dtype(data), dtype)
    declared = TupleType(tuple(TensorType(shape, one) for one in kinds))
    chosen = op.topk(data, k=number, axis=-1, ret_type="both", dtype=dtype)
    whole = node.let(as_expr(chosen), declared=declared)
    # for 0, `topk` gives all elements
    end = node.let(op.reshape(op.cast(number, "int64"), (1,)))
    axes = (node.rank(data) - 1,)
    return [
        node.declare(
            op.strided_slice(TupleGetItem(whole, place), int64([0]), end, axes=axes), shape, kind
        )
        for place, kind in enumerate(kinds)
    ]


def _number(node: Node, value: Expr) -> int | None:
    known = node.known.of(value)
    return known[0] if known is not None and isinstance(known[0], int) else None


@table("InTopK", "InTopKV2")
def in_top_k(node: Node, scores: Expr, classes: Expr, count: Expr | None = None) -> Expr:
    """Whether fewer than k scores are larger than that of a class."""
    number = const(node.integer("k"), "int32") if count is None else node.scalar(count)
    rows = node.as_dtype(classes, "int64")
    own = node.let(op.take(scores, rows, axis=1, batch_dims=1, mode="clip"))
    larger = op.greater(scores, op.expand_dims(own, 1))
    before = op.sum(op.cast(larger, "int32"), axis=(1,))
    return op.logical_and(before < op.cast(number, "int32"), op.isfinite(own))


@table("OneHot")
def one_hot(node: Node, positions: Expr, depth: Expr, on: Expr, off: Expr) -> Expr:
    high, low = node.scalar(on), node.scalar(off)
    known = _number(node, depth)
    axis = node.integer("axis", -1)
    if known is None:
        raise node.refused("how many positions there are must be known before the model runs")
    return op.one_hot(positions, high, low, known, axis=axis, dtype=node.dtype(on))


@table("Where")
def where(node: Node, condition: Expr) -> Expr:
    return op.cast(op.argwhere(condition), "int64")


@table("Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2")
def unique(node: Node, data: Expr, axis: Expr | None = None) -> Sequence[Expr]:
    """Values in the order in which they appear first, where each element is among them, and how
    often they are there."""
    if axis is not None and node.shape(axis) != (0,):
        place = node.axis(axis, node.rank(data))
        if place or node.rank(data) > 1:
            raise node.refused("slices along an axis are not translated", "a vector")
    found = op.unique(data, is_sorted=False, return_counts=True)
    values, _, inverse, count, counts = node.fields(found.astuple(), 5)
    last = node.let(op.reshape(op.cast(count, "int64"), (1,)))
    dtype = node.named_type("out_idx", "int32")

    def cut(one: Expr) -> Expr:
        kept = op.strided_slice(one, int64([0]), last, axes=(0,))
        return node.declare(kept, (None,), node.dtype(one))

    given = [cut(values), op.cast(inverse, dtype)]
    return [*given, op.cast(cut(counts), dtype)] if "Counts" in node.operator else given


# --- what is written -----------------------------------------------------------------------------


def by_axis(node: Node, positions: Expr) -> Expr:
    """Indices with their last axis, which runs over the axes of data, moved to the front."""
    last = node.rank(positions) - 1
    return node.let(op.transpose(positions, (last, *range(last))))


@table("ScatterNd")
def scatter_nd(node: Node, positions: Expr, updates: Expr, shape: Expr) -> Expr:
    """ScatterNd: updates of the same element are added."""
    whole = node.filled(node.number(0, updates), shape)
    return op.scatter_nd(whole, by_axis(node, positions), updates, mode="add")


_MODES = {"Update": "update", "Add": "add", "Sub": "add", "Max": "max", "Min": "min"}


@table(*(f"TensorScatter{name}" for name in _MODES), "ScatterNdNonAliasingAdd")
def tensor_scatter(node: Node, data: Expr, positions: Expr, updates: Expr) -> Expr:
    name = node.operator.removeprefix("TensorScatter")
    if name == "Sub":
        updates = node.let(op.negative(updates))
    depth = node.static_extent(positions, -1, "how many axes are indexed")
    at = in_range(node, by_axis(node, positions), data, range(depth))
    return op.scatter_nd(data, at, updates, mode=_MODES.get(name, "add"))


@table("TensorStridedSliceUpdate")
def strided_slice_update(
    node: Node, data: Expr, begin: Expr, end: Expr, strides: Expr, value: Expr
) -> Expr:
    """Masks are those of a slice; only whole axes and single elements are translated."""
    known = [node.numbers(one, "the bounds") for one in (begin, end, strides)]
    masks = {
        name: node.integer(f"{name}_mask")
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    if masks["ellipsis"] or masks["new_axis"] or min(known[2], default=1) < 1:
        raise node.refused("a slice of this kind is not written to")
    first, last, steps, shrunk = [], [], [], []
    for axis, (low, high, step) in enumerate(zip(*known, strict=True)):
        extent = node.static_extent(data, axis, "the extents of data")
        if masks["shrink_axis"] >> axis & 1:
            low = low % extent
            low, high, step = low, low + 1, 1
            shrunk.append(axis)
        else:
            start, stop, step = slice(
                None if masks["begin"] >> axis & 1 else low,
                None if masks["end"] >> axis & 1 else high,
                step,
            ).indices(extent)
            low, high = start, max(start, stop)
        first.append(low)
        last.append(high)
        steps.append(step)
    for axis in range(len(first), node.rank(data)):
        extent = node.static_extent(data, axis, "the extents of data")
        first, last, steps = [*first, 0], [*last, extent], [*steps, 1]
    shape = [-(-(high - low) // by) for low, high, by in zip(first, last, steps, strict=True)]
    kept = [one for axis, one in enumerate(shape) if axis not in shrunk]
    whole = op.reshape(op.broadcast_to(value, kept), shape)
    return op.strided_set(data, whole, first, last, steps)


@table("DynamicStitch", "ParallelDynamicStitch")
def dynamic_stitch(node: Node, *inputs: Expr) -> Expr:
    """DynamicStitch: rows of all parts at their indices; later parts win."""
    half = len(inputs) // 2
    indices, parts = inputs[:half], inputs[half:]
    if not half or len(inputs) % 2:
        raise node.refused("there are as many indices as parts")
    flat = [node.let(op.reshape(one, (-1,))) for one in indices]
    places = node.let(op.concatenate([op.cast(one, "int64") for one in flat], axis=0))
    rank = node.rank(indices[0])
    rest = node.static_shape(parts[0], "parts")[rank:]
    rows = [node.let(op.reshape(one, (-1, *rest))) for one in parts]
    known = node.constant(places)
    if known is not None:
        size: Expr = node.let(int64(int(known.max(initial=-1)) + 1))
    else:
        nonempty = op.concatenate([places, int64([-1])], axis=0)
        size = node.let(op.max(nonempty, axis=0) + int64(1))
    ends = [op.reshape(size, (1,)), int64(list(rest))]
    shape = node.let(op.concatenate(ends, axis=0))
    whole = node.filled(node.number(0, parts[0]), shape)
    updates = node.let(op.concatenate(rows, axis=0))
    return op.scatter_nd(whole, op.expand_dims(places, 0), updates, mode="update")


@table("XlaDynamicUpdateSlice")
def dynamic_update_slice(node: Node, data: Expr, update: Expr, start: Expr) -> Expr:
    return updated(node, data, update, start)


@table("DynamicPartition")
def dynamic_partition(node: Node, data: Expr, which: Expr) -> list[Expr]:
    """The rows of each part, in order."""
    rank = node.rank(which)
    if rank != 1:
        for _ in range(rank - 1):
            data = node.let(op.reshape(data, (-3, *((-2,) if node.rank(data) > 2 else ()))))
        which = node.let(op.reshape(which, (-1,)))
    found: list[Expr] = []
    for number in range(node.integer("num_partitions", 1)):
        own = op.argwhere(op.equal(which, node.number(number, which)))
        rows = node.let(op.reshape(own, (-1,)))
        found.append(op.take(data, rows, axis=0))
    return found


@table("NthElement")
def nth_element(node: Node, data: Expr, number: Expr) -> Expr:
    ordered = node.let(op.sort(data, axis=-1, is_ascend=not node.flag("reverse")))
    return op.take(ordered, in_range(node, node.scalar(number), data, [-1]), axis=-1)


@table("UnravelIndex")
def unravel_index(node: Node, indices: Expr, shape: Expr) -> Expr:
    return op.unravel_index(indices, shape)


# --- segments ------------------------------------------------------------------------------------

_SEGMENTS = ("Sum", "Prod", "Max", "Min")
_KINDS = (("UnsortedSegment", ""), ("Segment", "V2"))


@table(*(f"{kind}{name}{end}" for kind, end in _KINDS for name in _SEGMENTS))
def unsorted_segment(node: Node, data: Expr, segments: Expr, count: Expr) -> Expr:
    """UnsortedSegment reductions; rows with a negative segment are dropped."""
    number = node.sizes(count)
    kind = node.operator.removeprefix("Unsorted").removeprefix("Segment").removesuffix("V2").upper()
    return segments_of(node, data, segments, number, kind)


@table(*(f"Segment{name}" for name in _SEGMENTS), "SegmentMean")
def segment(node: Node, data: Expr, segments: Expr) -> Expr:
    """Segments are in order: the last one says how many there are. One that is left out is 0, a
    product 1."""
    most = op.max(op.concatenate([int64([-1]), op.cast(segments, "int64")], axis=0), axis=0)
    count = node.let(op.reshape(most + int64(1), (1,)))
    kind = node.operator.removeprefix("Segment").upper()
    sums = node.let(segments_of(node, data, segments, count, "SUM" if kind == "MEAN" else kind))
    if kind in ("SUM", "PROD"):
        return sums
    ones = node.let(op.ones_like(segments))
    sizes = node.let(segments_of(node, ones, segments, count, "SUM"))
    more = node.rank(data) - 1
    wide = node.let(op.expand_dims(sizes, 1, num_newaxis=more) if more else sizes)
    if kind == "MEAN":
        return sums / op.cast(op.maximum(wide, node.number(1, wide)), node.dtype(data))
    return op.where(wide > node.number(0, wide), sums, node.number(0, sums))


# --- order ---------------------------------------------------------------------------------------


@table("LowerBound", "UpperBound")
def bound(node: Node, rows: Expr, values: Expr) -> Expr:
    """LowerBound, UpperBound: insertion positions of values in sorted rows."""
    dtype = node.named_type("out_type", "int32")
    right = node.operator == "UpperBound"
    return op.searchsorted(rows, values, right=right, dtype=dtype)


@table("Bucketize")
def bucketize(node: Node, data: Expr) -> Expr:
    bounds = const(np.array(node.attribute("boundaries", [], list), "float32"), "float32")
    return op.searchsorted(bounds, node.as_dtype(data, "float32"), right=True, dtype="int32")


@table("ListDiff")
def list_diff(node: Node, data: Expr, without: Expr) -> Sequence[Expr]:
    """The elements that are not among others, and where they are."""
    same = op.equal(op.expand_dims(data, 1), op.expand_dims(without, 0))
    is_left = node.let(op.logical_not(op.any(same, axis=(1,))))
    places = node.let(op.reshape(op.argwhere(is_left), (-1,)))
    return [
        op.take(data, places, axis=0),
        op.cast(places, node.named_type("out_idx", "int32")),
    ]
