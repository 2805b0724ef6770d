"""Padding, tiling, and cropping around the center."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay import op
from relay.frontend.common.builder import int64, static
from relay.frontend.common.checking import axes_within, within
from relay.frontend.common.elements import Elements
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.dims import Dim
from relay.ir.expr import Expr

table = Converters()

_MODES = ("constant", "edge", "reflect", "wrap")


@table("Pad")
def pad(
    node: Node,
    data: Expr,
    widths: Expr | None = None,
    value: Expr | None = None,
    axes: Expr | None = None,
) -> Expr:
    """Before version 11 the widths are an attribute, in version 1 called `paddings`."""
    if widths is None:
        given = node.required("pads" if node.version >= 2 else "paddings")
        return _padded(node, data, given, node.number(node.attribute("value", 0.0), data))
    filling = node.number(0, data) if value is None else op.reshape(value, ())
    known = node.elements(widths)
    positions = None if axes is None else node.elements(axes)
    if known is None or (axes is not None and positions is None):
        return _dynamically_padded(node, data, widths, filling, axes)
    rank = node.rank(data)
    if axes is not None:
        known = _for_all_axes(node, known, positions, rank)
    if (numbers := static(known)) is not None:
        return _padded(node, data, numbers, filling)
    shape = [
        None if before is None or after is None else extent + before + after
        for extent, (before, after) in zip(node.shape(data), _pairs(node, known, rank), strict=True)
    ]
    found = _dynamically_padded(node, data, widths, filling, axes)
    return node.declare(found, shape, node.dtype(data))


def _for_all_axes(node: Node, widths: Elements, axes: Elements | None, rank: int) -> Elements:
    """Widths for all axes, where they are given for some."""
    given = static(axes or ()) or ()
    named = node.axes_of(given, rank, distinct=True)
    if len(widths) != 2 * len(named):
        raise node.misfit("the widths do not fit the axes", str(2 * len(named)), str(len(widths)))
    found: list[Dim | None] = [0] * (2 * rank)
    for number, axis in enumerate(named):
        found[axis] = widths[number]
        found[axis + rank] = widths[number + len(named)]
    return tuple(found)


def _padded(node: Node, data: Expr, widths: Sequence[int], value: Expr) -> Expr:
    """Data padded by constant widths; a negative width crops."""
    pairs = _pairs(node, widths, node.rank(data))
    return op.nn.pad(data, pairs, value, pad_mode=node.choice("mode", "constant", _MODES))


def _pairs(node: Node, widths: Sequence[Any], rank: int) -> list[tuple[Any, Any]]:
    """The widths before and after each axis."""
    if len(widths) != 2 * rank:
        raise node.misfit("the widths do not fit the rank", str(2 * rank), str(len(widths)))
    return list(zip(widths[:rank], widths[rank:], strict=True))


def _dynamically_padded(
    node: Node, data: Expr, widths: Expr, value: Expr, axes: Expr | None
) -> Expr:
    """Data padded by widths that are known at run time."""
    before_and_after = op.reshape(op.cast(widths, "int64"), (2, -1))
    pairs = op.transpose(before_and_after, (1, 0))
    if axes is not None:
        axes = axes_within(node, axes, node.rank(data), different=True)
        zeros = node.importer.constant(np.zeros((node.rank(data), 2), "int64"))
        pairs = op.scatter_nd(zeros, op.expand_dims(op.cast(axes, "int64"), 0), pairs)
    return op.nn.pad(data, pairs, value, pad_mode=node.choice("mode", "constant", _MODES))


@table("Tile")
def tile_along_an_axis(node: Node, data: Expr, count: Expr, axis: Expr) -> Expr:
    """Version 1 tiles along one axis."""
    positions, copies_of = node.integers(axis, "the axis"), node.integers(count, "the copies")
    rank = node.rank(data)
    if len(positions) != 1 or len(copies_of) != 1 or not -rank <= positions[0] < rank:
        raise node.refused("one axis is copied so many times", "two numbers")
    (place,), (copies,) = positions, copies_of
    return op.tile(data, tuple(copies if one == place % rank else 1 for one in range(rank)))


@table("Tile", since=6)
def tile(node: Node, data: Expr, counts: Expr) -> Expr:
    known = node.elements(counts)
    if node.has_dynamic_length(counts):
        counts = node.of_length(counts, node.rank(data), "the copies")
    found = op.tile(data, counts)
    if known is None or len(known) != node.rank(data) or node.constant(counts) is not None:
        return found
    shape = [
        None if count is None else extent * count
        for extent, count in zip(node.shape(data), known, strict=True)
    ]
    return node.declare(found, shape, node.dtype(data))


@table("CenterCropPad")
def center_crop_pad(node: Node, data: Expr, wanted: Expr) -> Expr:
    """Crops or pads each axis around its center."""
    own, rank = node.shape(data), node.rank(data)
    axes = node.axes_of(node.attribute("axes", range(rank)), rank)
    wanted = within(node, wanted, 0, None, "a size is negative", "0 or more")
    known = node.elements(wanted) or (None,) * len(axes)
    shape: list[Dim | None] = list(own)
    if len(known) != len(axes):
        raise node.misfit("the shape does not fit the axes", str(len(axes)), str(len(known)))
    for axis, extent in zip(axes, known, strict=True):
        shape[axis] = extent
    if all(isinstance(one, int) for one in (*own, *shape)):
        return _centered(data, own, shape)  # type: ignore[arg-type]
    extents = node.let(op.shape_of(data, dtype="int64"))
    target = node.let(op.scatter_elements(extents, int64(axes), op.cast(wanted, "int64"), axis=0))
    zero, two = int64(0), int64(2)
    excess = node.let(op.maximum(extents - target, zero))
    missing = node.let(op.maximum(target - extents, zero))
    start, before = op.floor_divide(excess, two), node.let(op.floor_divide(missing, two))
    inner = op.strided_slice(data, start, op.minimum(extents, target), slice_mode="size")
    widths = op.stack([before, missing - before], axis=1)
    padded = op.nn.pad(node.let(inner), widths, node.number(0, data))
    return node.declare(padded, shape, node.dtype(data))


def _centered(data: Expr, own: Sequence[int], wanted: Sequence[int]) -> Expr:
    starts = [max(have - want, 0) // 2 for have, want in zip(own, wanted, strict=True)]
    sizes = [min(pair) for pair in zip(own, wanted, strict=True)]
    ends = [start + size for start, size in zip(starts, sizes, strict=True)]
    missing = [want - size for want, size in zip(wanted, sizes, strict=True)]
    widths = [(count // 2, count - count // 2) for count in missing]
    return op.nn.pad(op.strided_slice(data, starts, ends), widths)
