"""Pools over windows."""

from __future__ import annotations

from collections.abc import Sequence

from relay import dtypes, op
from relay.frontend.common.builder import int64
from relay.frontend.common.windows import Windows
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.frontend.tensorflow.operators.windows import (
    counted,
    layout_of,
    spatial,
    windows_of,
)
from relay.ir.expr import Expr
from relay.op.building.numerics import limits

table = Table()


def _windows(node: Node, data: Expr, count: int, sizes: Expr | None = None) -> Windows:
    node.must_have_axes(data, count + 2, "images")
    given = node.integers("ksize", [1] * (count + 2))
    if sizes is not None:
        given = [int(one) for one in node.numbers(sizes, "the window")]
    return windows_of(node, data, spatial(node, given, "windows", count), count)


@table("MaxPool", "MaxPool3D")
def max_pool(node: Node, data: Expr) -> Expr:
    count = 3 if node.operator.endswith("3D") else 2
    windows = _windows(node, data, count)
    framed = data
    if windows.pads is None:
        lowest, _ = limits(dtypes.to_numpy(node.dtype(data)))
        framed = windows.padded(node, data, node.number(lowest, data))
    pool = (op.nn.max_pool2d if count == 2 else op.nn.max_pool3d)(
        framed,
        pool_size=tuple(windows.sizes),
        strides=tuple(windows.strides),
        padding=windows.padding,
        layout=layout_of(node, count),
    )
    return _counted(node, windows, pool, data)


@table("MaxPoolV2")
def max_pool_v2(node: Node, data: Expr, sizes: Expr, strides: Expr) -> Expr:
    """MaxPoolV2: window sizes and strides are inputs."""
    steps = spatial(node, [int(one) for one in node.numbers(strides, "strides")], "strides", 2)
    given = [int(one) for one in node.numbers(sizes, "the window")]
    extents = spatial(node, given, "windows", 2)
    whole = windows_of(node, data, extents)
    fresh = Windows(extents, steps, [1, 1], whole.automatic, None, whole.first)
    is_same = whole.automatic == "SAME_UPPER"
    windows = fresh.same(node.shape(data)) if is_same else fresh.with_pads([(0, 0)] * 2)
    if windows.pads is None:
        raise node.refused("the size of images must be known", hint=node.give_sizes)
    return op.nn.max_pool2d(
        data,
        pool_size=tuple(extents),
        strides=tuple(steps),
        padding=windows.padding,
        layout=layout_of(node),
    )


def _counted(node: Node, windows: Windows, found: Expr, data: Expr) -> Expr:
    channels = node.shape(data)[1 if windows.first == 2 else -1]
    return counted(node, windows, found, data, channels)


@table("AvgPool", "AvgPool3D")
def avg_pool(node: Node, data: Expr) -> Expr:
    """Average pooling; padding is not counted."""
    count = 3 if node.operator.endswith("3D") else 2
    windows = _windows(node, data, count)

    def pooled(one: Expr) -> Expr:
        return (op.nn.avg_pool2d if count == 2 else op.nn.avg_pool3d)(
            one,
            pool_size=tuple(windows.sizes),
            strides=tuple(windows.strides),
            padding=windows.padding,
            layout=layout_of(node, count),
        )

    if windows.pads is not None:
        return pooled(data)
    zero = node.number(0, data)
    # the share of elements inside data: the mean of ones padded with zeros
    first = windows.first
    sizes = node.extents(data, first, first + count)
    extents = [int64([1] * first), sizes, *([int64([1])] if first == 1 else [])]
    shape = node.shape(data)
    ones_shape = [1] * first + [*shape[first : first + count]] + [1] * (first == 1)
    ones = op.dyn.ones(op.concatenate(extents, axis=0), node.dtype(data))
    inside = node.declare(ones, ones_shape, node.dtype(data))
    parts: Sequence[Expr] = [
        _counted(node, windows, pooled(windows.padded(node, one, zero)), one)
        for one in (data, inside)
    ]
    return parts[0] / parts[1]


@table("MaxPoolWithArgmax")
def max_pool_with_argmax(node: Node, data: Expr) -> list[Expr]:
    """Positions count the elements of an image, or of all images, with their channels."""
    windows = _windows(node, data, 2)
    if windows.pads is None:
        raise node.refused("the size of images must be known", hint=node.give_sizes)
    batch, height, width, channels = node.static_shape(data, "images")
    attributes = {
        "pool_size": tuple(windows.sizes),
        "strides": tuple(windows.strides),
        "padding": windows.padding,
    }
    found = node.let(op.nn.max_pool2d(data, **attributes, layout="NHWC"))
    first = node.let(op.transpose(data, (0, 3, 1, 2)))
    places = node.let(op.nn.max_pool2d_positions(first, **attributes))
    places = node.let(op.transpose(op.cast(places, "int64"), (0, 2, 3, 1)))
    # within a channel of an image
    plane = op.floor_mod(places, int64(height * width))
    channel = op.arange(int64(channels), dtype="int64")
    positions: Expr = plane * int64(channels) + channel
    if node.flag("include_batch_in_index"):
        image = op.expand_dims(op.arange(int64(batch), dtype="int64"), 1, num_newaxis=3)
        positions = positions + image * int64(height * width * channels)
    return [found, op.cast(positions, node.named_type("Targmax", "int64"))]
