"""Layers that stretch the contrast of images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.keras.converters import Table
from relay.frontend.keras.node import Node
from relay.frontend.keras.operations.elementwise import moved_range
from relay.ir.expr import Expr, const

table = Table()

LEVELS = 256


def _range(node: Node) -> Sequence[float]:
    found = node.config.get("value_range", (0, 255))
    if not isinstance(found, list | tuple) or len(found) != 2:
        raise node.refused("the range of values is no pair", found=str(found)[:40])
    return [float(one) for one in found]


@table("AutoContrast")
def auto_contrast(node: Node, inputs: Expr) -> Expr:
    """From the darkest to the brightest element of each channel to all of the range."""
    given = node.as_dtype(inputs, node.compute_dtype)
    data = moved_range(node, given, _range(node), (0, 255))
    rank = node.rank(data)
    axes = (rank - 3, rank - 2) if rank == 3 else (1, 2)
    low = node.let(op.min(data, axis=axes, keepdims=True))
    high = node.let(op.max(data, axis=axes, keepdims=True))
    scale = node.let(node.number(255, data) / (high - low))
    found = node.let(op.clip(data * scale - low * scale, 0.0, 255.0))
    back = moved_range(node, found, (0, 255), _range(node))
    return op.where(op.isnan(back), given, back)


@table("ContrastLimitedAdaptiveHistogramEqualization")
def clahe(node: Node, inputs: Expr) -> Expr:
    """Adaptive histogram equalization, interpolated between tiles."""
    single = node.rank(inputs) == 3
    given = node.let(op.expand_dims(inputs, 0)) if single else inputs
    images = given if node.channels_last else node.let(op.transpose(given, (0, 2, 3, 1)))
    dtype = node.dtype(inputs)
    data = moved_range(node, node.as_dtype(images, "float32"), _range(node), (0, 255))
    found = moved_range(node, _equalized(node, data), (0, 255), _range(node))
    if not node.channels_last:
        found = node.let(op.transpose(found, (0, 3, 1, 2)))
    found = node.let(op.squeeze(found, (0,))) if single else found
    return node.as_dtype(found, dtype)


def _equalized(node: Node, data: Expr) -> Expr:
    height = node.static_extent(data, 1, "the size of images")
    width = node.static_extent(data, 2, "the size of images")
    channels = node.static_extent(data, 3, "how many channels there are")
    rows, columns = node.whole_numbers("tile_grid_size", 2, 8)
    tall, wide = -(-height // rows), -(-width // columns)
    below, beside = tall * rows - height, wide * columns - width
    if below or beside:
        pads = [(0, 0), (0, below), (0, beside), (0, 0)]
        data = node.let(op.nn.mirror_pad(data, pads, "SYMMETRIC"))
    levels = node.let(op.cast(op.clip(data, 0.0, LEVELS - 1.0), "int64"))
    table_of = _tables(node, levels, (rows, tall, columns, wide, channels))
    flat = node.let(op.reshape(table_of, (0, -1)))

    def places(count: int, size: int, tiles: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        at = (np.arange(count) - size / 2) / size + 1
        first = np.floor(at)
        ends = [np.clip(first + one, 0, tiles + 1).astype("int64") for one in (0, 1)]
        # the tables at the edges are there once
        ends = [np.clip(one - 1, 0, tiles - 1) for one in ends]
        return ends[0], ends[1], (at - first).astype("float32")

    top, bottom, down = places(tall * rows, tall, rows)
    left, right, across = places(wide * columns, wide, columns)
    colors = np.arange(channels)

    def read(row: np.ndarray, column: np.ndarray) -> Expr:
        tile = (row[:, None] * columns + column[None, :])[..., None] * channels + colors
        where = node.let(levels + int64(tile[None] * LEVELS))
        one = node.let(op.reshape(where, (0, -1)))
        taken = node.let(op.take(flat, one, axis=1, batch_dims=1))
        return node.let(op.reshape(taken, (0, tall * rows, wide * columns, channels)))

    a, b = (const(one.reshape(shape)) for one, shape in ((across, (1, -1, 1)), (down, (-1, 1, 1))))
    c, d = (const(1.0) - one for one in (a, b))
    above = node.let(read(top, left) * c + read(top, right) * a)
    under = node.let(read(bottom, left) * c + read(bottom, right) * a)
    whole = node.let(above * d + under * b)
    return node.let(op.strided_slice(whole, [0, 0], [height, width], axes=(1, 2)))


def _tables(node: Node, levels: Expr, sizes: tuple[int, int, int, int, int]) -> Expr:
    """The new level of each level in each tile and channel: (batch, rows, columns, channels,
    256)."""
    rows, tall, columns, wide, channels = sizes
    tiled = node.let(op.reshape(levels, (0, rows, tall, columns, wide, channels)))
    turned = node.let(op.transpose(tiled, (0, 1, 3, 5, 2, 4)))
    flat = node.let(op.reshape(turned, (0, rows, columns, channels, tall * wide)))
    one, zero = const(1.0), const(0.0)
    counts = node.let(op.sum(op.one_hot(flat, one, zero, LEVELS, -1, "float32"), axis=(-2,)))
    limit = node.option("clip_limit", 4.0)
    if limit > 0:
        kept = node.let(op.minimum(counts, const(limit * tall * wide / LEVELS)))
        rest = op.sum(counts - kept, axis=(-1,), keepdims=True)
        counts = node.let(kept + rest / const(float(LEVELS)))
    darker = node.let(op.cumsum(counts, axis=4))
    least = node.let(op.min(darker, axis=(-1,), keepdims=True))
    whole = node.let(const(float(tall * wide)) - least)
    by = op.where(op.equal(whole, zero), one, whole)
    return node.let(op.clip((darker - least) * const(255.0) / by, 0.0, 255.0))
