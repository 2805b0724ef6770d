"""strided_slice, slice_like, strided_set and sliding_window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Literal

import numpy as np

from relay import te
from relay.errors import EvaluationError, TypeCheckError
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Constant, Expr, const
from relay.ir.types import TensorType, Type
from relay.op.building import layout_rules
from relay.op.building.elements import copied, moved
from relay.op.building.numerics import sliding_windows
from relay.op.facts import Trait
from relay.op.gradient_rules import ArgumentGradient, Backward, build, scattering
from relay.op.known import as_tensor, is_known
from relay.op.opdef import FusionKind, Tensor, define, get, sample
from relay.op.shapes import output_type, value_type
from relay.op.site import INTEGER, Site
from relay.op.tensor.require import require

# --- strided slices -----------------------------------------------------------------------------

# A bound from here on means the end of the axis.
UNBOUNDED = 2**31 - 1
# The largest extent: bounds and strides are clamped to it, so that their sums fit into int64.
_LONGEST = 2**62


@attrs
class StridedSliceAttrs(Attrs):
    """begin: the start of each slice; negative counts from the back
    end: its end, exclusive; in mode "size" its length, where negative is all the rest
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
    """(begin, end or size, stride) for each sliced axis; short lists are extended."""
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
        found.append((_bounded(begin), _bounded(end), _bounded(stride)))
    return found


def _bounded(number: int) -> int:
    return max(-_LONGEST, min(number, _LONGEST))


def _from_front(bound: int, extent: Dim) -> Dim:
    """A bound as an offset from the front, not clamped."""
    if bound >= UNBOUNDED:
        return extent
    return bound if bound >= 0 else dims.add(extent, bound)


def _length(extent: Dim, begin: int, end: int, stride: int) -> Dim:
    """The length of begin:end:stride, as in Python.

    Clamping is kept outside of the arithmetic: the length is the minimum over `spans`. Only
    relevant bounds are clamped; a start past the end, or an end before the start, makes a span
    negative.
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
    """The length of `wanted` elements from `begin`, clamped to the axis; negative is all."""
    rest = _length(extent, begin, UNBOUNDED, 1)
    return rest if wanted < 0 else dims.minimum(rest, wanted)


def _strided_slice_type(site: Site) -> Type | None:
    """The extents of Python's slices."""
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


def _index(shape: tuple[int, ...], known: StridedSliceAttrs) -> tuple[slice, ...]:
    """Python slices for the attributes."""
    slices = _slices(known)
    axes = range(len(slices)) if known.axes is None else known.axes
    index = [slice(None)] * len(shape)
    for axis, (begin, end, stride) in zip(axes, slices, strict=True):
        last = None if (end if stride > 0 else -end) >= UNBOUNDED else end
        if known.slice_mode == "size":
            begin = max(begin + shape[axis], 0) if begin < 0 else begin
            last = None if end < 0 else begin + end
        index[axis] = slice(begin, last, stride)
    return tuple(index)


def _strided_slice(data: np.ndarray, **keywords: Any) -> np.ndarray:
    return data[_index(data.shape, StridedSliceAttrs(**keywords))]


def first_place(begin: te.Expr, stride: te.Expr, extent: te.Expr) -> te.Expr:
    """The start of a slice as a clamped offset from the front."""
    from_front = te.select(begin < 0, begin + extent, begin)
    last = te.select(stride > 0, extent, extent - 1)
    return te.minimum(te.maximum(from_front, te.select(stride > 0, te.index(0), -1)), last)


def sliced(
    data: te.Tensor, out: te.Spec, slices: Mapping[int, tuple[te.Expr, te.Expr]]
) -> te.Tensor:
    """Slice by (begin, stride) along some axes, to the shape of `out`."""

    def source(*i: te.Expr) -> list[te.Expr]:
        found = list(i)
        for axis, (begin, stride) in slices.items():
            found[axis] = first_place(begin, stride, data.shape[axis]) + i[axis] * stride
        return found

    return moved(data, out, source)


def _strided_slice_compute(data: te.Tensor, out: te.Spec, **keywords: Any) -> te.Tensor:
    known = StridedSliceAttrs(**keywords)
    slices = _slices(known)
    axes = range(len(slices)) if known.axes is None else known.axes
    bounds = {
        axis % data.rank: (te.index(begin), te.index(stride))
        for axis, (begin, _, stride) in zip(axes, slices, strict=True)
    }
    return sliced(data, out, bounds)


def strided_slice(
    data: Expr,
    begin: int | Sequence[int] | Expr,
    end: int | Sequence[int] | Expr,
    strides: int | Sequence[int] | Expr | None = None,
    axes: int | Sequence[int] | None = None,
    slice_mode: str = "end",
) -> Call:
    """Slice along each axis, or along `axes`; bounds and strides may be vectors."""
    if is_known(begin, end, strides):
        bounds = {"begin": begin, "end": end, "strides": strides}
        return STRIDED_SLICE(data, **bounds, axes=axes, slice_mode=slice_mode)
    tensors = map(as_tensor, (begin, end, () if strides is None else strides))
    return get("dyn.strided_slice")(data, *tensors, axes=axes, slice_mode=slice_mode)


_scattered = scattering()


def _strided_slice_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """The gradient with zeros around and between its elements."""
    data = site.tensor_type(site.args[0])
    shape = tuple(d for d in data.shape if isinstance(d, int))
    if len(shape) < len(data.shape) or 0 in site.type.shape:
        return _scattered(site)
    gradient, widths, strides = site.gradient, [], []
    for axis, (part, extent) in enumerate(zip(_index(shape, site.attrs), shape, strict=False)):
        places = range(*part.indices(extent))
        if places.step < 0:
            gradient, places = build("reverse", gradient, axis=axis), places[::-1]
        strides.append(places.step)
        widths.append((places[0], extent - 1 - places[-1]))
    if any(stride > 1 for stride in strides):
        gradient = build("nn.dilate", gradient, strides=strides)
    return [build("nn.pad", gradient, const(0.0, data.dtype), pad_width=widths)]


def _slice_like_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """The gradient with zeros after it."""
    data = site.args[0]
    zeros = const(np.zeros(len(site.type.shape)), "int64")
    end = build("shape_of", site.gradient, dtype="int64")
    return [
        STRIDED_SET(build("zeros_like", data), site.gradient, zeros, end, zeros + const(1, "int64"))
    ]


STRIDED_SLICE = define(
    "strided_slice",
    doc="A slice along each axis, with the semantics of Python. A bound of 2**31 - 1 or more is "
    "the end of the axis, its negative the beginning.",
    arguments=[("data", "the input")],
    attrs=StridedSliceAttrs,
    relation=_strided_slice_type,
    reference=_strided_slice,
    compute=_strided_slice_compute,
    fusion=FusionKind.INJECTIVE,
    layout=layout_rules.strided_slice,
    traits=Trait.MOVES,
    helper=strided_slice,
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
    gradient=_strided_slice_gradient,
)

# --- slice_like -------------------------------------------------------------------------------


@attrs
class SliceLikeAttrs(Attrs):
    """axes: the axes that are cut; None is all that both tensors have"""

    axes: tuple[int, ...] | None = None


def _slice_like_type(site: Site) -> Type | None:
    """The shape of data, with the extents of shape_like on the axes."""
    if (operands := site.tensors()) is None:
        return None
    data, like = operands
    shape = list(data.shape)
    for axis in _axes_alike(site, data, like):
        extent, whole = like.shape[axis], shape[axis]
        site.require_natural(
            dims.subtract(whole, extent),
            f"axis {axis} of data is shorter than that of shape_like",
            f"{extent} or more",
            str(data),
        )
        shape[axis] = extent
    return TensorType(tuple(shape), data.dtype)


def _axes_alike(site: Site, data: TensorType, like: TensorType) -> Sequence[int]:
    rank = min(len(data.shape), len(like.shape))
    if not site.attrs.axes:
        return range(rank)
    axes = site.axes(site.attrs.axes, len(data.shape), name="axes")
    site.require(
        all(axis < rank for axis in axes),
        "`axes` names an axis that shape_like does not have",
        f"axes of {like}",
        f"axes = {site.attrs.axes}",
    )
    return axes


def _slice_like(data: np.ndarray, like: np.ndarray, axes: tuple[int, ...] | None) -> np.ndarray:
    chosen = {a % data.ndim for a in axes} if axes else set(range(min(data.ndim, like.ndim)))
    for axis in chosen:
        if like.shape[axis] > data.shape[axis]:
            raise EvaluationError.of(
                f"axis {axis} of data is shorter than that of shape_like",
                expected=f"{like.shape[axis]} or more",
                found=str(data.shape[axis]),
            )
    return data[
        tuple(slice(like.shape[a]) if a in chosen else slice(None) for a in range(data.ndim))
    ]


slice_like = define(
    "slice_like",
    doc="data cropped to the extents of another tensor.",
    arguments=[("data", "the input"), ("shape_like", "a tensor of the wanted extents")],
    attrs=SliceLikeAttrs,
    relation=_slice_like_type,
    reference=_slice_like,
    compute=lambda data, like, out, axes: copied(data, out),
    fusion=FusionKind.INJECTIVE,
    traits=Trait.MOVES,
    samples=[
        sample((4, 5), (2, 3)),
        sample((4, 5, 6), (4, 2), dtype="int32"),
        sample((4, 5, 6), Tensor((3, 9, 2), "int8"), axes=(0, -1)),
        sample((4,), (0,), axes=0, dtype="bfloat16"),
    ],
    gradient=_slice_like_gradient,
)

# --- strided_set ------------------------------------------------------------------------------


def _strided_set_type(site: Site) -> Type | None:
    """The type of data; v has its rank and element type, the bounds are integers of one axis."""
    for index in range(2, 5):
        site.tensor(index, rank=1)
        site.require_elements(index, INTEGER)
    data, value = site.tensor(0), site.tensor(1)
    if data is None or value is None:
        return data
    site.tensor(1, len(data.shape))
    site.require_same_dtype(data, value)
    return data


def _strided_set(
    data: np.ndarray, v: np.ndarray, begin: np.ndarray, end: np.ndarray, strides: np.ndarray
) -> np.ndarray:
    bounds: Any = STRIDED_SLICE.make_attrs({"begin": begin, "end": end, "strides": strides})
    place = output_type(STRIDED_SLICE, [value_type(data)], bounds)
    if place != value_type(v):
        raise EvaluationError.of(
            "argument `v` of `strided_set` does not fit into the slice",
            expected=str(place),
            found=str(value_type(v)),
        )
    result = data.copy()
    result[_index(data.shape, bounds)] = v
    return result


def value_at(values: te.Tensor, number: int, default: te.Scalar) -> te.Expr:
    """An element of a vector; the default if it is shorter."""
    return te.select(
        te.index(number) < values.shape[0], te.index(values[number]), te.index(default)
    )


def slice_from(begin: te.Tensor, strides: te.Tensor, number: int) -> tuple[te.Expr, te.Expr]:
    """(begin, stride) of a slice with dynamic bounds."""
    stride = value_at(strides, number, 1)
    whole = te.select(stride > 0, te.index(0), UNBOUNDED)
    return value_at(begin, number, whole), stride


def _strided_set_compute(
    data: te.Tensor,
    v: te.Tensor,
    begin: te.Tensor,
    end: te.Tensor,
    strides: te.Tensor,
    out: te.Spec,
) -> te.Tensor:
    def element(*i: te.Expr) -> te.Expr:
        inside, place = [], []
        for axis in range(data.rank):
            first, stride = slice_from(begin, strides, axis)
            distance = i[axis] - first_place(first, stride, data.shape[axis])
            steps = distance // stride
            inside += [te.equal(steps * stride, distance), steps >= 0, steps < v.shape[axis]]
            place.append(steps)
        return te.select(te.every(*inside), v[tuple(place)], data[i])

    return te.compute(out.shape, element)


def strided_set(
    data: Expr,
    v: Expr,
    begin: Sequence[int] | Expr,
    end: Sequence[int] | Expr,
    strides: Sequence[int] | Expr | None = None,
) -> Call:
    """Replace the slice begin:end:strides of each axis by `v`; no stride may be 0."""
    steps = as_tensor(() if strides is None else strides)
    message, expected = "a stride of `strided_set` is zero", "strides other than 0"
    if not isinstance(steps, Constant):
        moves = build("not_equal", steps, build("zeros_like", steps))
        data = require(data, build("all", moves), message, expected)
    elif not steps.data.numpy().all():
        raise TypeCheckError.of(message, None, expected, str(steps.data.numpy().tolist()))
    return STRIDED_SET(data, v, as_tensor(begin), as_tensor(end), steps)


STRIDED_SET = define(
    "strided_set",
    doc="data with a slice replaced. Bounds are those of `strided_slice`; missing ones mean whole "
    "axes. Compiled code does not check that `v` fits; elements outside of either are left out.",
    arguments=[
        ("data", "the input"),
        ("v", "the elements of the slice"),
        ("begin", "the start of the slice on each axis, integers"),
        ("end", "its end, exclusive, integers"),
        ("strides", "the distance between elements, integers; 1 where there is none"),
    ],
    relation=_strided_set_type,
    reference=_strided_set,
    compute=_strided_set_compute,
    fusion=FusionKind.INJECTIVE,
    helper=strided_set,
    samples=[
        sample((5, 6), (3, 2), *(np.array(v, "int64") for v in ([1, -2], [4, 6], [1, 1]))),
        sample((5,), (2,), *(np.array(v, "int32") for v in ([4], [0], [-2])), dtype="int8"),
        sample((5, 3), (2, 3), *(np.array(v, "int32") for v in ([-2], [99], []))),
        sample((2, 3), (0, 3), *(np.array(v, "int64") for v in ([2], [2], [1])), dtype="bool"),
    ],
    gradient=scattering(2),
)

# --- sliding_window ---------------------------------------------------------------------------


@attrs
class SlidingWindowAttrs(Attrs):
    """axis: the first axis of the windows
    window_shape: the extents of the window, from that axis to the last
    strides: the distance between windows on each of those axes
    """

    axis: int
    window_shape: tuple[int, ...]
    strides: tuple[int, ...]


def _sliding_window_type(site: Site) -> Type | None:
    """data[:axis] + the number of windows on each axis + window_shape"""
    if (data := site.tensor(0)) is None:
        return None
    known: SlidingWindowAttrs = site.attrs
    axis = site.axis(known.axis, len(data.shape))
    count = len(data.shape) - axis
    for name, values in (("window_shape", known.window_shape), ("strides", known.strides)):
        site.require(
            len(values) == count and all(value > 0 for value in values),
            f"`{name}` does not fit",
            f"{count} values of 1 or more, for the axes from {axis} on",
            f"{name} = {values}",
        )
    counts = map(
        lambda *sizes: _stops(site, *sizes), data.shape[axis:], known.window_shape, known.strides
    )
    return TensorType((*data.shape[:axis], *counts, *known.window_shape), data.dtype)


def _stops(site: Site, extent: Dim, size: int, stride: int) -> Dim:
    """The number of positions of a window on an axis."""
    room = dims.subtract(extent, size)
    site.require_natural(
        room, "the window is larger than the input", f"an extent of {size} or more", str(extent)
    )
    return dims.add(dims.floor_divide(room, stride), 1)


def _sliding_window(
    data: np.ndarray, axis: int, window_shape: tuple[int, ...], strides: tuple[int, ...]
) -> np.ndarray:
    first = axis % data.ndim
    axes = tuple(range(first, data.ndim))
    if any(data.shape[a] < size for a, size in zip(axes, window_shape, strict=True)):
        raise EvaluationError.of(
            "the window is larger than the input",
            expected=f"extents of {window_shape} or more",
            found=f"{data.shape[first:]}",
        )
    view = sliding_windows(data, window_shape, axes)
    steps = (slice(None, None, stride) for stride in strides)
    return view[(*(slice(None),) * first, *steps)]


def _sliding_window_compute(
    data: te.Tensor,
    out: te.Spec,
    axis: int,
    window_shape: tuple[int, ...],
    strides: tuple[int, ...],
) -> te.Tensor:
    first, count = axis % data.rank, len(strides)

    def source(*i: te.Expr) -> list[te.Expr]:
        stops, inside = i[first : first + count], i[first + count :]
        slid = [s * stride + k for s, stride, k in zip(stops, strides, inside, strict=True)]
        return [*i[:first], *slid]

    return moved(data, out, source)


sliding_window = define(
    "sliding_window",
    doc="All windows over the last axes.",
    arguments=[("data", "the input")],
    attrs=SlidingWindowAttrs,
    relation=_sliding_window_type,
    reference=_sliding_window,
    compute=_sliding_window_compute,
    traits=Trait.MOVES,
    samples=[
        sample((2, 5, 6), axis=1, window_shape=(3, 2), strides=(1, 3)),
        sample((4, 5), axis=-1, window_shape=(5,), strides=(2,), dtype="int8"),
        sample((6,), axis=0, window_shape=2, strides=2, dtype="float16"),
    ],
    gradient=scattering(),
)
