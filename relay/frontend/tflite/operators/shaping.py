"""Shapes, reshapes and transpositions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import op
from relay.frontend.common.builder import int64, static
from relay.frontend.common.known_elements import pairs
from relay.frontend.tflite.converters import Table
from relay.frontend.tflite.node import Node
from relay.ir.dims import Dim
from relay.ir.expr import Expr, const

table = Table()


@table("SHAPE")
def shape(node: Node, data: Expr) -> Expr:
    dtype = node.result_type()
    if (extents := static(node.shape(data))) is not None:
        return const(np.array(extents, dtype), dtype)
    return op.shape_of(data, dtype)


@table("RANK")
def rank(node: Node, data: Expr) -> Expr:
    return const(node.rank(data), "int32")


@table.moving("RESHAPE")
def reshape(node: Node, data: Expr, wanted: Expr | None = None) -> Expr:
    """RESHAPE; the shape is an input, or an option of old models, in which (0,) is a scalar."""
    if wanted is not None:
        return node.reshaped(data, wanted)
    given = node.option("new_shape", [])
    elements: Sequence[Dim | None] = () if list(given) == [0] else given
    return node.with_extents(data, elements, int64(np.array(elements, "int64")))


@table.moving("SQUEEZE")
def squeeze(node: Node, data: Expr) -> Expr:
    return node.without_axes(data, node.option("squeeze_dims", []))


@table.moving("EXPAND_DIMS")
def expand_dims(node: Node, data: Expr, axis: Expr) -> Expr:
    (place,) = node.numbers(axis, "the axis")
    return op.expand_dims(data, node.axis_of(place, node.rank(data) + 1))


@table.moving("TRANSPOSE")
def transpose(node: Node, data: Expr, order: Expr) -> Expr:
    axes = node.axes_of(node.numbers(order, "the order"), node.rank(data), distinct=True)
    if len(axes) != node.rank(data):
        raise node.refused("the order is not that of all axes", f"{node.rank(data)}", f"{axes}")
    return op.transpose(data, axes)


@table.moving("BROADCAST_TO")
def broadcast_to(node: Node, data: Expr, wanted: Expr) -> Expr:
    return node.broadcast(data, wanted)


@table("BROADCAST_ARGS")
def broadcast_args(node: Node, left: Expr, right: Expr) -> Expr:
    """The shape that two shapes broadcast to."""
    counts = [node.static_extent(one, 0, "how many axes there are") for one in (left, right)]
    dtype, most = node.dtype(left), max(counts)
    ones = [const(np.ones(most - count, dtype), dtype) for count in counts]
    first, second = (
        one if count == most else node.let(op.concatenate([ahead, one], axis=0))
        for one, count, ahead in zip((left, right), counts, ones, strict=True)
    )
    return op.where(op.equal(first, const(1, dtype)), second, first)


@table.moving("TILE")
def tile(node: Node, data: Expr, times: Expr) -> Expr:
    known = node.constant(times)
    if known is not None:
        return op.tile(data, tuple(int(one) for one in known.reshape(-1)))
    return op.tile(data, node.sizes(times))


@table("FILL")
def fill(node: Node, wanted: Expr, value: Expr) -> Expr:
    return node.filled(value, wanted)


@table("RANGE")
def range_(node: Node, start: Expr, limit: Expr, delta: Expr) -> Expr:
    first, last, by = (node.let(op.reshape(one, ())) for one in (start, limit, delta))
    return op.arange(first, last, by, dtype=node.dtype(start))


@table.moving("DEPTH_TO_SPACE")
def depth_to_space(node: Node, data: Expr) -> Expr:
    return op.nn.depth_to_space(data, block_size=node.option("block_size", 0), layout="NHWC")


@table.moving("SPACE_TO_DEPTH")
def space_to_depth(node: Node, data: Expr) -> Expr:
    return op.nn.space_to_depth(data, block_size=node.option("block_size", 0), layout="NHWC")


@table.moving("SPACE_TO_BATCH_ND")
def space_to_batch_nd(node: Node, data: Expr, block: Expr, pads: Expr) -> Expr:
    sizes, widths = node.numbers(block, "the block"), node.numbers(pads, "padding")
    padded = op.nn.pad(data, [(0, 0), *pairs(widths), *_none(node, data, sizes)], node.zero(data))
    return op.nn.space_to_batch_nd(node.let(padded), sizes, [(0, 0)] * len(sizes))


@table.moving("BATCH_TO_SPACE_ND")
def batch_to_space_nd(node: Node, data: Expr, block: Expr, crops: Expr) -> Expr:
    sizes, widths = node.numbers(block, "the block"), node.numbers(crops, "what is cropped")
    return op.nn.batch_to_space_nd(data, sizes, pairs(widths))


def _none(node: Node, data: Expr, sizes: Sequence[int]) -> list[tuple[int, int]]:
    """No padding for the axes after those of blocks."""
    return [(0, 0)] * (node.rank(data) - 1 - len(sizes))


# --- padding -----------------------------------------------------------------------------------


@table.moving("PAD")
def pad(node: Node, data: Expr, widths: Expr) -> Expr:
    return node.padded(data, widths, node.zero(data))


@table.moving("PADV2")
def pad_v2(node: Node, data: Expr, widths: Expr, value: Expr) -> Expr:
    return node.padded(data, widths, node.let(op.reshape(value, ())))


@table.moving("MIRROR_PAD")
def mirror_pad(node: Node, data: Expr, widths: Expr) -> Expr:
    modes = {0: "REFLECT", 1: "SYMMETRIC"}
    mode = modes.get(node.option("mode", 0))
    if mode is None:
        raise node.refused("there is no such mode", "REFLECT or SYMMETRIC")
    return op.nn.mirror_pad(data, pairs(node.numbers(widths, "padding")), mode)
