"""Some of the elements: slices, and elements named by index tensors.

An index tensor never reads outside: indices are clamped to the axis, or wrapped where asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Literal

import numpy as np

from relay.errors import Diagnostic, EvaluationError
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType, Type
from relay.op.opdef import FusionKind, Tensor, define, sample
from relay.op.site import INTEGER, Site

# --- slices ------------------------------------------------------------------------------------

# From here on a bound means the end of the axis: it is what people write for "all the rest".
UNBOUNDED = 2**31 - 1


@attrs
class StridedSliceAttrs(Attrs):
    """begin: where each slice starts; negative counts from the back
    end: where it ends, exclusive; in mode "size" its length, where negative is all the rest
    strides: the distance between elements, which may be negative; None is 1 everywhere
    axes: the axes that are sliced; None is the first ones
    slice_mode: what `end` means; in mode "size" strides are not used
    """

    begin: tuple[int, ...]
    end: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    axes: tuple[int, ...] | None = None
    slice_mode: Literal["end", "size"] = "end"


def _slices(known: StridedSliceAttrs) -> list[tuple[int, int, int]]:
    """(begin, end or size, stride) for each axis that is sliced; short lists are filled up."""
    count = max(len(known.begin), len(known.end), len(known.strides or ()))
    found = []
    for i in range(count):
        stride = 1
        if known.slice_mode == "end" and known.strides and i < len(known.strides):
            stride = known.strides[i]
        first = 0 if stride > 0 else UNBOUNDED
        rest = UNBOUNDED if stride > 0 else -UNBOUNDED
        if known.slice_mode == "size":
            rest = -1
        begin = known.begin[i] if i < len(known.begin) else first
        end = known.end[i] if i < len(known.end) else rest
        found.append((begin, end, stride))
    return found


def _from_front(bound: int, extent: Dim) -> Dim:
    """A bound counted from the front, not yet clamped to the axis."""
    if bound >= UNBOUNDED:
        return extent
    return bound if bound >= 0 else dims.add(extent, bound)


def _length(extent: Dim, begin: int, end: int, stride: int) -> Dim:
    """How many elements begin:end:stride takes of an axis, by the rules of Python's slices.

    Clamping a bound is a minimum or a maximum, which is kept outside of the arithmetic: the length
    is the least of those that `spans` would give. Only bounds that matter are clamped; a start
    past the end, or an end before the start, makes a span negative.
    """
    first, last = _from_front(begin, extent), _from_front(end, extent)
    steps = abs(stride)
    if stride > 0:
        if begin < 0 and (end < 0 or end >= UNBOUNDED):  # last - max(first, 0)
            spans = [dims.subtract(last, first), last]
        else:
            first = dims.maximum(first, 0) if begin < 0 else first
            lasts = (last, extent) if end >= 0 else (last,)
            spans = [dims.subtract(bound, first) for bound in lasts]
    else:
        top = dims.subtract(extent, 1)
        first = top if begin >= UNBOUNDED else first
        if end < 0 and (begin < 0 or begin >= UNBOUNDED):  # first - max(last, -1)
            spans = [dims.add(first, 1)]
            if end > -UNBOUNDED:
                spans.append(dims.subtract(first, last))
        else:
            last = dims.maximum(last, -1) if end < 0 else last
            firsts = (first, top) if begin >= 0 else (first,)
            spans = [dims.subtract(bound, last) for bound in firsts]
    lengths = [dims.floor_divide(dims.add(span, steps - 1), steps) for span in spans]
    return reduce(dims.minimum, [dims.maximum(length, 0) for length in lengths])


def _sized_length(extent: Dim, begin: int, wanted: int) -> Dim:
    """How many elements are there of the `wanted` ones from `begin` on; negative is all."""
    rest = _length(extent, begin, UNBOUNDED, 1)
    return rest if wanted < 0 else dims.minimum(rest, wanted)


def _strided_slice_type(site: Site) -> Type | None:
    """Each sliced axis is as long as Python's slice of it."""
    if (data := site.tensor(0)) is None:
        return None
    known: StridedSliceAttrs = site.attrs
    slices = _slices(known)
    axes: Sequence[int] = range(len(slices)) if known.axes is None else known.axes
    axes = site.axes(axes, len(data.shape), name="axes")
    site.require(
        len(axes) == len(slices),
        "`axes` and `begin` differ in length",
        f"{len(axes)} slices",
        f"begin = {known.begin}, end = {known.end}",
    )
    shape = list(data.shape)
    for axis, (begin, end, stride) in zip(axes, slices, strict=True):
        site.require(stride != 0, "a stride is zero", "strides other than 0", str(known.strides))
        if known.slice_mode == "size":
            shape[axis] = _sized_length(shape[axis], begin, end)
        else:
            shape[axis] = _length(shape[axis], begin, end, stride)
    return TensorType(tuple(shape), data.dtype)


def _strided_slice(data: np.ndarray, **keywords: Any) -> np.ndarray:
    known = StridedSliceAttrs(**keywords)
    slices = _slices(known)
    axes = range(len(slices)) if known.axes is None else known.axes
    index = [slice(None)] * data.ndim
    for axis, (begin, end, stride) in zip(axes, slices, strict=True):
        last = None if (end if stride > 0 else -end) >= UNBOUNDED else end
        if known.slice_mode == "size":
            begin = max(begin + data.shape[axis], 0) if begin < 0 else begin
            last = None if end < 0 else begin + end
        index[axis] = slice(begin, last, stride)
    return data[tuple(index)]


strided_slice = define(
    "strided_slice",
    doc="A slice along each axis, with bounds counted and clamped as in Python. A bound of "
    "2**31 - 1 or more is the end of the axis, its negative the beginning.",
    arguments=[("data", "the input")],
    attrs=StridedSliceAttrs,
    relation=_strided_slice_type,
    reference=_strided_slice,
    fusion=FusionKind.INJECTIVE,
    samples=[
        sample((5, 6), begin=(1, 0), end=(4, 3)),
        sample((5, 6), begin=(-3,), end=(100,), strides=(2,)),
        sample((5, 6), begin=(4, -2), end=(-6, 1), strides=(-1, -2)),
        sample((5, 6), begin=(1,), end=(-1,), axes=(-1,), dtype="int32"),
        sample((5, 6), begin=(1, -3), end=(2, -1), slice_mode="size"),
        sample((5, 6), begin=(2,), end=(UNBOUNDED,), axes=(1,)),
        sample((5, 6), begin=(-1,), end=(-UNBOUNDED,), strides=(-2,)),
        sample((5,), begin=(4,), end=(2,)),
    ],
)

# --- take --------------------------------------------------------------------------------------


@attrs
class TakeAttrs(Attrs):
    """axis: the axis that indices select from; None flattens data first
    batch_dims: how many leading axes data and indices share
    mode: indices outside the axis are clamped ("clip") or wrapped around ("wrap"); "fast" promises
    that there are none, and clamps like "clip"
    """

    axis: int | None = None
    batch_dims: int = 0
    mode: Literal["clip", "wrap", "fast"] = "clip"


def _take_type(site: Site) -> Type | None:
    """data[:axis] + indices[batch_dims:] + data[axis + 1:]"""
    site.require_elements(1, INTEGER)
    if (operands := site.tensors()) is None:
        return None
    data, indices = operands
    known: TakeAttrs = site.attrs
    if known.axis is None:
        site.require(
            known.batch_dims == 0, "`batch_dims` needs an axis", "0", str(known.batch_dims)
        )
        return TensorType(indices.shape, data.dtype)
    axis = site.axis(known.axis, len(data.shape))
    rank = len(indices.shape)
    shared = known.batch_dims + rank if known.batch_dims < 0 else known.batch_dims
    site.require(
        0 <= shared <= min(axis, rank),
        "`batch_dims` is out of range",
        f"at most the axis, {axis}, and the rank of indices, {rank}",
        f"batch_dims = {known.batch_dims}",
    )
    batch = [
        site.require_equal(a, b, f"batch extents of axis {i}")
        for i, (a, b) in enumerate(zip(data.shape[:shared], indices.shape[:shared], strict=True))
    ]
    shape = (*batch, *data.shape[shared:axis], *indices.shape[shared:], *data.shape[axis + 1 :])
    return TensorType(shape, data.dtype)


def _positions(indices: np.ndarray, extent: int, mode: str) -> np.ndarray:
    """Indices inside an axis of that extent."""
    if extent == 0 and indices.size:
        raise EvaluationError(
            Diagnostic(
                "an index tensor selects from an axis without elements",
                expected="an axis of extent 1 or more, or no indices",
                found=f"{indices.size} indices",
            )
        )
    wide = indices if indices.dtype == np.uint64 else indices.astype(np.int64)
    number = wide.dtype.type
    if mode == "wrap":
        wide = wide % number(max(extent, 1))
    inside: np.ndarray = np.clip(wide, number(0), number(max(extent - 1, 0)))
    return inside.astype(np.int64, copy=False)


def _take(
    data: np.ndarray, indices: np.ndarray, axis: int | None, batch_dims: int, mode: str
) -> np.ndarray:
    if axis is None:
        data, axis = data.reshape(-1), 0
    axis %= data.ndim
    shared = batch_dims % indices.ndim if batch_dims < 0 else batch_dims
    positions = _positions(indices, data.shape[axis], mode)
    if shared == 0:
        return np.take(data, positions, axis)
    batch = data.shape[:shared]
    count = int(np.prod(batch))
    rows = zip(
        data.reshape(count, *data.shape[shared:]),
        positions.reshape(count, *indices.shape[shared:]),
        strict=True,
    )
    taken = [np.take(row, chosen, axis - shared) for row, chosen in rows]
    tail = (*data.shape[shared:axis], *indices.shape[shared:], *data.shape[axis + 1 :])
    return np.array(taken, data.dtype).reshape(*batch, *tail)


take = define(
    "take",
    doc="The elements that indices name along an axis.",
    arguments=[("data", "the input"), ("indices", "positions, integers")],
    attrs=TakeAttrs,
    relation=_take_type,
    reference=_take,
    fusion=FusionKind.INJECTIVE,
    samples=[
        sample((4, 3), Tensor((2, 5), "int32", 0, 12)),
        sample((4, 3), Tensor((2, 5), "int64", -3, 7), axis=0),
        sample((4, 3), Tensor((2,), "int32", -9, 9), axis=-1, mode="wrap"),
        sample((4, 3), Tensor((), "uint8", 0, 4), axis=0, mode="fast"),
        sample((2, 4, 3), Tensor((2, 5), "int32", 0, 4), axis=1, batch_dims=1),
        sample((2, 4, 3), Tensor((2, 5), "int32", 0, 3), axis=2, batch_dims=-1, dtype="int32"),
    ],
)

# --- gather ------------------------------------------------------------------------------------


@attrs
class GatherAttrs(Attrs):
    """axis: the axis that indices select from; None is the first"""

    axis: int | None = None


def _gather_type(site: Site) -> Type | None:
    """The shape of indices; extents off the axis are those of data."""
    site.require_elements(1, INTEGER)
    if (operands := site.tensors()) is None:
        return None
    data, indices = operands
    rank = len(data.shape)
    site.tensor(1, rank)
    selected = site.axis(site.attrs.axis or 0, rank)
    shape = [
        b if axis == selected else site.require_equal(a, b, f"extents of axis {axis}")
        for axis, (a, b) in enumerate(zip(data.shape, indices.shape, strict=True))
    ]
    return TensorType(tuple(shape), data.dtype)


def gather(data: Expr, axis: int, indices: Expr) -> Call:
    """result[i, j] = data[indices[i, j], j] for axis 0, and so on for others."""
    return GATHER(data, indices, axis=axis)


GATHER = define(
    "gather",
    doc="For each position, the element of data at that position except for one axis, where the "
    "index stands. Indices are clamped.",
    arguments=[("data", "the input"), ("indices", "positions along the axis, integers")],
    attrs=GatherAttrs,
    relation=_gather_type,
    reference=lambda data, indices, axis: np.take_along_axis(
        data, _positions(indices, data.shape[axis or 0], "clip"), axis or 0
    ),
    fusion=FusionKind.INJECTIVE,
    helper=gather,
    samples=[
        sample((4, 3), Tensor((2, 3), "int32", 0, 4)),
        sample((4, 3), Tensor((4, 5), "int64", -2, 5), axis=-1, dtype="int32"),
    ],
)
