"""Convolutions: other layouts are transposed to channels first and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay.export.onnx.exporters import Exporters
from relay.export.onnx.graph import Value
from relay.export.onnx.step import Step

table = Exporters()

SPACE = {1: "W", 2: "HW", 3: "DHW"}


def channels_first(step: Step, value: Value | str, layout: str, wanted: str) -> str:
    """A tensor transposed from a layout to that of ONNX."""
    if sorted(layout) != sorted(wanted):
        raise step.refused(f"ONNX has no layout {layout}")
    return step.transpose(value, [layout.index(axis) for axis in wanted])


def in_layout(step: Step, value: str, wanted: str, layout: str) -> str:
    """A result of ONNX transposed to its layout."""
    return channels_first(step, value, wanted, layout or wanted)


def pads(padding: Sequence[int], axes: int) -> list[int]:
    """Padding before all axes, then after all."""
    if len(padding) == 1:
        return [*padding] * (2 * axes)
    return [*padding, *padding] if len(padding) == axes else [*padding]


def each(numbers: Sequence[int], axes: int) -> list[int]:
    return [*numbers] * axes if len(numbers) == 1 else [*numbers]


def windows(step: Step, axes: int) -> dict[str, Any]:
    """The attributes that convolutions and pools share."""
    return {
        "strides": each(step.attrs.strides, axes),
        "dilations": each(step.attrs.dilation, axes),
        "pads": pads(step.attrs.padding, axes),
    }


def weights_of(step: Step, weight: Value, axes: int, outputs: int) -> str:
    """Weights as (outputs, inputs per group, window)."""
    wanted = "OI" + SPACE[axes]
    kernel = channels_first(step, weight, step.attrs.kernel_layout, wanted)
    shape = [weight.shape[step.attrs.kernel_layout.index(axis)] for axis in wanted]
    if shape[0] == outputs:
        return kernel
    # depthwise weights may have a separate axis for the multiplier
    return step.reshape(kernel, [outputs, 1, *shape[2:]])


def output_channels(step: Step) -> int:
    layout: str = step.attrs.out_layout or step.attrs.data_layout
    return step.shape[layout.index("C")]


@table("nn.conv1d", "nn.conv2d", "nn.conv3d")
def convolution(step: Step, data: Value, weight: Value) -> str:
    axes = data.rank - 2
    wanted = "NC" + SPACE[axes]
    attrs = step.attrs
    given = channels_first(step, data, attrs.data_layout, wanted)
    kernel = weights_of(step, weight, axes, output_channels(step))
    dtype = step.result.dtype
    given = given if data.dtype == dtype else step.cast(given, dtype)
    kernel = kernel if weight.dtype == dtype else step.cast(kernel, dtype)
    found = step.node("Conv", given, kernel, group=attrs.groups, **windows(step, axes))
    return in_layout(step, found, wanted, attrs.out_layout or attrs.data_layout)


@table("nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose")
def transposed(step: Step, data: Value, weight: Value) -> str:
    axes = data.rank - 2
    wanted = "NC" + SPACE[axes]
    attrs = step.attrs
    if step.result.dtype != data.dtype:
        raise step.refused(f"the sums of ConvTranspose are of {data.dtype}")
    given = channels_first(step, data, attrs.data_layout, wanted)
    kernel = channels_first(step, weight, attrs.kernel_layout, "IO" + SPACE[axes])
    more = {"group": attrs.groups, "output_padding": each(attrs.output_padding, axes)}
    found = step.node("ConvTranspose", given, kernel, **more, **windows(step, axes))
    return in_layout(step, found, wanted, attrs.out_layout or attrs.data_layout)
