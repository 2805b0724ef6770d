"""Normalization, softmax and losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay.export.onnx.exporters import Exporters
from relay.export.onnx.graph import Value
from relay.export.onnx.operators.elementwise import along
from relay.export.onnx.step import Step, axis_of

table = Exporters()


@table("nn.softmax", "nn.fast_softmax", "nn.log_softmax")
def softmax(step: Step, data: Value) -> str:
    operator = "LogSoftmax" if step.operator == "nn.log_softmax" else "Softmax"
    return step.node(operator, data, axis=axis_of(step.attrs.axis, data.rank))


@table("nn.bias_add")
def bias_add(step: Step, data: Value, bias: Value) -> str:
    return step.node("Add", data, along(step, bias, data, step.attrs.axis))


@table("nn.dropout")
def dropout(step: Step, data: Value) -> list[str]:
    """The identity: nothing is dropped for inference."""
    ones = step.node("Expand", step.number(1, data.dtype), step.integers(*data.shape))
    return [step.node("Identity", data), ones]


def _axis_moved(rank: int, axis: int, to: int) -> tuple[list[int], list[int]]:
    """The permutation that moves an axis, and its inverse."""
    order = [one for one in range(rank) if one != axis]
    order.insert(to, axis)
    return order, [order.index(one) for one in range(rank)]


def scale_and_shift(step: Step, gamma: Value, beta: Value) -> tuple[str, str]:
    """The scales and offsets of channels, or ones and zeros."""
    shape = step.integers(*gamma.shape)
    scale = gamma.name if step.attrs.scale else None
    shift = beta.name if step.attrs.center else None
    return (
        scale or step.node("Expand", step.number(1, gamma.dtype), shape),
        shift or step.node("Expand", step.number(0, beta.dtype), shape),
    )


@table("nn.batch_norm")
def batch_norm(
    step: Step, data: Value, gamma: Value, beta: Value, mean: Value, variance: Value
) -> list[str]:
    if data.rank < 2:
        raise step.refused("BatchNormalization of ONNX needs a batch")
    found = _normalized(step, "BatchNormalization", data, gamma, beta, 1, (mean, variance))
    return [found, mean.name, variance.name]


def _normalized(
    step: Step,
    operator: str,
    data: Value,
    gamma: Value,
    beta: Value,
    place: int,
    statistics: Sequence[Value] = (),
    **more: int,
) -> str:
    """The operator of ONNX, which has the axis of gamma and beta at `place`."""
    order, back = _axis_moved(data.rank, axis_of(step.attrs.axis, data.rank), place)
    inputs: Sequence[Any] = (
        step.transpose(data, order),
        *scale_and_shift(step, gamma, beta),
        *statistics,
    )
    found = step.node(operator, *inputs, epsilon=float(step.attrs.epsilon), **more)
    return step.transpose(found, back)


@table("nn.layer_norm", "nn.instance_norm", "nn.group_norm")
def norm(step: Step, data: Value, gamma: Value, beta: Value) -> str:
    if step.operator == "nn.layer_norm":
        return _normalized(step, "LayerNormalization", data, gamma, beta, data.rank - 1, axis=-1)
    if step.operator == "nn.instance_norm":
        return _normalized(step, "InstanceNormalization", data, gamma, beta, 1)
    groups = step.attrs.num_groups
    return _normalized(step, "GroupNormalization", data, gamma, beta, 1, num_groups=groups)


@table("nn.l2_normalize")
def l2_normalize(step: Step, data: Value) -> str:
    axis = step.attrs.axis
    axes = [*range(data.rank)] if axis is None else [axis_of(one, data.rank) for one in axis]
    squares = step.node("Mul", data, data)
    total = step.node("ReduceSum", squares, step.integers(*axes))
    least = step.node("Max", total, step.number(step.attrs.eps, data.dtype))
    return step.node("Div", data, step.node("Sqrt", least))


@table("nn.lrn")
def lrn(step: Step, data: Value) -> str:
    attrs = step.attrs
    if attrs.size % 2 == 0:
        raise step.refused("LRN of ONNX has one more neighbor after an element than before it")
    order, back = _axis_moved(data.rank, axis_of(attrs.axis, data.rank), 1)
    numbers = {name: float(getattr(attrs, name)) for name in ("alpha", "beta", "bias")}
    found = step.node("LRN", step.transpose(data, order), size=attrs.size, **numbers)
    return step.transpose(found, back)


@table("nn.cross_entropy", "nn.cross_entropy_with_logits")
def cross_entropy(step: Step, x: Value, y: Value) -> str:
    logits = step.node("Log", x) if step.operator == "nn.cross_entropy" else x.name
    total = step.node("ReduceSum", step.node("Mul", logits, y), keepdims=0)
    return step.node("Div", step.node("Neg", total), step.number(x.shape[0], x.dtype))
