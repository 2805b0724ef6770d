"""Pooling over windows, global pooling, adaptive pooling."""

from __future__ import annotations

from typing import Any

from relay import dtypes, op
from relay.frontend.common.builder import int64
from relay.frontend.common.windows import Windows
from relay.frontend.keras.converters import Table
from relay.frontend.keras.layers.convolution import declared, layout_of, rank_of, windows_of
from relay.frontend.keras.node import Node
from relay.ir.expr import Expr
from relay.op.building.numerics import limits

table = Table()

MAXIMA = {1: op.nn.max_pool1d, 2: op.nn.max_pool2d, 3: op.nn.max_pool3d}
MEANS = {1: op.nn.avg_pool1d, 2: op.nn.avg_pool2d, 3: op.nn.avg_pool3d}


def _windows(node: Node, data: Expr) -> Windows:
    rank = rank_of(node, data)
    sizes = node.whole_numbers("pool_size", rank, 2)
    given = node.config.get("strides")
    strides = sizes if given is None else node.whole_numbers("strides", rank)
    padding = node.option("padding", "valid").lower()
    return windows_of(node, data, sizes, strides, (1,) * rank, padding, node.channels_last)


def pooled(node: Node, data: Expr, windows: Windows, last: bool, is_maximum: bool) -> Expr:
    """Max or average pooling; padding is not counted."""
    rank = len(windows.sizes)
    attributes: dict[str, Any] = {
        "pool_size": tuple(windows.sizes),
        "strides": tuple(windows.strides),
        "padding": windows.padding,
        "layout": layout_of(rank, last),
    }
    shape = node.shape(data)
    operator = MAXIMA[rank] if is_maximum else MEANS[rank]
    if windows.pads is not None:
        return node.let(operator(data, **attributes))
    counts = windows.same_counts(windows.extents(shape))

    def framed(one: Expr, around: Expr) -> Expr:
        padded = windows.padded(node, one, around)
        found = node.let(operator(padded, **attributes))
        own = node.shape(one)
        channels = own[-1] if last else own[1]
        return declared(node, found, own[0], counts, channels, last)

    if is_maximum:
        lowest, _ = limits(dtypes.to_numpy(node.dtype(data)))
        return framed(data, node.number(lowest, data))
    # the share of elements inside data: the mean of ones padded with zeros
    first, end = windows.first, windows.first + rank
    one = int64([1])
    parts = [one, node.extents(data, first, end), one]
    ends = (1, *shape[first:end], 1)
    if not last:
        parts, ends = [one, one, parts[1]], (1, 1, *shape[first:end])
    extents = op.concatenate(parts, axis=0)
    ones = node.declare(op.dyn.ones(extents, node.dtype(data)), ends, node.dtype(data))
    zero = node.number(0, data)
    return node.let(framed(data, zero) / framed(ones, zero))


@table("MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "MaxPool1D", "MaxPool2D", "MaxPool3D")
def max_pool(node: Node, inputs: Expr) -> Expr:
    return pooled(node, inputs, _windows(node, inputs), node.channels_last, True)


@table("AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "AvgPool1D", "AvgPool2D",
       "AvgPool3D")  # fmt: skip
def average_pool(node: Node, inputs: Expr) -> Expr:
    return pooled(node, inputs, _windows(node, inputs), node.channels_last, False)


def _spatial(node: Node, inputs: Expr) -> tuple[int, ...]:
    """The spatial axes of data."""
    rank = rank_of(node, inputs)
    first = 1 if node.channels_last else 2
    return tuple(range(first, first + rank))


@table("GlobalMaxPooling1D", "GlobalMaxPooling2D", "GlobalMaxPooling3D", "GlobalMaxPool1D",
       "GlobalMaxPool2D", "GlobalMaxPool3D")  # fmt: skip
def global_max_pool(node: Node, inputs: Expr) -> Expr:
    axes = _spatial(node, inputs)
    return op.max(inputs, axis=axes, keepdims=bool(node.option("keepdims", False)))


@table("GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D",
       "GlobalAvgPool1D", "GlobalAvgPool2D", "GlobalAvgPool3D")  # fmt: skip
def global_average_pool(node: Node, inputs: Expr, mask: Expr | None = None) -> Expr:
    axes, keeps = _spatial(node, inputs), bool(node.option("keepdims", False))
    counted = mask if mask is not None else node.mask(inputs)
    if counted is None or len(axes) > 1:
        return op.mean(inputs, axis=axes, keepdims=keeps)
    weights = node.let(op.cast(counted, node.dtype(inputs)))
    weights = node.let(op.expand_dims(weights, 2 if node.channels_last else 1))
    total = op.sum(node.let(inputs * weights), axis=axes, keepdims=keeps)
    return total / op.sum(weights, axis=axes, keepdims=keeps)


ADAPTIVE_MAXIMA = {
    1: op.nn.adaptive_max_pool1d, 2: op.nn.adaptive_max_pool2d, 3: op.nn.adaptive_max_pool3d
}  # fmt: skip
ADAPTIVE_MEANS = {
    1: op.nn.adaptive_avg_pool1d, 2: op.nn.adaptive_avg_pool2d, 3: op.nn.adaptive_avg_pool3d
}  # fmt: skip


@table("AdaptiveMaxPooling1D", "AdaptiveMaxPooling2D", "AdaptiveMaxPooling3D",
       "AdaptiveAveragePooling1D", "AdaptiveAveragePooling2D",
       "AdaptiveAveragePooling3D")  # fmt: skip
def adaptive_pool(node: Node, inputs: Expr) -> Expr:
    rank = rank_of(node, inputs)
    sizes = node.whole_numbers("output_size", rank)
    operators = ADAPTIVE_MAXIMA if "Max" in node.operator else ADAPTIVE_MEANS
    layout = layout_of(rank, node.channels_last)
    return operators[rank](inputs, output_size=sizes, layout=layout)
