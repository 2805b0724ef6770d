"""Convolutions and transposed convolutions over up to three spatial axes."""

from __future__ import annotations

from functools import partial
from typing import Any

from relay import op
from relay.frontend.common.broadcast import best_known, of_shape
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.shapes import in_batch, per_axis
from relay.ir.expr import Expr

table = Converters()

# by the number of spatial axes
_CONVOLUTIONS = (op.nn.conv1d, op.nn.conv2d, op.nn.conv3d)
_TRANSPOSED = (op.nn.conv1d_transpose, op.nn.conv2d_transpose, op.nn.conv3d_transpose)


@table("convolution", "convolution_overrideable", "_convolution")
def convolution(
    node: Node,
    input: Expr,
    weight: Expr,
    bias: Expr | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    *_: bool,
) -> Expr:
    if transposed:
        return spread(node, input, weight, bias, stride, padding, output_padding, groups, dilation)
    return convolve(node, input, weight, bias, stride, padding, dilation, groups)


@table("conv1d", "conv2d", "conv3d", "_convolution_mode")
def convolve(
    node: Node,
    input: Expr,
    weight: Expr,
    bias: Expr | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Expr:
    count = _spatial(node, weight)
    strides, dilations = (
        per_axis(node, one, count, what)
        for one, what in ((stride, "stride"), (dilation, "dilation"))
    )
    sizes = node.static_shape(weight, "weights")
    if isinstance(padding, str):
        reach = [(k - 1) * d for k, d in zip(sizes[2:], dilations, strict=True)]
        totals = reach if padding == "same" else [0] * count
        before = [total // 2 for total in totals]
        after = [total - half for total, half in zip(totals, before, strict=True)]
    else:
        before = after = per_axis(node, padding, count, "padding", 0)
    apply = partial(
        _CONVOLUTIONS[count - 1],
        strides=tuple(strides),
        padding=(*before, *after),
        dilation=tuple(dilations),
        groups=groups,
        channels=sizes[0],
        kernel_size=sizes[2:],
    )

    def compute(data: Expr) -> Expr:
        data = _with_channels(node, data, sizes[1] * groups)
        return _biased(node, apply(data, weight), bias)

    return in_batch(node, input, count + 2, compute)  # type: ignore[no-any-return]


@table("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def spread(
    node: Node,
    input: Expr,
    weight: Expr,
    bias: Expr | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Expr:
    count = _spatial(node, weight)
    sizes = node.static_shape(weight, "weights")
    pads = per_axis(node, padding, count, "padding", 0)
    apply = partial(
        _TRANSPOSED[count - 1],
        strides=tuple(per_axis(node, stride, count, "stride")),
        padding=(*pads, *pads),
        dilation=tuple(per_axis(node, dilation, count, "dilation")),
        groups=groups,
        kernel_size=sizes[2:],
        output_padding=tuple(per_axis(node, output_padding, count, "output_padding", 0)),
    )

    def compute(data: Expr) -> Expr:
        return _biased(node, apply(_with_channels(node, data, sizes[0]), weight), bias)

    return in_batch(node, input, count + 2, compute)  # type: ignore[no-any-return]


def _spatial(node: Node, weight: Expr) -> int:
    count = node.rank(weight) - 2
    if not 1 <= count <= len(_CONVOLUTIONS):
        found = str(node.type_of(weight))
        raise node.refused("the weight has another number of axes", "3 to 5", found)
    return count


def _with_channels(node: Node, data: Expr, channels: int) -> Expr:
    """Data whose channels are known: those of the weight."""
    shape = node.shape(data)
    return of_shape(node, data, (shape[0], best_known([shape[1], channels]), *shape[2:]))


def _biased(node: Node, found: Expr, bias: Expr | None) -> Expr:
    found = node.let(found)
    return found if bias is None else node.let(op.nn.bias_add(found, bias))


@table("thnn_conv2d", "_slow_conv2d_forward", "slow_conv3d", "slow_conv3d_forward")
def of_window(
    node: Node,
    self: Expr,
    weight: Expr,
    kernel_size: Any,
    bias: Expr | None = None,
    stride: Any = 1,
    padding: Any = 0,
) -> Expr:
    return convolve(node, self, weight, bias, stride, padding)


@table("slow_conv_dilated2d", "slow_conv_dilated3d")
def dilated(
    node: Node,
    self: Expr,
    weight: Expr,
    kernel_size: Any,
    bias: Expr | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
) -> Expr:
    return convolve(node, self, weight, bias, stride, padding, dilation)


@table("_conv_depthwise2d", "conv_depthwise3d")
def depthwise(
    node: Node,
    self: Expr,
    weight: Expr,
    kernel_size: Any,
    bias: Expr | None,
    stride: Any,
    padding: Any,
    dilation: Any,
) -> Expr:
    groups = node.static_extent(self, -node.rank(weight) + 1, "channels")
    return convolve(node, self, weight, bias, stride, padding, dilation, groups)


@table("slow_conv_transpose2d", "slow_conv_transpose3d")
def slow_spread(
    node: Node,
    self: Expr,
    weight: Expr,
    kernel_size: Any,
    bias: Expr | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
) -> Expr:
    return spread(node, self, weight, bias, stride, padding, output_padding, 1, dilation)


@table("conv_tbc")
def conv_tbc(node: Node, self: Expr, weight: Expr, bias: Expr, pad: int = 0) -> Expr:
    """A convolution of (time, batch, channels)."""
    data = node.let(op.transpose(self, (1, 2, 0)))
    kernel = node.let(op.transpose(weight, (2, 1, 0)))
    return op.transpose(node.let(convolve(node, data, kernel, bias, 1, pad)), (2, 0, 1))
