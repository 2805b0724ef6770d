"""Deformable convolutions: offsets, which are an input, move each element of each window.

`nn.deformable_conv2d` does so over two axes. Over any other number n of axes, the elements of all
windows are gathered by multilinear interpolation between 2^n corners, and convolved with windows of
one element.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from relay import dtypes, op
from relay.frontend.common.broadcast import best_known, fitting, of_shape, trailing_axes
from relay.frontend.common.builder import int64
from relay.frontend.common.windows import Windows
from relay.frontend.onnx.computations.windows import windows_of
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.convolution import convolved, operands
from relay.ir.dims import Dim
from relay.ir.expr import Expr, const

table = Converters()

MOST = 8  # spatial axes: a position has 2^n corners


@table("DeformConv")
def deform_conv(
    node: Node,
    data: Expr,
    weight: Expr,
    offset: Expr,
    bias: Expr | None = None,
    share: Expr | None = None,
) -> Expr:
    convolve = _over_two_axes if node.rank(data) == 4 else _over_any_axes
    found = convolve(node, data, weight, offset, share)
    return found if bias is None else op.nn.bias_add(found, bias)


def _over_two_axes(node: Node, data: Expr, weight: Expr, offset: Expr, share: Expr | None) -> Expr:
    steps = {
        "strides": tuple(node.numbers("strides", 2, 1)),
        "padding": tuple(node.numbers("pads", 4)),
        "dilation": tuple(node.numbers("dilations", 2, 1)),
        "groups": node.attribute("group", 1),
        "deformable_groups": node.attribute("offset_group", 1),
    }
    if share is None:
        return op.nn.deformable_conv2d(data, offset, weight, **steps)
    return op.nn.modulated_deformable_conv2d(data, offset, weight, share, **steps)


def _over_any_axes(node: Node, data: Expr, weight: Expr, offset: Expr, share: Expr | None) -> Expr:
    data, weight, groups = operands(node, data, weight, inputs=1)
    sizes = node.static_shape(weight, "weights")[2:]
    count, elements = len(sizes), prod(sizes)
    if count > MOST:
        raise node.refused("there are too many spatial axes", f"{MOST} at most", str(count))
    if not elements:
        raise node.misfit("windows have no elements", found=str(node.type_of(weight)))
    parts = int(node.attribute("offset_group", 1))
    channels = node.shape(data)[1]
    if parts < 1 or (isinstance(channels, int) and channels % parts):
        raise node.misfit("channels are not shared evenly by offsets", f"{parts}", str(channels))
    windows = windows_of(node, data, sizes)
    batch, counts = _sizes(node, data, offset, share, windows)
    data = of_shape(node, data, (batch, *node.shape(data)[1:]))
    offset = fitting(node, offset, (batch, parts * elements * count, *counts), "offsets")
    dtype = node.dtype(data)
    wide = dtype if dtypes.bits(dtype) >= 32 else "float32"
    apart = _by_parts(node, op.cast(offset, wide), parts)
    moves = node.let(op.reshape(apart, (0, -4, elements, count, *[0] * count)))
    images = _by_parts(node, op.cast(data, wide), parts)
    fetched = _between(node, images, _positions(node, moves, windows, sizes))
    if share is not None:
        share = fitting(node, share, (batch, parts * elements, *counts), "masks")
        own = op.expand_dims(_by_parts(node, op.cast(share, wide), parts), 1)
        fetched = node.let(fetched * own)
    # (batch * parts, channels / parts, elements, …) as (batch, channels * elements, …)
    joined = node.let(op.reshape(fetched, (-4, -1, parts, -3, *[0] * count)))
    columns = node.let(op.reshape(joined, (0, -3, *[0] * count)))
    flat = node.let(op.reshape(op.cast(weight, wide), (0, -1, *[1] * count)))
    ones = [1] * count
    single = Windows(ones, ones, ones, "VALID", [(0, 0)] * count)
    found = convolved(node, columns, flat, single, groups)
    return found if wide == dtype else op.cast(found, dtype)


def _sizes(
    node: Node, data: Expr, offset: Expr, share: Expr | None, windows: Windows
) -> tuple[Dim, list[Dim]]:
    """The batch, and the number of windows per axis, by whichever input has static extents."""
    count = len(windows.sizes)
    moving = [offset] if share is None else [offset, share]
    for value in moving:
        node.must_have_axes(value, count + 2, "offsets and masks")
    batch = best_known([node.shape(one)[0] for one in (data, *moving)])
    found = []
    for axis, (extent, covered, stride) in enumerate(
        zip(node.shape(data)[2:], windows.covered, windows.strides, strict=True)
    ):
        around = windows.padding[axis] + windows.padding[count + axis]
        room = extent + around - covered
        if isinstance(room, int) and room < 0:
            raise node.refused("a window is larger than padded data", str(covered), str(extent))
        own = room // stride + 1
        found.append(best_known([own, *(node.shape(one)[2 + axis] for one in moving)]))
    return batch, found


def _by_parts(node: Node, value: Expr, parts: int) -> Expr:
    """(batch, parts * n, …) as (batch * parts, n, …)."""
    apart = node.let(op.reshape(value, (0, -4, parts, -1, -2)))
    return node.let(op.reshape(apart, (-3, -2)))


def _positions(node: Node, moves: Expr, windows: Windows, sizes: Sequence[int]) -> list[Expr]:
    """The positions of the elements of all windows along each axis: (rows, elements, counts…);
    moves are (rows, elements, axes, counts…)."""
    count, found = len(sizes), []
    elements = node.let(op.arange(int64(prod(sizes)), dtype="int64"))
    for axis, before in enumerate(windows.padding[:count]):
        own = op.take(moves, int64(axis), axis=2)
        starts = node.positions(moves, 3 + axis) * int64(windows.strides[axis]) - int64(before)
        later = op.floor_divide(elements, int64(prod(sizes[axis + 1 :])))
        inside = op.floor_mod(later, int64(sizes[axis]))
        steps = inside * int64(windows.dilations[axis])
        still = trailing_axes(starts, count - 1 - axis) + trailing_axes(steps, count)
        found.append(node.let(own + op.cast(node.let(still), node.dtype(moves))))
    return found


def _between(node: Node, images: Expr, positions: Sequence[Expr]) -> Expr:
    """Multilinear interpolation of images (rows, channels, extents…) at positions
    (rows, elements, counts…); 0 outside."""
    count = len(positions)
    corners = np.array(list(product((0, 1), repeat=count)))
    zero, one = node.number(0, images), node.number(1, images)
    index: Expr = int64(0)
    nearness: Expr = one
    for axis, place in enumerate(positions):
        extent = node.size(images, 2 + axis)
        along = node.let(op.expand_dims(place, 1))
        sides = corners[:, axis].reshape(-1, *[1] * (count + 1))
        corner = node.let(op.floor(along) + const(sides, node.dtype(images)))
        end = op.cast(extent, node.dtype(images))
        inside = op.logical_and(corner >= zero, corner < end)
        near = op.where(inside, one - op.abs(along - corner), zero)
        nearness = near if axis == 0 else nearness * near
        # an index outside may be NaN, which no integer is
        number = op.cast(op.where(inside, corner, zero), "int64")
        index = number if axis == 0 else index * extent + number
    for _ in range(count - 1):
        images = node.let(op.reshape(images, (0, 0, -3, -2)))
    read = op.take(images, node.let(index), axis=2, batch_dims=1)
    return node.let(op.sum(read * op.expand_dims(node.let(nearness), 1), axis=2))
