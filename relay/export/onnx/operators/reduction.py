"""Reductions and scans along axes."""

from __future__ import annotations

from math import prod

from relay.export.onnx.exporters import Exporters
from relay.export.onnx.graph import Value
from relay.export.onnx.step import Step, axis_of

table = Exporters()


def reduced_axes(step: Step, rank: int) -> list[int]:
    """The axes that are reduced, from the front."""
    if step.attrs.axis is None:
        return [*range(rank)]
    named = {axis_of(axis, rank) for axis in step.attrs.axis}
    return [axis for axis in range(rank) if (axis in named) != bool(step.attrs.exclude)]


def reduced(step: Step, operator: str, data: Value | str, axes: list[int]) -> str:
    """A reduction; one over no axes is the identity."""
    attributes = {"keepdims": int(step.attrs.keepdims), "noop_with_empty_axes": 1}
    return step.node(operator, data, step.integers(*axes), **attributes)


@table("prod", "max", "min", "mean", "sum", "all", "any")
def reduction(step: Step, data: Value) -> str:
    # booleans are compared as numbers
    name = {"all": "Min", "any": "Max"}.get(step.operator, step.operator.capitalize())
    if step.operator == "sum" and data.dtype == "bool":
        name = "Max"
    return reduced(step, f"Reduce{name}", data, reduced_axes(step, data.rank))


@table("variance")
def variance(step: Step, data: Value, mean: Value) -> str:
    axes = reduced_axes(step, data.rank)
    distance = step.node("Sub", data, mean)
    found = reduced(step, "ReduceMean", step.node("Mul", distance, distance), axes)
    if not step.attrs.unbiased:
        return found
    count = prod(data.shape[axis] for axis in axes)
    return step.node("Mul", found, step.number(count / (count - 1), data.dtype))


@table("argmax", "argmin")
def position(step: Step, data: Value) -> str:
    operator = "ArgMax" if step.operator == "argmax" else "ArgMin"
    axes = reduced_axes(step, data.rank)
    given: Value | str = data
    if len(axes) == 1:
        axis, keep = axes[0], int(step.attrs.keepdims)
    elif axes == [*range(data.rank)]:
        # a flat position
        given, axis, keep = step.reshape(data, [-1]), 0, 0
    else:
        raise step.refused("ONNX finds positions along one axis, or all")
    last = int(step.attrs.select_last_index)
    found = step.node(operator, given, axis=axis, keepdims=keep, select_last_index=last)
    if len(axes) != 1 and step.attrs.keepdims:
        found = step.reshape(found, [1] * data.rank)
    return step.as_result(found, "int64")


@table("cumsum")
def cumsum(step: Step, data: Value) -> str:
    given: Value | str = data
    axis = step.attrs.axis
    if axis is None:
        given, axis = step.reshape(data, [-1]), 0
    if step.result.dtype != data.dtype:
        given = step.cast(given, step.result.dtype)
    axis_name = step.graph.constant(axis_of(axis, max(data.rank, 1)), "axis", "int64")
    return step.node("CumSum", given, axis_name, exclusive=int(bool(step.attrs.exclusive)))
