"""Quantized operators.

Products stay integers. All else is computed between DequantizeLinear and QuantizeLinear, as ONNX
writes it; results differ by at most one from those computed with integers, at ties.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from relay.export.onnx.exporters import Exporters
from relay.export.onnx.graph import Value
from relay.export.onnx.operators.convolution import (
    channels_first,
    in_layout,
    output_channels,
    weights_of,
    windows,
)
from relay.export.onnx.operators.products import swapped
from relay.export.onnx.step import Step, axis_of
from relay.export.onnx.weights import integer_range

table = Exporters()


def real(step: Step, data: Value, scale: Value, zero_point: Value, axis: int = -1) -> str:
    """The real numbers that integers represent."""
    point = _point(step, zero_point, data.dtype, scale)
    return step.node("DequantizeLinear", data, scale, point, axis=axis_of(axis, max(data.rank, 1)))


def whole(
    step: Step, data: str, scale: Value, zero_point: Value, dtype: str, rank: int, axis: int = -1
) -> str:
    """The integers that represent real numbers."""
    if dtype not in ("int8", "uint8", "int16", "uint16"):
        raise step.refused(f"QuantizeLinear of ONNX gives no {dtype}")
    point = _point(step, zero_point, dtype, scale)
    return step.node("QuantizeLinear", data, scale, point, axis=axis_of(axis, max(rank, 1)))


def _point(step: Step, zero_point: Value, dtype: str, scale: Value) -> str:
    """A zero point in the element type of the integers, and in the shape of the scale."""
    _must_fit(step, zero_point, dtype)
    point: str = zero_point.name
    if zero_point.dtype != dtype:
        point = step.cast(zero_point, dtype)
    if zero_point.shape != scale.shape:
        point = step.node("Expand", point, step.integers(*scale.shape))
    return point


def _must_fit(step: Step, zero_point: Value, dtype: str) -> None:
    """Refuse constant zero points out of the range of the integers."""
    least, greatest = integer_range(dtype)
    known = zero_point.array
    if known is not None and known.size and not least <= known.min() <= known.max() <= greatest:
        raise step.refused(f"a zero point of ONNX is one of {dtype}")


@table("qnn.quantize")
def quantize(step: Step, data: Value, scale: Value, zero_point: Value) -> str:
    numbers = data.name if data.dtype == scale.dtype else step.cast(data, scale.dtype)
    return whole(step, numbers, scale, zero_point, step.result.dtype, data.rank, step.attrs.axis)


@table("qnn.dequantize")
def dequantize(step: Step, data: Value, scale: Value, zero_point: Value) -> str:
    found = real(step, data, scale, zero_point, step.attrs.axis)
    return step.as_result(found, scale.dtype)


@table("relay.op.annotation.simulated_quantize")
def simulated_quantize(
    step: Step, data: Value, dom_scale: Value, clip_min: Value, clip_max: Value
) -> str:
    """QuantizeLinear and DequantizeLinear. Where there are fewer integers than the element type
    has, data are limited before."""
    known = step.attrs
    if known.kind == 0:
        return step.node("Identity", data)
    if known.rounding != "round" or not known.sign:
        raise step.refused("QuantizeLinear of ONNX rounds ties to even, and gives negative results")
    if any(each.array is None for each in (dom_scale, clip_min, clip_max)):
        raise step.refused("QuantizeLinear of ONNX has constant scales: calibrate it before")
    scale, low, high = (
        np.broadcast_to(each.array, dom_scale.shape).astype(np.float64)  # type: ignore[arg-type]
        for each in (dom_scale, clip_min, clip_max)
    )
    least, greatest = integer_range(known.dtype)
    lowest = int(known.symmetric) - (1 << known.bits - 1 if least < 0 else 0)
    point = np.rint(lowest - low).astype(known.dtype)
    axis = axis_of(known.axis, max(data.rank, 1))
    shape = [-1 if place == axis else 1 for place in range(data.rank)] if scale.ndim else []
    if data.array is not None:
        units = data.array / scale.reshape(shape).astype(np.float32)
        limited = np.clip(np.rint(units), low.reshape(shape), high.reshape(shape))
        integers = step.constant((limited + point.reshape(shape)).astype(known.dtype))
    else:
        numbers = data.name
        if (high - low < greatest - least).any():
            ends = (np.asarray(scale * end, np.float32).reshape(shape) for end in (low, high))
            for operator, end in zip(("Max", "Min"), ends, strict=True):
                numbers = step.node(operator, numbers, step.constant(end))
        integers = step.node("QuantizeLinear", numbers, dom_scale, step.constant(point), axis=axis)
    return step.node("DequantizeLinear", integers, dom_scale, step.constant(point), axis=axis)


@table("qnn.requantize")
def requantize(
    step: Step,
    data: Value,
    input_scale: Value,
    input_zero_point: Value,
    output_scale: Value,
    output_zero_point: Value,
) -> str:
    axis = step.attrs.axis
    numbers = real(step, data, input_scale, input_zero_point, axis)
    dtype = step.result.dtype
    return whole(step, numbers, output_scale, output_zero_point, dtype, data.rank, axis)


def _binary(operator: str) -> Callable[..., str]:
    def write(step: Step, lhs: Value, rhs: Value, *known: Value) -> str:
        left = real(step, lhs, known[0], known[1], step.attrs.lhs_axis)
        right = real(step, rhs, known[2], known[3], step.attrs.rhs_axis)
        found = step.node(operator, left, right)
        rank = len(step.result.shape)
        return whole(step, found, known[4], known[5], step.result.dtype, rank)

    return write


table["qnn.add"] = _binary("Add")
table["qnn.subtract"] = _binary("Sub")
table["qnn.mul"] = _binary("Mul")


def _unary(write_real: Callable[[Step, str], str]) -> Callable[..., str]:
    def write(step: Step, data: Value, *known: Value) -> str:
        found = write_real(step, real(step, data, known[0], known[1]))
        return whole(step, found, known[2], known[3], step.result.dtype, data.rank)

    return write


@_unary
def _same(step: Step, data: str) -> str:
    """An operator with the same name in ONNX."""
    name = step.operator.removeprefix("qnn.")
    return step.node("HardSwish" if name == "hardswish" else name.capitalize(), data)


for name in ("sqrt", "exp", "log", "erf", "sigmoid", "tanh", "hardswish", "abs"):
    table[f"qnn.{name}"] = _same
table["qnn.rsqrt"] = _unary(lambda step, data: step.node("Reciprocal", step.node("Sqrt", data)))
table["qnn.leaky_relu"] = _unary(
    lambda step, data: step.node("LeakyRelu", data, alpha=float(step.attrs.alpha))
)
table["qnn.softmax"] = _unary(lambda step, data: step.node("Softmax", data, axis=step.attrs.axis))


@table("qnn.concatenate")
def concatenate(
    step: Step,
    data: Sequence[Value],
    scales: Sequence[Value],
    zero_points: Sequence[Value],
    output_scale: Value,
    output_zero_point: Value,
) -> str:
    parts = [real(step, *one) for one in zip(data, scales, zero_points, strict=True)]
    joined = step.node("Concat", *parts, axis=axis_of(step.attrs.axis, data[0].rank))
    dtype = step.result.dtype
    return whole(step, joined, output_scale, output_zero_point, dtype, data[0].rank)


def _scalar_points(step: Step, zero_points: Sequence[Value], *values: Value) -> list[str]:
    """Zero points in the element types of values, per tensor as scalars."""
    found = []
    for zero_point, value in zip(zero_points, values, strict=False):
        _must_fit(step, zero_point, value.dtype)
        same = zero_point.dtype == value.dtype
        point = zero_point.name if same else step.cast(zero_point, value.dtype)
        found.append(step.reshape(point, []) if zero_point.shape == (1,) else point)
    return found


@table("qnn.conv2d")
def conv2d(step: Step, data: Value, weight: Value, *known: Value) -> str:
    attrs = step.attrs
    given = channels_first(step, data, attrs.data_layout, "NCHW")
    kernel = weights_of(step, weight, 2, output_channels(step))
    points = _scalar_points(step, known, data, weight)
    found = step.node("ConvInteger", given, kernel, *points, group=attrs.groups, **windows(step, 2))
    return in_layout(
        step, step.as_result(found, "int32"), "NCHW", attrs.out_layout or attrs.data_layout
    )


@table("qnn.dense")
def dense(step: Step, data: Value, weight: Value, *known: Value) -> str:
    points = _scalar_points(step, known, data, weight)
    return step.as_result(step.node("MatMulInteger", data, swapped(step, weight), *points), "int32")


@table("qnn.batch_matmul")
def batch_matmul(step: Step, left: Value, right: Value, *known: Value) -> str:
    turns = (step.attrs.transpose_a, step.attrs.transpose_b)
    factors = [
        swapped(step, value) if is_turned else value.name
        for value, is_turned in zip((left, right), turns, strict=True)
    ]
    points = _scalar_points(step, known, left, right)
    return step.as_result(step.node("MatMulInteger", *factors, *points), "int32")
