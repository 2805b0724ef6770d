"""Reshapes, transpositions, concatenation, splits, slices, gathers."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from relay import op
from relay.frontend.common.broadcast import joinable
from relay.frontend.common.builder import int64, static
from relay.frontend.common.indices import from_front, in_range
from relay.frontend.keras.converters import Operations
from relay.frontend.keras.node import Node
from relay.frontend.keras.promotion import promoted
from relay.ir.expr import Expr

table = Operations()
END = 2**31 - 1


def whole_numbers(node: Node, name: str, default: Any = None) -> list[int]:
    """An option that is a number or a list of numbers, as a list."""
    given: Any = node.config.get(name, default)
    found = list(given) if isinstance(given, list | tuple) else [given]
    if not all(type(one) is int or one is None for one in found):
        raise node.refused(f"option `{name}` is no list of numbers", found=str(given)[:60])
    return found


@table("numpy.Reshape")
def reshape(node: Node, x: Expr) -> Expr:
    target = [-1 if one is None else one for one in whole_numbers(node, "newshape")]
    return reshaped(node, x, target)


def reshaped(node: Node, x: Expr, target: list[int]) -> Expr:
    """Reshape: one dynamic extent is inferred, several are those of the same axes."""
    shape = node.shape(x)
    for place, one in enumerate(target):
        if (
            target.count(-1) > 1
            and one == -1
            and place < len(shape)
            and not isinstance(shape[place], int)
        ):
            target[place] = 0
    if static(shape) is not None and -1 not in target:
        return op.reshape(x, tuple(target), allowzero=True)
    return op.reshape(x, tuple(target))


@table("numpy.Ravel")
def ravel(node: Node, x: Expr) -> Expr:
    return op.reshape(x, (-1,))


@table("numpy.Transpose")
def transpose(node: Node, x: Expr) -> Expr:
    axes = node.config.get("axes")
    order = (
        [*range(node.rank(x))][::-1]
        if axes is None
        else node.axes_of(axes, node.rank(x), distinct=True)
    )
    return op.transpose(x, tuple(order))


@table("numpy.Swapaxes")
def swapaxes(node: Node, x: Expr) -> Expr:
    rank = node.rank(x)
    one, other = (node.axis_of(node.option(name, 0), rank) for name in ("axis1", "axis2"))
    order = [*range(rank)]
    order[one], order[other] = other, one
    return op.transpose(x, tuple(order))


@table("numpy.Moveaxis")
def moveaxis(node: Node, x: Expr) -> Expr:
    rank = node.rank(x)
    sources, targets = (
        node.axes_of(whole_numbers(node, name), rank, distinct=True)
        for name in ("source", "destination")
    )
    order = [axis for axis in range(rank) if axis not in sources]
    for target, source in sorted(zip(targets, sources, strict=True)):
        order.insert(target, source)
    return op.transpose(x, tuple(order))


@table("numpy.ExpandDims")
def expand_dims(node: Node, x: Expr) -> Expr:
    axes = whole_numbers(node, "axis")
    for axis in sorted(node.axes_of(axes, node.rank(x) + len(axes), distinct=True)):
        x = node.let(op.expand_dims(x, axis))
    return x


@table("numpy.Squeeze")
def squeeze(node: Node, x: Expr) -> Expr:
    if node.config.get("axis") is None:
        axes = [axis for axis, extent in enumerate(node.shape(x)) if extent == 1]
    else:
        axes = node.axes_of(whole_numbers(node, "axis"), node.rank(x), distinct=True)
    return op.squeeze(x, tuple(axes)) if axes else op.copy(x)


@table("numpy.BroadcastTo")
def broadcast_to(node: Node, x: Expr) -> Expr:
    target = whole_numbers(node, "shape")
    if None in target or -1 in target:
        shape = node.shape(x)
        behind = len(target) - len(shape)
        sizes = [
            node.size(x, place - behind) if one in (None, -1) else int64(one)
            for place, one in enumerate(target)
        ]
        known = [
            shape[place - behind] if one in (None, -1) else one for place, one in enumerate(target)
        ]
        found = op.broadcast_to(x, node.let(op.stack(sizes, axis=0)))
        return node.declare(found, known, node.dtype(x))
    return op.broadcast_to(x, tuple(target))


@table("numpy.Flip", "numpy.Fliplr", "numpy.Flipud")
def flip(node: Node, x: Expr) -> Expr:
    fixed = {"Fliplr": [1], "Flipud": [0]}.get(node.operator)
    if fixed is None and node.config.get("axis") is None:
        fixed = [*range(node.rank(x))]
    axes = fixed if fixed is not None else whole_numbers(node, "axis")
    for axis in node.axes_of(axes, node.rank(x)):
        x = node.let(op.reverse(x, axis=axis))
    return x


@table("numpy.Rot90")
def rot90(node: Node, array: Expr) -> Expr:
    one, other = node.axes_of(whole_numbers(node, "axes", (0, 1)), node.rank(array), distinct=True)
    for _ in range(node.option("k", 1) % 4):
        order = [*range(node.rank(array))]
        order[one], order[other] = other, one
        turned = node.let(op.transpose(array, tuple(order)))
        array = node.let(op.reverse(turned, axis=one))
    return array


@table("numpy.Roll")
def roll(node: Node, x: Expr) -> Expr:
    shifts = whole_numbers(node, "shift")
    if node.config.get("axis") is None:
        flat = node.let(op.reshape(x, (-1,)))
        numbers = node.static_shape(x, "data")
        return op.reshape(_rolled(node, flat, shifts[0], 0), numbers, allowzero=True)
    axes = node.axes_of(whole_numbers(node, "axis"), node.rank(x))
    for shift, axis in zip(shifts * len(axes) if len(shifts) == 1 else shifts, axes, strict=True):
        x = _rolled(node, x, shift, axis)
    return x


def _rolled(node: Node, x: Expr, shift: int, axis: int) -> Expr:
    extent = node.static_extent(x, axis, "the extent of the axis")
    if not extent or not shift % extent:
        return x
    cut = extent - shift % extent
    ends = (
        op.strided_slice(x, [cut], [END], axes=(axis,)),
        op.strided_slice(x, [0], [cut], axes=(axis,)),
    )
    return node.let(op.concatenate([*map(node.let, ends)], axis=axis))


# --- joins and splits ----------------------------------------------------------------------------


@table("numpy.Concatenate")
def concatenate(node: Node, xs: Any) -> Expr:
    return joined(node, xs, node.config.get("axis", 0))


def joined(node: Node, xs: Any, axis: int | None) -> Expr:
    parts = promoted(node, *xs)
    if axis is None:
        parts, axis = [node.let(op.reshape(one, (-1,))) for one in parts], 0
    axis = node.axis_of(axis, node.rank(parts[0]))
    return op.concatenate(joinable(node, axis, *parts), axis=axis)


@table("numpy.Append")
def append(node: Node, x1: Any, x2: Any) -> Expr:
    return joined(node, [x1, x2], node.config.get("axis"))


@table("numpy.Hstack", "numpy.Vstack", "numpy.Dstack")
def stacked(node: Node, xs: Any) -> Expr:
    least = {"Hstack": 1, "Vstack": 2, "Dstack": 3}[node.operator]
    parts = []
    for one in promoted(node, *xs):
        if node.operator == "Dstack" and node.rank(one) < 3:
            one = node.let(op.expand_dims(one, 0)) if node.rank(one) < 2 else one
            one = node.let(op.expand_dims(one, 2))
        while node.rank(one) < least:
            one = node.let(op.expand_dims(one, 0))
        parts.append(one)
    axis = {"Hstack": min(1, node.rank(parts[0]) - 1), "Vstack": 0, "Dstack": 2}[node.operator]
    return joined(node, parts, axis)


@table("numpy.Stack")
def stack(node: Node, x: Any) -> Expr:
    parts = promoted(node, *x)
    axis = node.axis_of(node.option("axis", 0), node.rank(parts[0]) + 1)
    return op.stack(parts, axis=axis)


@table("numpy.Split", "numpy.ArraySplit", "numpy.Hsplit", "numpy.Vsplit", "numpy.Dsplit")
def split(node: Node, x: Expr) -> list[Expr]:
    axis = node.option("axis", 0)
    axis = {"Hsplit": 1 if node.rank(x) > 1 else 0, "Vsplit": 0, "Dsplit": 2}.get(
        node.operator, axis
    )
    axis = node.axis_of(axis, node.rank(x))
    given: Any = node.config.get("indices_or_sections")
    extent = node.static_extent(x, axis, "the extent of the axis")
    if isinstance(given, int):
        size, rest = divmod(extent, max(given, 1))
        if rest and node.operator != "ArraySplit":
            raise node.refused("the axis has no equal parts", f"a multiple of {given}", str(extent))
        sizes = [size + 1] * rest + [size] * (given - rest)
        cuts = np.cumsum(sizes).tolist()
    else:
        cuts = [*(given or ()), extent]
    starts = [0, *cuts[:-1]]
    return [
        op.strided_slice(x, [start], [end], axes=(axis,))
        for start, end in zip(starts, cuts, strict=True)
    ]


@table("core.Unstack")
def unstack(node: Node, x: Expr) -> list[Expr]:
    axis = node.axis_of(node.option("axis", 0), node.rank(x))
    count = node.static_extent(x, axis, "how many parts there are")
    return [op.take(x, int64(place), axis=axis) for place in range(count)]


# --- copies --------------------------------------------------------------------------------------


@table("numpy.Repeat")
def repeat(node: Node, x: Expr) -> Expr:
    counts = whole_numbers(node, "repeats")
    axis = node.config.get("axis")
    if axis is None:
        x, axis = node.let(op.reshape(x, (-1,))), 0
    if len(counts) == 1:
        return op.repeat(x, counts[0], axis=axis)
    places = np.repeat(np.arange(len(counts)), counts)
    return op.take(x, int64(places), axis=axis)


@table("numpy.Tile")
def tile(node: Node, x: Expr) -> Expr:
    counts = whole_numbers(node, "repeats")
    while len(counts) < node.rank(x):
        counts.insert(0, 1)
    return op.tile(x, tuple(counts))


_MODES = {"reflect": "REFLECT", "symmetric": "SYMMETRIC"}


@table("numpy.Pad")
def pad(node: Node, x: Expr, constant_values: Any = None) -> Expr:
    given: Any = node.config.get("pad_width")
    rank = node.rank(x)
    widths = np.asarray(given)
    widths = np.broadcast_to(widths, (rank, 2)) if widths.ndim else np.full((rank, 2), widths)
    pairs = [(int(one), int(other)) for one, other in widths]
    mode = node.option("mode", "constant")
    if mode == "constant":
        value = node.tensor(0 if constant_values is None else constant_values, x)
        return op.nn.pad(x, pairs, node.as_dtype(value, node.dtype(x)))
    if mode not in _MODES:
        raise node.refused("there is no such mode", "constant, reflect or symmetric", mode)
    return op.nn.mirror_pad(x, pairs, mode=_MODES[mode])


@table("numpy.Meshgrid")
def meshgrid(node: Node, *x: Expr) -> Any:
    return op.meshgrid([*x], indexing=node.option("indexing", "xy"))


# --- parts ---------------------------------------------------------------------------------------


@table("numpy.GetItem")
def get_item(node: Node, x: Expr, key: Any) -> Expr:
    """Slices, numbers, new axes, `...`, and one tensor of places."""
    keys = list(key) if isinstance(key, list | tuple) else [key]
    used = sum(1 for one in keys if one is not None and one is not ...)
    if used > node.rank(x):
        raise node.refused("there are more indices than axes", str(node.rank(x)), str(used))
    if ... not in [one for one in keys if not isinstance(one, Expr | np.ndarray)]:
        keys.append(...)
    axis = 0  # of what is left
    tensors = 0
    for one in keys:
        match one:
            case None:
                x = node.let(op.expand_dims(x, axis))
                axis += 1
            case slice():
                x = _sliced(node, x, one, axis)
                axis += 1
            case Expr() | np.ndarray():
                tensors += 1
                places = node.tensor(one)
                if tensors > 1 or node.dtype(places) == "bool":
                    raise node.refused("it is indexed by a mask, or by several tensors")
                x = node.let(op.take(x, in_range(node, places, x, [axis]), axis=axis))
                axis += node.rank(places)
            case int():
                x = _one(node, x, one, axis)
            case _ if one is ...:
                axis = (
                    axis
                    + node.rank(x)
                    - axis
                    - sum(1 for part in keys[keys.index(...) + 1 :] if part is not None)
                )
            case _:
                raise node.refused("there is no such index", found=repr(one)[:60])
    return x


def _sliced(node: Node, x: Expr, by: slice, axis: int) -> Expr:
    step = 1 if by.step is None else by.step
    bounds = [one for one in (by.start, by.stop, step) if one is not None]
    if not all(isinstance(one, int) for one in bounds) or not step:
        raise node.refused("the bounds of a slice are no numbers", found=str(by)[:60])
    if by.start is None and by.stop is None and step == 1:
        return x
    begin = by.start if by.start is not None else 0 if step > 0 else END
    end = by.stop if by.stop is not None else END if step > 0 else -END
    extent = node.shape(x)[axis]
    if isinstance(extent, int):
        begin, end, step = slice(by.start, by.stop, step).indices(extent)
        if step < 0 and end < 0:
            end = -END
        elif step > 0:
            end = max(begin, end)
    return node.let(op.strided_slice(x, [begin], [end], [step], axes=(axis,)))


def _one(node: Node, x: Expr, place: int, axis: int) -> Expr:
    extent = node.shape(x)[axis]
    if isinstance(extent, int):
        if not -extent <= place < extent:
            raise node.refused("an index is out of range", f"less than {extent}", str(place))
        return node.let(op.take(x, int64(place % extent), axis=axis))
    index = in_range(node, int64(place), x, [axis])
    return node.let(op.take(x, index, axis=axis))


@table("numpy.Take")
def take(node: Node, x: Expr, indices: Any) -> Expr:
    """Take: negative indices count from the end."""
    axis = node.config.get("axis")
    if axis is None:
        x, axis = node.let(op.reshape(x, (-1,))), 0
    axis = node.axis_of(int(axis), node.rank(x))
    return op.take(x, from_front(node, node.tensor(indices), x, axis), axis=axis)


@table("numpy.TakeAlongAxis")
def take_along_axis(node: Node, x: Expr, indices: Expr) -> Expr:
    axis = node.config.get("axis")
    places = node.tensor(indices)
    if axis is None:
        x, axis = node.let(op.reshape(x, (-1,))), 0
        places = node.let(op.reshape(places, (-1,)))
    axis = node.axis_of(int(axis), node.rank(x))
    shape = [
        int(own) if isinstance(own, int) and isinstance(other, int) and own == 1 else other
        for own, other in zip(node.shape(x), node.shape(places), strict=True)
    ]
    wanted = static([extent if place == axis else other for place, (extent, other) in
                     enumerate(zip(node.shape(x), shape, strict=True))])  # fmt: skip
    if wanted is not None and wanted != static(node.shape(x)):
        x = node.let(op.broadcast_to(x, wanted))
    return op.gather(x, axis, from_front(node, places, x, axis))


@table("core.Slice")
def slice_(node: Node, inputs: Expr, start_indices: Any) -> Expr:
    sizes = whole_numbers(node, "shape")
    starts = (
        np.asarray(start_indices).reshape(-1).tolist()
        if not isinstance(start_indices, Expr)
        else None
    )
    if starts is None or any(isinstance(one, Expr) for one in starts):
        raise node.refused("the place of a slice must be known before the model runs")
    ends = [start + size if size != -1 else END for start, size in zip(starts, sizes, strict=True)]
    return op.strided_slice(inputs, starts, ends)


@table("core.SliceUpdate")
def slice_update(node: Node, inputs: Expr, start_indices: Any, updates: Expr) -> Expr:
    if isinstance(start_indices, Expr):
        raise node.refused("the place of a slice must be known before the model runs")
    starts = np.asarray(start_indices).reshape(-1).tolist()
    sizes = node.static_shape(updates, "what is written")
    ends = [start + size for start, size in zip(starts, sizes, strict=True)]
    return op.strided_set(inputs, updates, int64(starts), int64(ends))


@table("numpy.Size", "numpy.Ndim")
def counted(node: Node, x: Expr) -> Expr:
    if node.operator == "Ndim":
        return int64(node.rank(x))
    numbers = static(node.shape(x))
    return int64(prod(numbers)) if numbers is not None else op.ndarray_size(x, dtype="int64")


@table("numpy.Tril", "numpy.Triu")
def triangle(node: Node, x: Expr) -> Expr:
    return op.trilu(x, int64(node.option("k", 0)), upper=node.operator == "Triu")


@table("numpy.Diagonal", "numpy.Trace")
def diagonal(node: Node, x: Expr) -> Expr:
    one, other = (
        node.axis_of(node.option(name, default), node.rank(x))
        for name, default in (("axis1", 0), ("axis2", 1))
    )
    found = node.let(_diagonal(node, x, node.option("offset", 0), one, other))
    return op.sum(found, axis=(node.rank(found) - 1,)) if node.operator == "Trace" else found


def _diagonal(node: Node, x: Expr, offset: int, one: int, other: int) -> Expr:
    """The diagonal of two axes with an offset."""
    rank = node.rank(x)
    order = [axis for axis in range(rank) if axis not in (one, other)] + [one, other]
    moved = node.let(op.transpose(x, tuple(order)))
    rows, columns = (node.static_extent(moved, axis, "the size of matrices") for axis in (-2, -1))
    begin = max(-offset, 0)
    count = max(0, min(rows - begin, columns - max(offset, 0)))
    places = np.arange(begin, begin + count)
    flat = node.let(op.reshape(moved, (*[0] * (rank - 2), -3)))
    return op.take(flat, int64(places * columns + places + offset), axis=rank - 2)


@table("numpy.Diag")
def diag(node: Node, x: Expr) -> Expr:
    offset = node.option("k", 0)
    if node.rank(x) == 2:
        return _diagonal(node, x, offset, 0, 1)
    count = node.static_extent(x, 0, "how many elements there are") + abs(offset)
    places = np.arange(count - abs(offset))
    flat = (places + max(-offset, 0)) * count + places + max(offset, 0)
    zeros = node.zeros((count * count,), node.dtype(x))
    found = node.let(op.scatter_elements(zeros, int64(flat), x, axis=0))
    return op.reshape(found, (count, count))
