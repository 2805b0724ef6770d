"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay import op
from relay.frontend.common.builder import static
from relay.frontend.common.windows import Windows, halves
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.frontend.tensorflow.operators.windows import (
    counted,
    is_first,
    layout_of,
    spatial,
    windows_of,
)
from relay.ir.expr import Expr

table = Table()


def _channels(node: Node, data: Expr, count: int) -> int:
    axis = 1 if is_first(node, count) else count + 1
    return node.static_extent(data, axis, "how many channels there are")


@table("Conv2D", "Conv3D", "Conv")
def convolution(node: Node, data: Expr, weight: Expr) -> Expr:
    count = node.rank(weight) - 2
    if count not in (2, 3):
        raise node.refused("there are other axes", "2 or 3 spatial ones", str(count))
    node.must_have_axes(data, count + 2, "images")
    *sizes, inputs, outputs = node.static_shape(weight, "weights")
    channels = _channels(node, data, count)
    if inputs < 1 or channels % inputs or outputs % (channels // inputs):
        expected = f"a divisor of {channels}"
        raise node.refused("weights do not fit the channels", expected, f"{inputs}, {outputs}")
    windows = windows_of(node, data, sizes, count)
    framed = data
    if windows.pads is None:
        framed = windows.padded(node, data, node.number(0, data))
    convolve = op.nn.conv2d if count == 2 else op.nn.conv3d
    found = convolve(
        framed,
        weight,
        strides=tuple(windows.strides),
        padding=windows.padding,
        dilation=tuple(windows.dilations),
        groups=channels // inputs,
        channels=outputs,
        kernel_size=tuple(sizes),
        data_layout=layout_of(node, count),
        kernel_layout="HWIO" if count == 2 else "DHWIO",
    )
    return counted(node, windows, found, data, outputs)


@table("DepthwiseConv2dNative")
def depthwise(node: Node, data: Expr, weight: Expr) -> Expr:
    """Depthwise convolution; the last axis of the weights is the channel multiplier."""
    node.must_have_axes(data, 4, "images")
    node.must_have_axes(weight, 4, "weights")
    *sizes, inputs, multiplier = node.static_shape(weight, "weights")
    channels = _channels(node, data, 2)
    if inputs != channels:
        raise node.refused("weights do not fit the channels", str(channels), str(inputs))
    windows = windows_of(node, data, sizes)
    framed = data
    if windows.pads is None:
        framed = windows.padded(node, data, node.number(0, data))
    found = op.nn.conv2d(
        framed,
        weight,
        strides=tuple(windows.strides),
        padding=windows.padding,
        dilation=tuple(windows.dilations),
        groups=channels,
        channels=channels * multiplier,
        kernel_size=tuple(sizes),
        data_layout=layout_of(node),
        kernel_layout="HWOI",
    )
    return counted(node, windows, found, data, channels * multiplier)


@table("Conv2DBackpropInput", "Conv3DBackpropInputV2")
def transposed(node: Node, wanted: Expr, weight: Expr, data: Expr) -> Expr:
    """A transposed convolution: the shape of its result is given."""
    count = 2 if node.operator.startswith("Conv2D") else 3
    node.must_have_axes(data, count + 2, "images")
    node.must_have_axes(weight, count + 2, "weights")
    *sizes, outputs, inputs = node.static_shape(weight, "weights")
    channels = _channels(node, data, count)
    if inputs < 1 or channels != inputs:
        raise node.refused("weights do not fit the channels", str(channels), str(inputs))
    spread = _spread(node, wanted, data, sizes, count)
    transpose = op.nn.conv2d_transpose if count == 2 else op.nn.conv3d_transpose
    return transpose(
        data,
        weight,
        **spread,
        channels=outputs,
        kernel_size=tuple(sizes),
        data_layout=layout_of(node, count),
        kernel_layout="HWOI" if count == 2 else "DHWOI",
    )


def _spread(
    node: Node, wanted: Expr, data: Expr, sizes: Sequence[int], count: int
) -> dict[str, Any]:
    """The strides of a transposed convolution, and what is cropped so that its result is as large
    as asked for."""
    ones = [1] * (count + 2)
    strides = spatial(node, node.integers("strides", ones), "strides", count)
    dilations = spatial(node, node.integers("dilations", ones), "dilations", count)
    padding = node.choice("padding", "VALID", ("SAME", "VALID", "EXPLICIT"))
    first = 2 if is_first(node, count) else 1
    reaches = [(size - 1) * by + 1 for size, by in zip(sizes, dilations, strict=True)]
    extents = node.shape(data)[first : first + count]
    asked = node.known.of(node.sizes(wanted))
    ends = static(asked[first : first + count] if asked else None)
    widths = node.integers("explicit_paddings")
    before, after, more = [], [], []
    for place, (extent, reach, stride) in enumerate(zip(extents, reaches, strides, strict=True)):
        if padding == "EXPLICIT":
            low, high = widths[2 * (first + place)], widths[2 * (first + place) + 1]
        else:
            low = high = 0
            if padding == "SAME":
                low, high = halves(max(reach - stride, 0), "SAME_UPPER")
        plus = max(stride - reach, 0)
        if ends is not None and isinstance(extent, int):
            whole = (extent - 1) * stride + reach
            end = ends[place]
            if padding == "SAME":
                total = max((extent - 1) * stride + reach - end, 0)
                low, high = halves(total, "SAME_UPPER")
            plus = end - (whole - low - high)
            if plus < 0:
                raise node.refused("the size of the result does not fit", found=str(end))
        elif padding == "VALID":
            plus = max(stride - reach, 0)
        before.append(low)
        after.append(high)
        more.append(plus)
    return {
        "strides": tuple(strides),
        "padding": (*before, *after),
        "output_padding": tuple(more),
        "dilation": tuple(dilations),
    }


@table("Dilation2D")
def dilation(node: Node, data: Expr, weight: Expr) -> Expr:
    node.must_have_axes(data, 4, "images")
    height, width, _ = node.static_shape(weight, "weights")
    strides = spatial(node, node.integers("strides", [1] * 4), "strides", 2)
    rates = spatial(node, node.integers("rates", [1] * 4), "rates", 2)
    windows = _dilated(node, data, (height, width), strides, rates)
    return op.image.dilation2d(
        data,
        weight,
        strides=tuple(strides),
        padding=windows,
        dilations=tuple(rates),
        data_layout="NHWC",
        kernel_layout="HWI",
    )


def _dilated(
    node: Node, data: Expr, sizes: Sequence[int], strides: Sequence[int], rates: Sequence[int]
) -> tuple[int, ...]:
    found = Windows(sizes, strides, rates, "SAME_UPPER", None, first=1)
    if node.choice("padding", "VALID", ("SAME", "VALID")) == "VALID":
        return (0,) * 4
    same = found.same(node.shape(data))
    if same.pads is None:
        raise node.refused("the size of images must be known", hint=node.give_sizes)
    return same.padding
