"""Slices, elements that indices name, and elements in order."""

from __future__ import annotations

from math import prod

from relay.export.onnx.exporters import Exporters
from relay.export.onnx.graph import Value
from relay.export.onnx.step import Step, axis_of

table = Exporters()

FAR = 2**31 - 1


@table("strided_slice")
def strided_slice(step: Step, data: Value) -> str:
    attrs = step.attrs
    axes = [*range(len(attrs.begin))] if attrs.axes is None else list(attrs.axes)
    axes = [axis_of(axis, data.rank) for axis in axes]
    begin, end = list(attrs.begin), list(attrs.end)
    count = min(len(axes), len(begin), len(end))
    strides = list(attrs.strides or [1])
    steps = [*strides * count] if len(strides) == 1 else [*strides, *[1] * count]
    steps = steps[:count]
    bounds = []
    for place in range(count):
        extent = data.shape[axes[place]]
        if attrs.slice_mode == "size":
            steps[place] = 1
            first = begin[place] + extent if begin[place] < 0 else begin[place]
            last = extent if end[place] < 0 else first + end[place]
            bounds.append((first, last))
        else:
            low = None if abs(begin[place]) >= FAR else begin[place]
            high = None if abs(end[place]) >= FAR else end[place]
            bounds.append(_bounds(low, high, begin[place], end[place], steps[place], extent))
    starts, ends = [one for one, _ in bounds], [one for _, one in bounds]
    lists = (step.integers(*one) for one in (starts, ends, axes[:count], steps))
    return step.node("Slice", data, *lists)


def _bounds(
    low: int | None, high: int | None, begin: int, end: int, by: int, extent: int
) -> tuple[int, int]:
    """Where a slice starts and ends, as ONNX counts: an end before the first is far below."""
    if low is None:
        low = extent if begin > 0 else 0
    if high is None:
        high = extent if end > 0 else -extent - 1
    start, stop, _ = slice(low, high, by).indices(extent)
    return start, -(2**62) if stop < 0 else stop


@table("slice_like")
def slice_like(step: Step, data: Value, like: Value) -> str:
    zeros = step.integers(*[0] * data.rank)
    return step.node("Slice", data, zeros, step.integers(*step.shape))


# --- indices -------------------------------------------------------------------------------------


@table("take")
def take(step: Step, data: Value, indices: Value) -> str:
    attrs = step.attrs
    if attrs.batch_dims:
        raise step.refused("Gather of ONNX has no axes that data and indices share")
    given: Value | str = data
    axis = attrs.axis
    if axis is None:
        extent = 1
        for one in data.shape:
            extent *= one
        given, axis = step.reshape(data, [-1]), 0
    else:
        axis = axis_of(axis, data.rank)
        extent = data.shape[axis]
    return step.node("Gather", given, _inside(step, indices, extent, attrs.mode), axis=axis)


def _inside(step: Step, indices: Value, extent: int, mode: str) -> str:
    """Indices that are all in range, by the rule of Relay; ONNX takes others for errors."""
    array = indices.array
    if array is not None and array.size and array.min() >= 0 and array.max() < extent:
        wide = indices.dtype in ("int32", "int64")
        return indices.name if wide else step.cast(indices, "int64")
    places = indices.name if indices.dtype == "int64" else step.cast(indices, "int64")
    if mode == "wrap":
        return step.node("Mod", places, step.number(extent, "int64"))
    last = step.number(max(extent - 1, 0), "int64")
    return step.node("Clip", places, step.number(0, "int64"), last)


@table("gather")
def gather(step: Step, data: Value, indices: Value) -> str:
    axis = axis_of(step.attrs.axis or 0, data.rank)
    places = _inside(step, indices, data.shape[axis], "clip")
    return step.node("GatherElements", data, places, axis=axis)


@table("gather_nd")
def gather_nd(step: Step, data: Value, indices: Value) -> str:
    batch = step.attrs.batch_dims
    count = indices.shape[0]
    # each number of a place has an axis of its own that it must be in
    most = [extent - 1 for extent in data.shape[batch : batch + count]]
    places = step.transpose(indices, [*range(1, indices.rank), 0])
    places = step.cast(places, "int64")
    zero = step.number(0, "int64")
    places = step.node("Max", step.node("Min", places, step.integers(*most)), zero)
    return step.node("GatherND", data, places, batch_dims=batch)


@table("check_indices")
def check_indices(step: Step, indices: Value, data: Value) -> str:
    """Gather of ONNX takes indices out of range for errors: it reads as many zeros as there are
    elements along the axis."""
    axes = [axis_of(axis, data.rank) for axis in step.attrs.axes]
    extents = [data.shape[axis] for axis in axes] or [prod(data.shape)]
    places = step.cast(indices, "int64")
    total: str | None = None
    for number, extent in enumerate(extents):
        own = places
        if len(axes) > 1:
            own = step.node("Gather", places, step.number(number, "int64"), axis=0)
        zeros = step.node("Expand", step.number(0, "int64"), step.integers(extent))
        read = step.node("Gather", zeros, own, axis=0)
        found = step.node("ReduceSum", read, keepdims=0)
        total = found if total is None else step.node("Add", total, found)
    assert total is not None
    return step.as_result(total, "int64")


@table("argwhere")
def argwhere(step: Step, condition: Value) -> str:
    if condition.rank == 0:
        raise step.refused("a scalar has no places")
    found = step.node("Transpose", step.node("NonZero", condition), perm=[1, 0])
    return step.as_result(found, "int64")


_REDUCTIONS = {"update": "none", "add": "add", "mul": "mul", "min": "min", "max": "max"}


@table("scatter_elements")
def scatter_elements(step: Step, data: Value, indices: Value, updates: Value) -> str:
    reduction = _reduction(step, step.attrs.reduction)
    axis = axis_of(step.attrs.axis, data.rank)
    places = step.cast(indices, "int64")
    return step.node("ScatterElements", data, places, updates, axis=axis, reduction=reduction)


@table("scatter_nd")
def scatter_nd(step: Step, data: Value, indices: Value, updates: Value) -> str:
    reduction = _reduction(step, step.attrs.mode)
    places = step.cast(step.transpose(indices, [*range(1, indices.rank), 0]), "int64")
    return step.node("ScatterND", data, places, updates, reduction=reduction)


def _reduction(step: Step, name: str) -> str:
    if name not in _REDUCTIONS:
        raise step.refused(f"ONNX does not scatter by {name}")
    return _REDUCTIONS[name]


# --- order ---------------------------------------------------------------------------------------


def _ordered(step: Step, data: Value, count: int, is_ascend: bool) -> tuple[str, str]:
    axis = axis_of(step.attrs.axis, data.rank)
    largest = int(not is_ascend)
    values, places = step.graph.several(
        "TopK", 2, data, step.integers(count), axis=axis, largest=largest
    )
    return values, places


@table("sort")
def sort(step: Step, data: Value) -> str:
    count = data.shape[axis_of(step.attrs.axis, data.rank)]
    return _ordered(step, data, count, step.attrs.is_ascend)[0]


@table("argsort")
def argsort(step: Step, data: Value) -> str:
    count = data.shape[axis_of(step.attrs.axis, data.rank)]
    return step.as_result(_ordered(step, data, count, step.attrs.is_ascend)[1], "int64")


@table("topk")
def topk(step: Step, data: Value) -> list[str]:
    extent = data.shape[axis_of(step.attrs.axis, data.rank)]
    count = step.attrs.k if 0 < step.attrs.k < extent else extent
    values, places = _ordered(step, data, count, step.attrs.is_ascend)
    places = step.cast(places, step.attrs.dtype or "int32")
    wanted = {"both": [values, places], "values": [values], "indices": [places]}
    return wanted[step.attrs.ret_type]
