"""Concatenation, slices, splits and selections of parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import op
from relay.frontend.common.broadcast import best_known, joinable, of_shape
from relay.frontend.common.builder import int64
from relay.frontend.common.indices import in_range
from relay.frontend.common.slices import MASKS, Slices, sliced
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.frontend.tensorflow.operators.shaping import moved
from relay.frontend.tensorflow.values import Complex, Value
from relay.ir.expr import Expr

table = Table()


@table("ConcatV2", "Concat")
def concatenation(node: Node, *inputs: Expr | Complex) -> Value:
    """Concat; the axis is the last input of ConcatV2, the first of Concat."""
    *parts, axis = inputs if node.operator == "ConcatV2" else (*inputs[1:], inputs[0])
    if not parts or isinstance(axis, Complex):
        raise node.refused("there is nothing to join")
    if any(isinstance(one, Complex) for one in parts):
        pairs = [one for one in parts if isinstance(one, Complex)]
        if len(pairs) < len(parts):
            raise node.refused("complex numbers are joined with real ones")
        sides = ([one.real for one in pairs], [one.imaginary for one in pairs])
        return Complex(*(node.let(_joined(node, side, axis)) for side in sides))
    return _joined(node, [one for one in parts if isinstance(one, Expr)], axis)


def _joined(node: Node, parts: Sequence[Expr], axis: Expr) -> Expr:
    place = node.axis(axis, node.rank(parts[0]))
    return op.concatenate(joinable(node, place, *parts), axis=place)


@table("ConcatOffset")
def concat_offset(node: Node, axis: Expr, *shapes: Expr) -> list[Expr]:
    """ConcatOffset: the offset of each part in the concatenation."""
    (place,) = node.numbers(axis, "the axis")
    found: list[Expr] = []
    rank = node.static_extent(shapes[0], 0, "how many axes there are")
    mask = np.arange(rank) == int(place) % max(rank, 1)
    chosen = node.let(op.cast(int64(mask.astype("int64")), node.dtype(shapes[0])))
    total: Expr = node.let(op.zeros_like(shapes[0]))
    for one in shapes:
        found.append(total)
        total = node.let(total + one * chosen)
    return found


@table("Pack")
def pack(node: Node, *parts: Expr) -> Expr:
    if not parts:
        raise node.refused("there is nothing to join")
    axis = node.axis_of(node.integer("axis"), node.rank(parts[0]) + 1)
    common = [best_known(extents) for extents in zip(*map(node.shape, parts), strict=True)]
    return op.stack([of_shape(node, one, common) for one in parts], axis=axis)


@table("Unpack")
def unpack(node: Node, data: Expr) -> list[Expr]:
    axis = node.axis_of(node.integer("axis"), node.rank(data))
    count = node.static_extent(data, axis, "how many parts there are")
    if count != node.integer("num", count):
        raise node.refused("there are other parts", str(node.integer("num")), str(count))
    return [op.take(data, int64(place), axis=axis) for place in range(count)]


@table("Split")
def split(node: Node, axis: Expr, data: Expr) -> list[Expr]:
    place = node.axis(axis, node.rank(data))
    count = node.integer("num_split", 1)
    extent = node.static_extent(data, place, "the extent of the axis")
    if count < 1 or extent % count:
        raise node.refused("the axis has no equal parts", f"a multiple of {count}", str(extent))
    return _split(node, data, place, [extent // count] * count)


@table("SplitV")
def split_v(node: Node, data: Expr, sizes: Expr, axis: Expr) -> list[Expr]:
    place = node.axis(axis, node.rank(data))
    numbers = [int(one) for one in node.numbers(sizes, "the sizes")]
    if -1 in numbers:
        extent = node.static_extent(data, place, "the extent of the axis")
        numbers[numbers.index(-1)] = extent - sum(numbers) - 1
    if min(numbers, default=0) < 0:
        raise node.refused("the sizes do not fit the axis", found=str(numbers))
    return _split(node, data, place, numbers)


def _split(node: Node, data: Expr, axis: int, sizes: Sequence[int]) -> list[Expr]:
    ends = np.cumsum(sizes).tolist()
    extent = node.shape(data)[axis]
    if isinstance(extent, int) and (ends or [0])[-1] != extent:
        raise node.refused("the sizes do not fit the axis", str(extent), str([*sizes]))
    return [
        op.strided_slice(data, [end - size], [end], axes=(axis,))
        for size, end in zip(sizes, ends, strict=True)
    ]


@table("Slice")
def slice_(node: Node, data: Expr | Complex, begin: Expr, size: Expr) -> Value:
    return moved(node, data, lambda one: sliced(node, one, begin, size))


@table("StridedSlice")
def strided_slice(node: Node, data: Expr | Complex, begin: Expr, end: Expr, strides: Expr) -> Value:
    masks = {name: node.integer(f"{name}_mask") for name in MASKS}

    def taken(one: Expr) -> Expr:
        return Slices.of(node, one, begin, end, strides, masks).apply(node, one, begin, end)

    return moved(node, data, taken)


@table("Gather", "GatherV2")
def gather(node: Node, data: Expr, indices: Expr, axis: Expr | None = None) -> Expr:
    batch = node.axis_of(node.integer("batch_dims"), node.rank(indices) + 1)
    place = batch if axis is None else node.axis(axis, node.rank(data))
    indices = in_range(node, indices, data, [place])
    return op.take(data, indices, axis=place, batch_dims=batch)


@table("GatherNd")
def gather_nd(node: Node, data: Expr, indices: Expr) -> Expr:
    """The last axis of indices runs over the axes of data."""
    depth = node.static_extent(indices, -1, "how many axes are indexed")
    order = (node.rank(indices) - 1, *range(node.rank(indices) - 1))
    first = node.let(op.transpose(indices, order))
    return op.gather_nd(data, in_range(node, first, data, range(depth)))


@table("ReverseV2")
def reverse_v2(node: Node, data: Expr, axes: Expr) -> Expr:
    for axis in node.axes_of(node.numbers(axes, "the axes"), node.rank(data), distinct=True):
        data = node.let(op.reverse(data, axis))
    return data


@table("Reverse")
def reverse(node: Node, data: Expr, which: Expr) -> Expr:
    """A boolean per axis."""
    for axis, is_reversed in enumerate(node.numbers(which, "the axes")):
        data = node.let(op.reverse(data, axis)) if is_reversed else data
    return data


@table("ReverseSequence")
def reverse_sequence(node: Node, data: Expr, lengths: Expr) -> Expr:
    axes = (node.integer("seq_dim"), node.integer("batch_dim"))
    return op.reverse_sequence(data, lengths, seq_axis=axes[0], batch_axis=axes[1])
