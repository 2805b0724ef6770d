"""Slices, gather, scatter and sorting."""

from __future__ import annotations

from math import prod

from relay.export.onnx.exporters import Exporters
from relay.export.onnx.graph import Value
from relay.export.onnx.step import Step, axis_of

table = Exporters()

FAR = 2**31 - 1  # bounds from here on mean the end of an axis


@table("strided_slice")
def strided_slice(step: Step, data: Value) -> str:
    attrs = step.attrs
    axes = [*range(len(attrs.begin))] if attrs.axes is None else list(attrs.axes)
    count = min(len(axes), len(attrs.begin), len(attrs.end))
    axes = [axis_of(axis, data.rank) for axis in axes[:count]]
    strides = list(attrs.strides or [1])
    steps = (strides * count if len(strides) == 1 else [*strides, *[1] * count])[:count]
    bounds = []
    for place, (axis, begin, end) in enumerate(zip(axes, attrs.begin, attrs.end, strict=False)):
        extent = data.shape[axis]
        if attrs.slice_mode == "size":
            steps[place] = 1
            first = begin + extent if begin < 0 else begin
            bounds.append((first, extent if end < 0 else first + end))
        else:
            bounds.append(_bounds(begin, end, steps[place], extent))
    starts, ends = [one for one, _ in bounds], [one for _, one in bounds]
    lists = (step.integers(*one) for one in (starts, ends, axes, steps))
    return step.node("Slice", data, *lists)


def _bounds(begin: int, end: int, by: int, extent: int) -> tuple[int, int]:
    """The bounds of a slice in ONNX, where an end before the first element is far below 0."""
    if abs(begin) >= FAR:
        begin = extent if begin > 0 else 0
    if abs(end) >= FAR:
        end = extent if end > 0 else -extent - 1
    start, stop, _ = slice(begin, end, by).indices(extent)
    return start, -(2**62) if stop < 0 else stop


@table("slice_like")
def slice_like(step: Step, data: Value, like: Value) -> str:
    zeros = step.integers(*[0] * data.rank)
    return step.node("Slice", data, zeros, step.integers(*step.shape))


@table("take")
def take(step: Step, data: Value, indices: Value) -> str:
    attrs = step.attrs
    if attrs.batch_dims:
        raise step.refused("Gather of ONNX has no axes that data and indices share")
    given: Value | str = data
    axis = attrs.axis
    if axis is None:
        extent = prod(data.shape)
        given, axis = step.reshape(data, [-1]), 0
    else:
        axis = axis_of(axis, data.rank)
        extent = data.shape[axis]
    return step.node("Gather", given, _inside(step, indices, extent, attrs.mode), axis=axis)


def _inside(step: Step, indices: Value, extent: int, mode: str) -> str:
    """Indices in range by the rule of Relay; ONNX takes others for errors."""
    array = indices.array
    if array is not None and array.size and array.min() >= 0 and array.max() < extent:
        wide = indices.dtype in ("int32", "int64")
        return indices.name if wide else step.cast(indices, "int64")
    positions = indices.name if indices.dtype == "int64" else step.cast(indices, "int64")
    if mode == "wrap":
        return step.node("Mod", positions, step.number(extent, "int64"))
    last = step.number(max(extent - 1, 0), "int64")
    return step.node("Clip", positions, step.number(0, "int64"), last)


@table("gather")
def gather(step: Step, data: Value, indices: Value) -> str:
    axis = axis_of(step.attrs.axis or 0, data.rank)
    positions = _inside(step, indices, data.shape[axis], "clip")
    return step.node("GatherElements", data, positions, axis=axis)


@table("gather_nd")
def gather_nd(step: Step, data: Value, indices: Value) -> str:
    batch = step.attrs.batch_dims
    count = indices.shape[0]
    # each component is clamped to its own axis
    most = [extent - 1 for extent in data.shape[batch : batch + count]]
    positions = step.transpose(indices, [*range(1, indices.rank), 0])
    positions = step.cast(positions, "int64")
    zero = step.number(0, "int64")
    positions = step.node("Max", step.node("Min", positions, step.integers(*most)), zero)
    return step.node("GatherND", data, positions, batch_dims=batch)


@table("check_indices")
def check_indices(step: Step, indices: Value, data: Value) -> str:
    """Gathers zeros at the indices: ONNX takes indices out of range for errors."""
    axes = [axis_of(axis, data.rank) for axis in step.attrs.axes]
    extents = [data.shape[axis] for axis in axes] or [prod(data.shape)]
    positions = step.cast(indices, "int64")
    total: str | None = None
    for number, extent in enumerate(extents):
        own = positions
        if len(axes) > 1:
            own = step.node("Gather", positions, step.number(number, "int64"), axis=0)
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
    positions = step.cast(indices, "int64")
    return step.node("ScatterElements", data, positions, updates, axis=axis, reduction=reduction)


@table("scatter_nd")
def scatter_nd(step: Step, data: Value, indices: Value, updates: Value) -> str:
    reduction = _reduction(step, step.attrs.mode)
    positions = step.cast(step.transpose(indices, [*range(1, indices.rank), 0]), "int64")
    return step.node("ScatterND", data, positions, updates, reduction=reduction)


def _reduction(step: Step, name: str) -> str:
    if name not in _REDUCTIONS:
        raise step.refused(f"ONNX does not scatter by {name}")
    return _REDUCTIONS[name]


def _ordered(step: Step, data: Value, most: int = 0) -> list[str]:
    """The sorted values and their positions; all of them without a number."""
    axis = axis_of(step.attrs.axis, data.rank)
    count = most if 0 < most < data.shape[axis] else data.shape[axis]
    attributes = {"axis": axis, "largest": int(not step.attrs.is_ascend)}
    return step.graph.several("TopK", 2, data, step.integers(count), **attributes)


@table("sort", "argsort")
def sort(step: Step, data: Value) -> str:
    values, positions = _ordered(step, data)
    return values if step.operator == "sort" else step.as_result(positions, "int64")


@table("topk")
def topk(step: Step, data: Value) -> list[str]:
    values, positions = _ordered(step, data, step.attrs.k)
    positions = step.cast(positions, step.attrs.dtype or "int32")
    wanted = {"both": [values, positions], "values": [values], "indices": [positions]}
    return wanted[step.attrs.ret_type]
