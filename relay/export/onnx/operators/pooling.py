"""Pooling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relay import dtypes
from relay.export.onnx.exporters import Exporters
from relay.export.onnx.graph import Value
from relay.export.onnx.operators.convolution import SPACE, channels_first, each, in_layout, windows
from relay.export.onnx.step import Step

table = Exporters()


def pooled(step: Step, data: Value, write: Callable[[str, int], str]) -> str:
    """`write` applied to data with channels first, in the layout of the result."""
    layout = step.attrs.layout
    axes = data.rank - 2
    wanted = "NC" + SPACE[axes]
    found = write(channels_first(step, data, layout, wanted), axes)
    return in_layout(step, found, wanted, step.attrs.out_layout or layout)


def must_be_floats(step: Step, data: Value) -> None:
    if not dtypes.is_float(data.dtype):
        raise step.refused(f"ONNX has no means of {data.dtype}")


def window_attributes(step: Step, data: Value, axes: int) -> dict[str, Any]:
    """The windows, padded so that the last ones are whole."""
    attrs = step.attrs
    known: dict[str, Any] = {"kernel_shape": each(attrs.pool_size, axes), **windows(step, axes)}
    if not attrs.ceil_mode:
        return known
    for place, name in enumerate(SPACE[axes]):
        size = known["dilations"][place] * (known["kernel_shape"][place] - 1) + 1
        count = step.shape[(attrs.out_layout or attrs.layout).index(name)]
        end = (count - 1) * known["strides"][place] + size
        there = known["pads"][place] + data.shape[attrs.layout.index(name)]
        if (count - 1) * known["strides"][place] >= there:
            raise step.refused("a window holds nothing")
        known["pads"][axes + place] = max(end - there, known["pads"][axes + place])
    return known


@table("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d")
def max_pool(step: Step, data: Value) -> str:
    def write(given: str, axes: int) -> str:
        return step.node("MaxPool", given, **window_attributes(step, data, axes))

    return pooled(step, data, write)


@table("nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d")
def avg_pool(step: Step, data: Value) -> str:
    must_be_floats(step, data)
    counts = int(bool(step.attrs.count_include_pad))
    if counts and step.attrs.ceil_mode:
        raise step.refused("what sticks out beyond the padding would count")

    def write(given: str, axes: int) -> str:
        known = window_attributes(step, data, axes)
        return step.node("AveragePool", given, count_include_pad=counts, **known)

    return pooled(step, data, write)


@table("nn.global_max_pool2d", "nn.global_avg_pool2d")
def global_pool(step: Step, data: Value) -> str:
    operator = "GlobalMaxPool"
    if step.operator == "nn.global_avg_pool2d":
        must_be_floats(step, data)
        operator = "GlobalAveragePool"
    return pooled(step, data, lambda given, axes: step.node(operator, given))


def _adaptive(operator: str) -> Callable[..., str]:
    def export(step: Step, data: Value) -> str:
        if operator == "AveragePool":
            must_be_floats(step, data)

        def write(given: str, axes: int) -> str:
            layout = step.attrs.layout
            out_layout = step.attrs.out_layout or layout
            before = [data.shape[layout.index(axis)] for axis in SPACE[axes]]
            after = [step.shape[out_layout.index(axis)] for axis in SPACE[axes]]
            if any(old == 0 for old in before):
                raise step.refused("windows of nothing")
            if all(old % new == 0 for old, new in zip(before, after, strict=True)):
                sizes = [old // new for old, new in zip(before, after, strict=True)]
                return step.node(operator, given, kernel_shape=sizes, strides=sizes)
            for place, (old, new) in enumerate(zip(before, after, strict=True)):
                given = _one_axis(step, operator, given, 2 + place, data, old, new)
            return given

        return pooled(step, data, write)

    return export


def _one_axis(
    step: Step, operator: str, given: str, axis: int, data: Value, old: int, new: int
) -> str:
    """Windows of different sizes along one axis, gathered along a new axis; short windows repeat
    their last element."""
    starts = np.arange(new) * old // new
    ends = -(-np.arange(1, new + 1) * old // new)
    most = int((ends - starts).max())
    positions = starts[:, None] + np.arange(most)
    side_by_side = np.minimum(positions, ends[:, None] - 1).astype(np.int64)
    elements = step.node("Gather", given, step.graph.constant(side_by_side), axis=axis)
    if operator == "MaxPool":
        return step.node("ReduceMax", elements, step.integers(axis + 1), keepdims=0)
    share = np.where(positions < ends[:, None], 1 / (ends - starts)[:, None], 0)
    share = share.reshape(new, most, *[1] * (data.rank - 1 - axis))
    shares = step.graph.constant(share, "shares", data.dtype)
    weighted = step.node("Mul", elements, shares)
    return step.node("ReduceSum", weighted, step.integers(axis + 1), keepdims=0)


for count in (1, 2, 3):
    table[f"nn.adaptive_max_pool{count}d"] = _adaptive("MaxPool")
    table[f"nn.adaptive_avg_pool{count}d"] = _adaptive("AveragePool")
