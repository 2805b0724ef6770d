"""Concatenation, slices, splits and selections."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import op
from relay.frontend.common.broadcast import best_known, joinable, of_shape
from relay.frontend.common.builder import int64
from relay.frontend.common.indices import in_range
from relay.frontend.common.slices import MASKS, Slices, sliced
from relay.frontend.tflite.activation import activated, clipped
from relay.frontend.tflite.converters import Table
from relay.frontend.tflite.node import Node
from relay.ir.expr import Expr

table = Table()


@table("CONCATENATION")
def concatenation(node: Node, *parts: Expr) -> Expr:
    if not parts:
        raise node.refused("there is nothing to join")
    axis = node.axis_of(node.option("axis", 0), node.rank(parts[0]))
    alike = [node.requantized(one, source=place) for place, one in enumerate(parts)]
    found = node.let(op.concatenate(joinable(node, axis, *map(node.let, alike)), axis=axis))
    return activated(node, found) if node.result_affine() is None else clipped(node, found)


@table("PACK")
def pack(node: Node, *parts: Expr) -> Expr:
    if not parts:
        raise node.refused("there is nothing to join")
    rank = node.rank(parts[0])
    for part in parts[1:]:
        node.must_have_axes(part, rank, "the parts")
    axis = node.axis_of(node.option("axis", 0), rank + 1)
    alike = [node.let(node.requantized(one, source=place)) for place, one in enumerate(parts)]
    common = [best_known(extents) for extents in zip(*map(node.shape, alike), strict=True)]
    return op.stack([of_shape(node, one, common) for one in alike], axis=axis)


@table.moving("UNPACK")
def unpack(node: Node, data: Expr) -> list[Expr]:
    axis = node.axis_of(node.option("axis", 0), node.rank(data))
    count = node.static_extent(data, axis, "how many parts there are")
    if count != len(node.results):
        raise node.refused("there are other parts", f"{len(node.results)}", str(count))
    return [op.take(data, int64(place), axis=axis) for place in range(count)]


@table("SPLIT")
def split(node: Node, axis: Expr, data: Expr) -> list[Expr]:
    (place,) = node.numbers(axis, "the axis")
    place = node.axis_of(place, node.rank(data))
    count = node.option("num_splits", len(node.results))
    extent = node.static_extent(data, place, "the extent of the axis")
    if count < 1 or extent % count:
        raise node.refused("the axis has no equal parts", f"a multiple of {count}", str(extent))
    return _split(node, data, place, [extent // count] * count, source=1)


@table.moving("SPLIT_V")
def split_v(node: Node, data: Expr, sizes: Expr, axis: Expr) -> list[Expr]:
    (place,) = node.numbers(axis, "the axis")
    place = node.axis_of(place, node.rank(data))
    numbers = [int(one) for one in node.numbers(sizes, "the sizes")]
    if -1 in numbers:
        extent = node.static_extent(data, place, "the extent of the axis")
        numbers[numbers.index(-1)] = extent - sum(numbers) - 1
    if min(numbers, default=0) < 0:
        raise node.refused("the sizes do not fit the axis", found=str(numbers))
    return _split(node, data, place, numbers, source=0)


def _split(node: Node, data: Expr, axis: int, sizes: Sequence[int], source: int) -> list[Expr]:
    ends = np.cumsum(sizes).tolist()
    extent = node.shape(data)[axis]
    if isinstance(extent, int) and (ends or [0])[-1] != extent:
        raise node.refused("the sizes do not fit the axis", str(extent), str([*sizes]))
    parts = [
        op.strided_slice(data, [end - size], [end], axes=(axis,))
        for size, end in zip(sizes, ends, strict=True)
    ]
    return [node.requantized(one, place, source) for place, one in enumerate(parts)]


@table.moving("SLICE")
def slice_(node: Node, data: Expr, begin: Expr, size: Expr) -> Expr:
    return sliced(node, data, begin, size)


@table.moving("STRIDED_SLICE")
def strided_slice(node: Node, data: Expr, begin: Expr, end: Expr, strides: Expr) -> Expr:
    masks = {name: node.option(f"{name}_mask", 0) for name in MASKS}
    offset = node.option("offset", False)
    by = Slices.of(node, data, begin, end, strides, masks, offset=offset)
    return by.apply(node, data, begin, end)


@table.moving("GATHER")
def gather(node: Node, data: Expr, indices: Expr) -> Expr:
    axis = node.axis_of(node.option("axis", 0), node.rank(data))
    batch = node.axis_of(node.option("batch_dims", 0), node.rank(indices) + 1)
    indices = in_range(node, indices, data, [axis])
    return op.take(data, indices, axis=axis, batch_dims=batch)


@table.moving("GATHER_ND")
def gather_nd(node: Node, data: Expr, indices: Expr) -> Expr:
    """The last axis of indices runs over the axes of data."""
    depth = node.static_extent(indices, -1, "how many axes are indexed")
    order = (node.rank(indices) - 1, *range(node.rank(indices) - 1))
    first = node.let(op.transpose(indices, order))
    return op.gather_nd(data, in_range(node, first, data, range(depth)))


@table.moving("REVERSE_V2")
def reverse_v2(node: Node, data: Expr, axes: Expr) -> Expr:
    for axis in node.axes_of(node.numbers(axes, "the axes"), node.rank(data), distinct=True):
        data = node.let(op.reverse(data, axis))
    return data
