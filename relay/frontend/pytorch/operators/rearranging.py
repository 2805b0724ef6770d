"""Windows as columns and back, and channels as pixels and back."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Size
from relay.frontend.pytorch.operators.padding import padded
from relay.frontend.pytorch.shapes import dimensions, in_batch, to_shape, volume
from relay.ir import dims
from relay.ir.expr import Expr, const

table = Converters()

# --- windows as columns --------------------------------------------------------------------------


def window_places(
    node: Node, data: Expr, axis: int, size: int, dilation: int, padding: int, stride: int
) -> tuple[Expr, Size]:
    """The places of the elements of windows along an axis, (windows, size), and how many windows
    there are."""
    extent = node.dimension(data, axis)
    reach = dilation * (size - 1) + 1 - 2 * padding
    count: Size
    if isinstance(extent, Expr):
        count = node.let(op.floor_divide(extent - int64(reach), int64(stride)) + int64(1))
    else:
        count = dims.floor_divide(extent - reach, stride) + 1
    starts = op.arange(node.scalar(count, "int64"), dtype="int64") * int64(stride)
    starts = node.declare(starts, (node.known(count),), "int64")
    inside = int64([[*range(0, dilation * size, dilation)]])
    return node.let(op.expand_dims(starts, 1) + inside), count


@table("im2col")
def im2col(
    node: Node,
    self: Expr,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Expr:
    """The elements of each window as a column: (batch, channels * size, windows)."""

    def compute(data: Expr) -> Expr:
        counts: list[Size] = []
        widths = [padding[1], padding[1], padding[0], padding[0]]
        found = node.let(padded(node, data, widths, "constant"))
        for place in range(2):
            numbers = (one[place] for one in (kernel_size, dilation, padding, stride))
            places, count = window_places(node, data, 2 + place, *numbers)
            counts.append(count)
            found = node.let(op.take(found, places, axis=2 + 2 * place))
        shape = [
            node.dimension(data, 0),
            volume(node, [node.dimension(data, 1), *kernel_size]),
            volume(node, counts),
        ]
        return to_shape(node, node.let(op.transpose(found, (0, 1, 3, 5, 2, 4))), shape)

    return in_batch(node, self, 4, compute)  # type: ignore[no-any-return]


@table("col2im")
def col2im(
    node: Node,
    self: Expr,
    output_size: Sequence[Size],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Expr:
    """The sums of windows at their places: a transposed convolution by windows of one 1."""
    sizes = [one for one in output_size if isinstance(one, int)]
    if len(sizes) < 2:
        raise node.refused("the output size must be known", hint=node.give_sizes)
    window = prod(kernel_size)
    steps = zip(sizes, kernel_size, dilation, padding, stride, strict=True)
    inner = [n + 2 * p - d * (k - 1) - 1 for n, k, d, p, _ in steps]
    counts = [rest // s + 1 for rest, s in zip(inner, stride, strict=True)]

    def compute(data: Expr) -> Expr:
        channels = node.static_extent(data, 1, "channels") // window
        shape = [node.dimension(data, 0), channels * window, *counts]
        ones = np.eye(window, dtype="float32").reshape(window, 1, *kernel_size)
        kernel = np.tile(ones, (channels, 1, 1, 1))
        return op.nn.conv2d_transpose(
            to_shape(node, data, shape),
            node.let(const(kernel, node.dtype(data))),
            strides=tuple(stride),
            padding=(*padding, *padding),
            dilation=tuple(dilation),
            groups=channels,
            kernel_size=tuple(kernel_size),
            output_padding=tuple(rest % s for rest, s in zip(inner, stride, strict=True)),
        )

    return in_batch(node, self, 3, compute)  # type: ignore[no-any-return]


# --- channels and places -------------------------------------------------------------------------


@table("pixel_shuffle")
def pixel_shuffle(node: Node, self: Expr, upscale_factor: int) -> Expr:
    """pixel_shuffle: channels to space."""
    *ahead, _, height, width = dimensions(node, self)
    by = upscale_factor
    each = node.static_extent(self, -3, "channels") // (by * by)
    rank = len(ahead)
    apart = to_shape(node, self, [*ahead, each, by, by, height, width])
    order = [*range(rank), *(rank + one for one in (0, 3, 1, 4, 2))]
    shape = [*ahead, each, volume(node, [height, by]), volume(node, [width, by])]
    return to_shape(node, node.let(op.transpose(apart, order)), shape)


@table("pixel_unshuffle")
def pixel_unshuffle(node: Node, self: Expr, downscale_factor: int) -> Expr:
    """pixel_unshuffle: space to channels."""
    *ahead, channels, height, width = dimensions(node, self)
    by, rank = downscale_factor, len(ahead)
    rows, columns = (_divided(node, one, by) for one in (height, width))
    apart = to_shape(node, self, [*ahead, channels, rows, by, columns, by])
    order = [*range(rank), *(rank + one for one in (0, 2, 4, 1, 3))]
    shape = [*ahead, volume(node, [channels, by, by]), rows, columns]
    return to_shape(node, node.let(op.transpose(apart, order)), shape)


def _divided(node: Node, size: Size, by: int) -> Size:
    if isinstance(size, Expr):
        return node.let(op.floor_divide(size, int64(by)))
    return dims.floor_divide(size, by)


@table("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(node: Node, self: Expr, groups: int) -> Expr:
    """channel_shuffle: interleaves the channels of groups."""
    batch, _, *rest = dimensions(node, self)
    each = node.static_extent(self, 1, "channels") // groups
    apart = to_shape(node, self, [batch, groups, each, *rest])
    order = [0, 2, 1, *range(3, 3 + len(rest))]
    return to_shape(node, node.let(op.transpose(apart, order)), [batch, groups * each, *rest])
