"""Reshapes, transpositions, concatenation, splits and padding."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from relay.export.onnx.exporters import Exporters
from relay.export.onnx.graph import Value
from relay.export.onnx.step import Step, axis_of

table = Exporters()


@table(
    "reshape",
    "contrib_reverse_reshape",
    "reshape_like",
    "nn.batch_flatten",
    "expand_dims",
    "squeeze",
)
def reshape(step: Step, data: Value, *like: Value) -> str:
    return step.reshape(data, step.shape)


@table("shape_of", "ndarray_size")
def shape_of(step: Step, data: Value) -> str:
    operator = "Shape" if step.operator == "shape_of" else "Size"
    return step.as_result(step.node(operator, data), "int64")


@table("broadcast_to", "broadcast_to_like")
def broadcast_to(step: Step, data: Value, *like: Value) -> str:
    return step.node("Expand", data, step.integers(*step.shape))


@table("collapse_sum_like", "collapse_sum_to")
def collapse(step: Step, data: Value, *like: Value) -> str:
    wanted = [*[1] * (data.rank - len(step.shape)), *step.shape]
    axes = [axis for axis, extent in enumerate(data.shape) if wanted[axis] != extent]
    summed: Value | str = data
    if axes:
        summed = step.node("ReduceSum", data, step.integers(*axes))
    return step.reshape(summed, step.shape)


@table("tile")
def tile(step: Step, data: Value) -> str:
    times = step.attrs.reps
    rank = max(len(times), data.rank)
    shape = [*[1] * (rank - data.rank), *data.shape]
    given: Value | str = data if rank == data.rank else step.reshape(data, shape)
    return step.node("Tile", given, step.integers(*[1] * (rank - len(times)), *times))


@table("repeat")
def repeat(step: Step, data: Value) -> str:
    shape = list(data.shape)
    axis = step.attrs.axis
    if axis is None:
        shape, axis = [prod(shape)], 0
    axis = axis_of(axis, len(shape))
    times = int(step.attrs.repeats)
    split = step.reshape(data, [*shape[: axis + 1], 1, *shape[axis + 1 :]])
    wide = [*shape[: axis + 1], times, *shape[axis + 1 :]]
    return step.reshape(step.node("Expand", split, step.integers(*wide)), step.shape)


@table("transpose")
def transpose(step: Step, data: Value) -> str:
    axes = step.attrs.axes
    order = [*reversed(range(data.rank))] if not axes else [axis_of(a, data.rank) for a in axes]
    return step.node("Identity", step.transpose(data, order))


@table("reverse")
def reverse(step: Step, data: Value) -> str:
    axis = step.attrs.axis
    axes = [*range(data.rank)] if axis is None else [axis] if isinstance(axis, int) else [*axis]
    starts, ends, steps = ([number] * len(axes) for number in (-1, -(2**62), -1))
    bounds = (step.integers(*one) for one in (starts, ends, axes, steps))
    return step.node("Slice", data, *bounds)


@table("concatenate")
def concatenate(step: Step, data: Sequence[Value]) -> str:
    return step.node("Concat", *data, axis=axis_of(step.attrs.axis, data[0].rank))


@table("stack")
def stack(step: Step, data: Sequence[Value]) -> str:
    axis = axis_of(step.attrs.axis, data[0].rank + 1)
    parts = [step.node("Unsqueeze", one, step.integers(axis)) for one in data]
    return step.node("Concat", *parts, axis=axis)


@table("split")
def split(step: Step, data: Value) -> list[str]:
    axis = axis_of(step.attrs.axis, data.rank)
    how = step.attrs.indices_or_sections
    extent = data.shape[axis]
    if isinstance(how, int):
        sizes = [extent // how] * how
    else:
        ends = [min(max(one, 0), extent) for one in how]
        sizes = [max(b - a, 0) for a, b in zip([0, *ends], [*ends, extent], strict=True)]
    return step.graph.several("Split", len(sizes), data, step.integers(*sizes), axis=axis)


@table("layout_transform")
def layout_transform(step: Step, data: Value) -> str:
    before, after = step.attrs.src_layout, step.attrs.dst_layout
    if sorted(before) != sorted(after) or not before.isupper():
        raise step.refused(f"ONNX has no blocks of axes: {before} to {after}")
    return step.node("Identity", step.transpose(data, [before.index(axis) for axis in after]))


@table("nn.depth_to_space")
def depth_to_space(step: Step, data: Value) -> str:
    return _blocks(step, data, "DepthToSpace", mode=step.attrs.mode)


@table("nn.space_to_depth")
def space_to_depth(step: Step, data: Value) -> str:
    if step.attrs.mode != "DCR":
        raise step.refused("SpaceToDepth of ONNX has blocks in front of channels")
    return _blocks(step, data, "SpaceToDepth")


def _blocks(step: Step, data: Value, operator: str, **attributes: str) -> str:
    layout = step.attrs.layout
    into = [layout.index(axis) for axis in "NCHW"]
    size = step.attrs.block_size
    found = step.node(operator, step.transpose(data, into), blocksize=size, **attributes)
    return step.transpose(found, ["NCHW".index(axis) for axis in layout])


@table("trilu")
def trilu(step: Step, data: Value, diagonal: Value) -> str:
    k = step.cast(diagonal, "int64")
    return step.node("Trilu", data, k, upper=int(bool(step.attrs.upper)))


@table("nn.pad")
def pad(step: Step, data: Value, value: Value) -> str:
    mode = step.attrs.pad_mode
    given = step.as_result(value.name, value.dtype) if mode == "constant" else None
    return _padded(step, data, mode, given)


@table("nn.mirror_pad")
def mirror_pad(step: Step, data: Value) -> str:
    if step.attrs.mode != "REFLECT":
        raise step.refused("Pad of ONNX does not repeat the elements at the edge")
    return _padded(step, data, "reflect", None)


def _padded(step: Step, data: Value, mode: str, value: str | None) -> str:
    widths = step.attrs.pad_width
    if not widths:
        return step.transpose(data, [])
    pads = step.integers(*(before for before, _ in widths), *(after for _, after in widths))
    return step.node("Pad", data, pads, value, mode=mode)
