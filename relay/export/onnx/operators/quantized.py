"""Integers that stand for real numbers.

Products stay integers. All else is computed with real numbers between a DequantizeLinear and a
QuantizeLinear, which is how ONNX writes it; results are at most one step apart from those that are
computed with integers, where a number lies halfway between two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
    """The numbers that integers stand for."""
    point = _point(step, zero_point, data.dtype, scale)
    return step.node("DequantizeLinear", data, scale, point, axis=axis_of(axis, max(data.rank, 1)))


def whole(
    step: Step, data: str, scale: Value, zero_point: Value, dtype: str, rank: int, axis: int = -1
) -> str:
    """The integers that stand for numbers."""
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
    """Refuse zero points that are known, and are none of the integers."""
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


# --- arithmetic ----------------------------------------------------------------------------------


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
    def write(
        step: Step,
        data: Value,
        scale: Value,
        zero_point: Value,
        output_scale: Value,
        output_zero_point: Value,
    ) -> str:
        found = write_real(step, real(step, data, scale, zero_point))
        dtype = step.result.dtype
        return whole(step, found, output_scale, output_zero_point, dtype, data.rank)

    return write


def _named(operator: str) -> Callable[[Step, str], str]:
    return lambda step, data: step.node(operator, data)


for name, operator in (
    ("sqrt", "Sqrt"),
    ("exp", "Exp"),
    ("log", "Log"),
    ("erf", "Erf"),
    ("sigmoid", "Sigmoid"),
    ("tanh", "Tanh"),
    ("hardswish", "HardSwish"),
    ("abs", "Abs"),
):
    table[f"qnn.{name}"] = _unary(_named(operator))

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


# --- products ------------------------------------------------------------------------------------


def _as_sums(step: Step, found: str) -> str:
    """Sums of 32 bits as what the result should be."""
    return step.as_result(found, "int32")


def _scalar_point(step: Step, zero_point: Value, dtype: str) -> str:
    _must_fit(step, zero_point, dtype)
    point = zero_point.name if zero_point.dtype == dtype else step.cast(zero_point, dtype)
    return point if zero_point.rank == 0 or zero_point.shape != (1,) else step.reshape(point, [])


@table("qnn.conv2d")
def conv2d(step: Step, data: Value, weight: Value, *known: Value) -> str:
    attrs = step.attrs
    given = channels_first(step, data, attrs.data_layout, "NCHW")
    turned = weights_of(step, weight, 2, output_channels(step))
    points = [
        _scalar_point(step, point, value.dtype)
        for point, value in zip(known[:2], (data, weight), strict=True)
    ]
    found = step.node("ConvInteger", given, turned, *points, group=attrs.groups, **windows(step, 2))
    return in_layout(step, _as_sums(step, found), "NCHW", attrs.out_layout or attrs.data_layout)


@table("qnn.dense")
def dense(step: Step, data: Value, weight: Value, *known: Value) -> str:
    points = [
        _scalar_point(step, point, value.dtype)
        for point, value in zip(known[:2], (data, weight), strict=True)
    ]
    return _as_sums(step, step.node("MatMulInteger", data, swapped(step, weight), *points))


@table("qnn.batch_matmul")
def batch_matmul(step: Step, left: Value, right: Value, *known: Value) -> str:
    turns = (step.attrs.transpose_a, step.attrs.transpose_b)
    factors = [
        swapped(step, value) if is_turned else value.name
        for value, is_turned in zip((left, right), turns, strict=True)
    ]
    points = [
        _scalar_point(step, point, value.dtype)
        for point, value in zip(known[:2], (left, right), strict=True)
    ]
    return _as_sums(step, step.node("MatMulInteger", *factors, *points))
