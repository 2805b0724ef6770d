"""Rules: slices, concatenations, splits and pads that cancel or combine.

    strided_slice(%x, begin=[0], end=[4]) of (4)                    ->  %x
    strided_slice(strided_slice(%x, [2], [9]), [1], [4])            ->  strided_slice(%x, [3], [6])
    strided_slice(concatenate((%x, %y)), [0], [4]) of %x: (4)       ->  %x
    concatenate((concatenate((%x, %y)), %z))                        ->  concatenate((%x, %y, %z))
    %0 = split(%x, 2); concatenate((%0.0, %0.1))                    ->  %x
    split(concatenate((%x, %y)), indices_or_sections=[4]).0         ->  %x
    nn.pad(nn.pad(%x, 0f, a), 0f, b)                                ->  nn.pad(%x, 0f, a + b)

The extents along the axes concerned must be static.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay import dtypes, tree
from relay.ir.expr import Call, Expr, Tuple, TupleGetItem
from relay.op.building.numerics import convert
from relay.op.nn.pad import PAD
from relay.op.tensor.slicing import STRIDED_SLICE, UNBOUNDED
from relay.transform.simplify.peephole import Rules
from relay.transform.simplify.rule_window import Window

# Longer lists of parts are not copied again for every part that joins them.
PARTS = 64

# --- slices --------------------------------------------------------------------------------------

Slices = dict[int, range]  # which places are taken, of the axes that are sliced


def whole_slice(call: Call, window: Window) -> Expr | None:
    """strided_slice(%x, begin=[0], end=[4]) of (4)  ->  %x"""
    data = call.args[0]
    ty, slices = window.tensor(data), _slices(call, window)
    if ty is None or slices is None:
        return None
    is_whole = all(taken == range(_extent(ty.shape[axis])) for axis, taken in slices.items())
    return data if is_whole else None


def slice_of_slice(call: Call, window: Window) -> Expr | None:
    """strided_slice(strided_slice(%x, a), b)  ->  strided_slice(%x, a and b)"""
    inner = window.call_of(call.args[0], "strided_slice")
    if inner is None:
        return None
    first, second = _slices(inner, window), _slices(call, window)
    if first is None or second is None:
        return None
    for axis, taken in second.items():
        first[axis] = _taken_of(first[axis], taken) if axis in first else taken
    return _sliced(inner.args[0], first)


def _taken_of(places: range, taken: range) -> range:
    """The slice `taken` of the slice `places`."""
    if not taken:
        return range(0)
    step = places.step * taken.step
    return range(places[taken[0]], places[taken[-1]] + (1 if step > 0 else -1), step)


def slice_of_joined(call: Call, window: Window) -> Expr | None:
    """strided_slice(concatenate((%x, %y)), …)  ->  strided_slice(%y, …), where it takes no more"""
    joined = window.call_of(call.args[0], "concatenate")
    parts = None if joined is None else window.fields(joined.args[0])
    slices = _slices(call, window)
    if joined is None or parts is None or slices is None:
        return None
    extents = _extents(joined, parts, window)
    axis = _axis(joined, window)
    taken = slices.get(axis, range(0))
    if extents is None or not taken or taken.step < 1:
        return None
    begin = 0
    for i, (part, extent) in enumerate(zip(parts, extents, strict=True)):
        if begin <= taken.start and taken[-1] < begin + extent:
            if not window.is_pure(*parts[:i], *parts[i + 1 :]) or not window.is_certain(joined):
                return None
            slices[axis] = range(taken.start - begin, taken[-1] + 1 - begin, taken.step)
            return _sliced(part, slices)
        begin += extent
    return None


def _slices(call: Call, window: Window) -> Slices | None:
    """The indices that a slice takes; None where they depend on unknown extents."""
    attrs: Any = call.attrs
    ty = window.tensor(call.args[0])
    if ty is None or attrs.slice_mode != "end":
        return None
    if not len(attrs.begin) == len(attrs.end) == len(attrs.strides or attrs.begin):
        return None
    axes = range(len(attrs.begin)) if attrs.axes is None else attrs.axes
    strides = attrs.strides or (1,) * len(attrs.begin)
    found: Slices = {}
    for axis, begin, end, stride in zip(axes, attrs.begin, attrs.end, strides, strict=True):
        extent = ty.shape[axis]
        if not isinstance(extent, int):
            return None
        last = None if (end if stride > 0 else -end) >= UNBOUNDED else end
        found[axis % len(ty.shape)] = range(extent)[begin:last:stride]
    return found


def _sliced(data: Expr, slices: Slices) -> Expr:
    axes = sorted(slices)
    taken = [slices[axis] or range(0) for axis in axes]
    # before the first place of all, which a negative number would not say
    ends = [places.stop if places.stop >= 0 else -UNBOUNDED for places in taken]
    strides = [places.step for places in taken]
    return STRIDED_SLICE(
        data,
        begin=tuple(places.start for places in taken),
        end=tuple(ends),
        strides=None if all(s == 1 for s in strides) else tuple(strides),
        axes=None if axes == list(range(len(axes))) else tuple(axes),
    )


def _extent(extent: Any) -> int:
    return extent if isinstance(extent, int) else -1


# --- joining and splitting -----------------------------------------------------------------------


def joined_alone(call: Call, window: Window) -> Expr | None:
    """concatenate((%x,))  ->  %x"""
    parts = window.fields(call.args[0])
    return parts[0] if parts is not None and len(parts) == 1 else None


def joined_twice(call: Call, window: Window) -> Expr | None:
    """concatenate((concatenate((%x, %y)), %z))  ->  concatenate((%x, %y, %z))"""
    parts = window.fields(call.args[0])
    if parts is None:
        return None
    axis, flat = _axis(call, window), []
    for part in parts:
        inner = window.call_of(part, "concatenate") if window.is_used_once(part) else None
        fields = None if inner is None else window.fields(inner.args[0])
        if inner is None or fields is None or _axis(inner, window) != axis:
            flat.append(part)
        else:
            flat.extend(fields)
    if not len(parts) < len(flat) <= PARTS:
        return None
    return tree.replace(call, args=(Tuple(tuple(flat)),))


def joined_again(call: Call, window: Window) -> Expr | None:
    """%0 = split(%x, 2); concatenate((%0.0, %0.1))  ->  %x"""
    parts = window.fields(call.args[0])
    fields = [field for p in parts or () if (field := _field_of_split(p, window)) is not None]
    if parts is None or not fields or len(fields) < len(parts):
        return None
    first, _ = fields[0]
    if any(split is not first for split, _ in fields):
        return None
    count = len(getattr(window.type_of(first), "fields", ()))
    in_order = [index for _, index in fields] == list(range(count))
    if not in_order or _axis(first, window) != _axis(call, window):
        return None
    return first.args[0] if window.is_certain(first) else None


def _field_of_split(e: Expr, window: Window) -> tuple[Call, int] | None:
    field = window.definition(e)
    if not isinstance(field, TupleGetItem):
        return None
    split = window.call_of(field.tuple_value, "split")
    return None if split is None else (split, field.index)


def split_of_joined(e: TupleGetItem, window: Window) -> Expr | None:
    """split(concatenate((%x, %y)), indices_or_sections=[4]).0  ->  %x, where it cuts there"""
    split = window.call_of(e.tuple_value, "split")
    joined = None if split is None else window.call_of(split.args[0], "concatenate")
    parts = None if joined is None else window.fields(joined.args[0])
    if split is None or joined is None or parts is None:
        return None
    extents = _extents(joined, parts, window)
    axis, cuts = _axis(split, window), split.attrs.indices_or_sections  # type: ignore[union-attr]
    if extents is None or axis != _axis(joined, window):
        return None
    total = sum(extents)
    if isinstance(cuts, int):
        cuts = range(total // cuts, total, total // cuts) if total else ()
    bounds, ends = [0, *cuts, total], np.cumsum([0, *extents]).tolist()
    begin, end = bounds[e.index], bounds[e.index + 1]
    for i, part in enumerate(parts):
        if (ends[i], ends[i + 1]) == (begin, end):
            others = (*parts[:i], *parts[i + 1 :])
            return part if window.is_pure(*others) and window.is_certain(joined) else None
    return None


def split_in_one(e: TupleGetItem, window: Window) -> Expr | None:
    """split(%x, indices_or_sections=1).0  ->  %x"""
    split = window.call_of(e.tuple_value, "split")
    cuts: Any = None if split is None else split.attrs.indices_or_sections  # type: ignore[union-attr]
    return split.args[0] if split is not None and cuts in (1, ()) else None


def _axis(call: Call, window: Window) -> int:
    """The axis along which a call joins or splits, counted from the front."""
    ty: Any = window.type_of(call)
    tensor = getattr(ty, "fields", (ty,))[0]
    axis: int = call.attrs.axis  # type: ignore[union-attr]
    return axis % len(tensor.shape)


def _extents(joined: Call, parts: Sequence[Expr], window: Window) -> list[int] | None:
    """The extent of each part along the axis."""
    axis, found = _axis(joined, window), []
    for part in parts:
        ty = window.tensor(part)
        if ty is None or not isinstance(extent := ty.shape[axis], int):
            return None
        found.append(extent)
    return found


# --- padding -------------------------------------------------------------------------------------


def no_padding(call: Call, window: Window) -> Expr | None:
    """nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0]])  ->  %x"""
    attrs: Any = call.attrs
    value = call.args[1:]
    is_none = all(width == 0 for pair in attrs.pad_width for width in pair)
    return call.args[0] if is_none and window.is_pure(*value) else None


def padded_twice(call: Call, window: Window) -> Expr | None:
    """nn.pad(nn.pad(%x, 0f, a), 0f, b)  ->  nn.pad(%x, 0f, a + b), of the same value"""
    inner = window.call_of(call.args[0], "nn.pad")
    if inner is None:
        return None
    first: Any = inner.attrs
    second: Any = call.attrs
    if first.pad_mode != second.pad_mode or first.pad_mode not in ("constant", "edge"):
        return None
    if first.pad_mode == "constant" and not _is_same_value(inner, call, window):
        return None
    if not window.is_pure(call.args[1]):
        return None
    # what is taken away first does not come back
    given = [one for attrs in (first, second) for pair in attrs.pad_width for one in pair]
    if min(given, default=0) < 0 < max(given, default=0):
        return None
    widths = zip(first.pad_width, second.pad_width, strict=True)
    both = tuple((a + c, b + d) for (a, b), (c, d) in widths)
    return PAD(inner.args[0], inner.args[1], pad_width=both, pad_mode=first.pad_mode)


def _is_same_value(inner: Call, call: Call, window: Window) -> bool:
    if inner.args[1] is call.args[1]:
        return True
    values = [window.value(c.args[1]) for c in (inner, call)]
    dtype = window.dtype(call)
    one, other = (None if v is None else convert(v, dtypes.canonical(dtype)) for v in values)
    return one is not None and other is not None and one.tobytes() == other.tobytes()


RULES: Rules = {
    "strided_slice": (whole_slice, slice_of_slice, slice_of_joined),
    "concatenate": (joined_alone, joined_again, joined_twice),
    "nn.pad": (no_padding, padded_twice),
    "nn.mirror_pad": (no_padding,),
    TupleGetItem: (split_of_joined, split_in_one),
}
