"""Convolutions, with images whose channels are last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tflite

from relay import op
from relay.frontend.common.builder import static
from relay.frontend.common.quantization import ROUNDED, Affine
from relay.frontend.common.windows import Windows
from relay.frontend.tflite.activation import activated, clipped
from relay.frontend.tflite.converters import Table
from relay.frontend.tflite.node import Node
from relay.ir.dims import Dim
from relay.ir.expr import Expr, const
from relay.op.qnn import op as qnn

table = Table()

PADDINGS = {tflite.Padding.SAME: "SAME_UPPER", tflite.Padding.VALID: "VALID"}
LETTERS = ("h", "w")


def padding_of(node: Node) -> str:
    """How data is padded."""
    found = PADDINGS.get(node.option("padding", 0))
    if found is None:
        raise node.refused("there is no such padding", "SAME or VALID")
    return found


def windows_of(
    node: Node, data: Expr, sizes: Sequence[Dim], axes: Sequence[str] = LETTERS
) -> Windows:
    """Windows of these sizes, with the strides, dilations and padding that options name."""
    strides = [node.option(f"stride_{one}", 1) for one in axes]
    dilations = [node.option(f"dilation_{one}_factor", 1) for one in axes]
    if min(*strides, *dilations) < 1:
        given = f"{strides}, {dilations}"
        raise node.refused("strides and dilations are positive", "1 or more", given)
    found = Windows(sizes, strides, dilations, padding_of(node), None, first=1)
    if found.automatic == "VALID":
        return found.with_pads([(0, 0)] * len(sizes))
    return found.same(node.shape(data))


@table("CONV_2D")
def conv_2d(node: Node, data: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    node.must_have_axes(data, 4, "images")
    node.must_have_axes(weight, 4, "weights")
    outputs, height, width, inputs = node.static_shape(weight, "weights")
    channels = node.static_extent(data, 3, "how many channels there are")
    if inputs < 1 or channels % inputs:
        raise node.refused(
            "weights do not fit the channels", f"a divisor of {channels}", f"{inputs}"
        )
    return _convolved(node, data, weight, bias, channels // inputs, outputs, (height, width))


@table("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(node: Node, data: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    """DEPTHWISE_CONV_2D; the last axis of weights are output channels, grouped by input channel."""
    node.must_have_axes(data, 4, "images")
    node.must_have_axes(weight, 4, "weights")
    one, height, width, outputs = node.static_shape(weight, "weights")
    channels = node.static_extent(data, 3, "how many channels there are")
    if one != 1 or channels < 1 or outputs % channels:
        expected, found = f"1, …, a multiple of {channels}", str(node.type_of(weight))
        raise node.refused("weights do not fit the channels", expected, found)
    apart = node.let(op.reshape(weight, (height, width, outputs, 1)))
    sizes = (height, width)
    return _convolved(node, data, apart, bias, channels, outputs, sizes, layout="HWOI")


def _convolved(
    node: Node,
    data: Expr,
    weight: Expr,
    bias: Expr | None,
    groups: int,
    outputs: int,
    sizes: tuple[int, int],
    layout: str = "OHWI",
) -> Expr:
    windows = windows_of(node, data, sizes)
    shape = node.shape(data)
    if windows.pads is None:
        data = windows.padded(node, data, node.zero(data))
    attributes = {
        "strides": tuple(windows.strides),
        "padding": windows.padding,
        "dilation": tuple(windows.dilations),
        "groups": groups,
        "channels": outputs,
        "kernel_size": sizes,
        "data_layout": "NHWC",
        "kernel_layout": layout,
    }
    given, kernel = node.input_affine(0), node.input_affine(1)
    if given is None or kernel is None:
        real = real_weight(node, weight, layout.index("O"))
        sums = node.let(op.nn.conv2d(node.real(data, 0), real, **attributes))
    else:
        wide = "int64" if node.dtype(data) == "int16" else "int32"
        sums = node.let(
            qnn.conv2d(
                data,
                weight,
                given.zero_point,
                without_axis(kernel.zero_point),
                given.scale,
                kernel.scale,
                **attributes,
                out_dtype=wide,
            )
        )
    if windows.pads is None:
        counts = windows.same_counts(windows.extents(shape))
        sums = node.declare(sums, (shape[0], *counts, outputs), node.dtype(sums))
    return finished(node, sums, bias, given, kernel)


def without_axis(zero_point: Expr) -> Expr:
    """The per-channel zero points of weights as a scalar; all are 0."""
    values = zero_point.data.array  # type: ignore[attr-defined]
    same = values.size and bool((values == values.flat[0]).all())
    return const(int(values.flat[0]), "int32") if same else zero_point


def real_weight(node: Node, weight: Expr, axis: int = 0) -> Expr:
    """The real numbers of weights, whose channels are along an axis now."""
    by = node.input_affine(1)
    if by is None:
        return node.as_dtype(weight, "float32")
    return node.let(qnn.dequantize(weight, by.scale, by.zero_point, axis))


def finished(
    node: Node, sums: Expr, bias: Expr | None, given: Affine | None, kernel: Affine | None
) -> Expr:
    """Accumulators plus bias, after the activation, converted to the type of the result."""
    axis = node.rank(sums) - 1
    if bias is not None:
        bias = node.let(op.reshape(bias, (-1,)))
        sums = node.let(op.nn.bias_add(sums, node.as_dtype(bias, node.dtype(sums)), axis=axis))
    if given is None or kernel is None:
        return node.as_result(node.let(activated(node, sums)))
    factor = node.let(given.scale * kernel.scale)
    result = node.result_affine()
    if result is None:
        return activated(node, node.let(op.cast(sums, "float32") * factor))
    scales = (factor, const(0, "int32"), result.scale, result.zero_point)
    whole = qnn.requantize(sums, *scales, axis=axis, out_dtype=node.result_type(), **ROUNDED)
    return clipped(node, node.let(whole))


# --- transposed convolutions, and those of volumes -----------------------------------------------


@table("TRANSPOSE_CONV")
def transpose_conv(
    node: Node, wanted: Expr, weight: Expr, data: Expr, bias: Expr | None = None
) -> Expr:
    node.must_have_axes(data, 4, "images")
    node.must_have_axes(weight, 4, "weights")
    outputs, *sizes, _ = node.static_shape(weight, "weights")
    spread = _spread(node, wanted, data, sizes, LETTERS)
    layouts = {"data_layout": "NHWC", "kernel_layout": "OHWI"}
    attributes = {**spread, **layouts, "channels": outputs, "kernel_size": tuple(sizes)}
    given, kernel = node.input_affine(2), node.input_affine(1)
    if given is None or kernel is None:
        real = real_weight(node, weight)
        sums = op.nn.conv2d_transpose(node.real(data, 2), real, **attributes)
        return finished(node, node.let(sums), bias, None, None)
    zeros = (given.zero_point, without_axis(kernel.zero_point))
    wide = "int64" if node.dtype(data) == "int16" else "int32"
    scales = (given.scale, kernel.scale)
    found = qnn.conv2d_transpose(data, weight, *zeros, *scales, **attributes, out_dtype=wide)
    return finished(node, node.let(found), bias, given, kernel)


def _spread(
    node: Node, wanted: Expr, data: Expr, sizes: Sequence[int], letters: Sequence[str]
) -> dict[str, Any]:
    """The strides of a transposed convolution, and what is cropped so that its result is as large
    as asked for."""
    strides = [node.option(f"stride_{one}", 1) for one in letters]
    padding_of(node)
    extents = [node.static_extent(data, 1 + at, "the size of images") for at in range(len(sizes))]
    asked = node.known.of(node.sizes(wanted))
    ends = static(asked[1:-1] if asked else None)
    if ends is None or len(ends) != len(sizes) or min(strides) < 1:
        raise node.refused("the size of the result must be known before the model runs")
    before, after, more = [], [], []
    for extent, size, stride, end in zip(extents, sizes, strides, ends, strict=True):
        total = (extent - 1) * stride + size - end
        before.append(max(total, 0) // 2)
        after.append(max(total, 0) - max(total, 0) // 2)
        more.append(max(-total, 0))
    return {
        "strides": tuple(strides),
        "padding": (*before, *after),
        "output_padding": tuple(more),
    }


VOLUMES = ("d", "h", "w")


@table.of_reals("CONV_3D")
def conv_3d(node: Node, data: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    node.must_have_axes(data, 5, "volumes")
    node.must_have_axes(weight, 5, "weights")
    *sizes, inputs, outputs = node.static_shape(weight, "weights")
    channels = node.static_extent(data, 4, "how many channels there are")
    if inputs < 1 or channels % inputs:
        expected = f"a divisor of {channels}"
        raise node.refused("weights do not fit the channels", expected, f"{inputs}")
    windows = windows_of(node, data, sizes, VOLUMES)
    if windows.pads is None:
        raise node.refused("the size of volumes must be known", hint=node.give_sizes)
    sums = op.nn.conv3d(
        data,
        weight,
        strides=tuple(windows.strides),
        padding=windows.padding,
        dilation=tuple(windows.dilations),
        groups=channels // inputs,
        channels=outputs,
        kernel_size=tuple(sizes),
        data_layout="NDHWC",
        kernel_layout="DHWIO",
    )
    return finished(node, node.let(sums), bias, None, None)


@table.of_reals("CONV_3D_TRANSPOSE")
def conv_3d_transpose(
    node: Node, wanted: Expr, weight: Expr, data: Expr, bias: Expr | None = None
) -> Expr:
    node.must_have_axes(data, 5, "volumes")
    node.must_have_axes(weight, 5, "weights")
    *sizes, outputs, _ = node.static_shape(weight, "weights")
    spread = _spread(node, wanted, data, sizes, VOLUMES)
    layouts = {"data_layout": "NDHWC", "kernel_layout": "DHWOI"}
    sums = op.nn.conv3d_transpose(
        data, weight, **spread, **layouts, channels=outputs, kernel_size=tuple(sizes)
    )
    return finished(node, node.let(sums), bias, None, None)
