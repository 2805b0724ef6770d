"""Shape functions of dynamic operators, as expressions over their arguments.

Each function computes the shape of every result from the values of arguments, and passes conditions
on these values to `need`: what the relation of the static operator does for known values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from relay import te
from relay.errors import REAL_VALUE, VALUE
from relay.op.building.layouts import read_layout
from relay.op.tensor.slicing import UNBOUNDED, first_place, slice_from, value_at
from relay.te.expr import INDEX, call

Need = Callable[..., None]  # takes the fields of a `relay.op.opdef.Condition`
Shapes = tuple[Sequence[te.Scalar], ...]


def integers(values: te.Tensor) -> list[te.Expr]:
    """The elements of a vector of static extent."""
    (count,) = te.numbers(values.shape)
    return [te.index(values[i]) for i in range(count)]


# --- given extents


def given(place: int) -> Callable[..., Shapes]:
    """The shape is argument `place`."""

    def extents(*args: te.Tensor, need: Need, **_: Any) -> Shapes:
        return (integers(args[place]),)

    return extents


def broadcast(data: te.Tensor, shape: te.Tensor, need: Need, **_: Any) -> Shapes:
    wanted = integers(shape)
    for own, extent in zip(reversed(data.shape), reversed(wanted), strict=False):
        fits = te.some(te.equal(own, 1), te.equal(own, extent))
        need(fits, "the shape does not broadcast", VALUE, VALUE, (extent, own))
    return (wanted,)


def with_depth(
    indices: te.Tensor, _: te.Tensor, __: te.Tensor, depth: te.Tensor, need: Need, **attrs: Any
) -> Shapes:
    axis = attrs["axis"] % (indices.rank + 1)
    return ((*indices.shape[:axis], te.index(depth[()]), *indices.shape[axis:]),)


def resized(data: te.Tensor, size: te.Tensor, _: te.Tensor, need: Need, **attrs: Any) -> Shapes:
    height, width = integers(size)
    for extent in (height, width):
        need(extent > 0, "the size of the result is not positive", "1 or more", VALUE, (extent, 0))
    new = {"H": height, "W": width}
    return (_relaid(data, attrs["layout"], new),)


def _relaid(data: te.Tensor, layout: str, new: dict[str, te.Expr]) -> list[te.Expr]:
    """The shape in a layout, with some extents replaced."""
    found = list(data.shape)
    known = read_layout(layout)
    for letter, extent in new.items():
        outer, *_ = known.places(letter)
        found[outer] = extent // prod(known.blocks(letter))
    return found


# --- shapes


def tiled(data: te.Tensor, reps: te.Tensor, need: Need) -> Shapes:
    counts = integers(reps)
    for count in counts:
        need(count >= 0, "`reps` has a negative value", "0 or more", VALUE, (count, 0))
    rank = max(len(counts), data.rank)
    own = [te.index(1)] * (rank - data.rank) + list(data.shape)
    each = [te.index(1)] * (rank - len(counts)) + counts
    return ([extent * count for extent, count in zip(own, each, strict=True)],)


def expanded(data: te.Tensor, axis: te.Tensor, need: Need, num_newaxis: int) -> Shapes:
    rank = data.rank
    given = te.index(axis[()])
    inside = te.every(given >= -rank - 1, given <= rank)
    need(inside, "`axis` is out of range", *_axis_texts(rank + 1), (given, 0))
    first = te.select(given < 0, given + (rank + 1), given)
    shape = []
    for place in range(rank + num_newaxis):
        after = data.shape[place - num_newaxis] if place >= num_newaxis else te.index(1)
        new = te.select(te.index(place) < first + num_newaxis, te.index(1), after)
        own = data.shape[place] if place < rank else te.index(1)
        shape.append(te.select(te.index(place) < first, own, new))
    return (shape,)


def _axis_texts(rank: int) -> tuple[str, str]:
    """The expected and found texts for an axis."""
    return f"axis in [{-rank}, {rank}) for rank {rank}", f"axis = {VALUE}"


def squeezed(data: te.Tensor, axes: te.Tensor, need: Need) -> Shapes:
    rank, given = data.rank, integers(axes)
    gone = [te.select(axis < 0, axis + rank, axis) for axis in given]
    for number, one in enumerate(gone):
        shown = (given[number], 0)
        inside = te.every(one >= 0, one < rank)
        need(inside, "`axis` is out of range", *_axis_texts(rank), shown)
        repeated = te.some(*(te.equal(one, other) for other in gone[:number]))
        text = f"axis = {VALUE}, and once more"
        need(~repeated, "`axis` names an axis twice", "different axes", text, shown)
    before: te.Expr = te.index(0)  # number of axes kept so far
    shape: list[te.Expr] = [te.index(1)] * (rank - len(gone))
    for axis, extent in enumerate(data.shape):
        goes = te.some(*(te.equal(one, axis) for one in gone))
        fits = te.some(~goes, te.equal(extent, 1))
        need(fits, f"axis {axis} is not of extent 1", "extent 1", VALUE, (extent, 1))
        for place, found in enumerate(shape):
            here = te.every(~goes, te.equal(before, place))
            shape[place] = te.select(here, extent, found)
        before = before + te.select(goes, te.index(0), te.index(1))
    return (shape,)


def reshaped(data: te.Tensor, newshape: te.Tensor, need: Need, allowzero: bool) -> Shapes:
    """The codes 0, -1 and -3 read against the shape of data: see `reshape`."""
    codes = integers(newshape)
    old = data.shape
    position: te.Expr = te.index(0)  # index of the extent that the next code refers to
    unknown: te.Expr = te.index(0)  # number of -1 codes
    before: te.Expr = te.index(1)  # product of the extents that are neither copied nor merged …
    after: te.Expr = te.index(1)  # … and of the new extents
    kept: te.Expr = te.index(1)  # product of the copied and merged extents
    shape: list[te.Expr] = []
    for code in codes:
        copies = te.equal(code, 0) if not allowzero else te.const(False, "bool")
        merges, infers = te.equal(code, -3), te.equal(code, -1)
        need(
            te.some(code >= -1, merges),
            "a code of `newshape` changes the number of axes in a run",
            "extents, or the codes 0, -1 and -3",
            VALUE,
            (code, 0),
        )
        first, second = _extent_at(old, position), _extent_at(old, position + 1)
        last = te.select(merges, position + 1, position)
        need(
            te.some(~te.some(copies, merges), last < len(old)),
            "a code of `newshape` finds no extent",
            f"codes for {len(old)} extents",
            f"code {VALUE} for one more",
            (code, 0),
        )
        plain = ~te.some(copies, merges)
        before = before * te.select(plain, first, te.index(1))
        after = after * te.select(te.every(plain, ~infers), code, te.index(1))
        unknown = unknown + te.select(infers, te.index(1), te.index(0))
        shape.append(te.select(merges, first * second, te.select(copies, first, code)))
        kept = kept * te.select(plain, te.index(1), shape[-1])
        position = last + 1
    for axis, extent in enumerate(old):
        before = before * te.select(position <= axis, extent, te.index(1))
    need(
        unknown <= 1, "`newshape`: -1 stands twice", "at most once", f"{VALUE} times", (unknown, 1)
    )
    whole = before // after
    need(
        te.select(
            te.equal(unknown, 1),
            te.every(te.not_equal(after, 0), te.equal(whole * after, before)),
            te.some(te.equal(before, after), te.equal(kept, 0)),
        ),
        "the number of elements changes",
        VALUE,
        f"{VALUE}, or a multiple of it where -1 stands",
        (after, before),
    )
    return ([te.select(te.equal(extent, -1), whole, extent) for extent in shape],)


def _extent_at(shape: Sequence[te.Expr], place: te.Expr) -> te.Expr:
    """The extent at a dynamic index; 1 beyond the last."""
    found: te.Expr = te.index(1)
    for axis in reversed(range(len(shape))):
        found = te.select(te.equal(place, axis), shape[axis], found)
    return found


# --- slices and padding


def sliced(
    data: te.Tensor,
    begin: te.Tensor,
    end: te.Tensor,
    strides: te.Tensor,
    need: Need,
    axes: tuple[int, ...] | None,
    slice_mode: str,
) -> Shapes:
    shape = list(data.shape)
    for number, axis in enumerate(range(data.rank) if axes is None else axes):
        extent = shape[axis]
        if slice_mode == "size":
            first = first_place(value_at(begin, number, 0), te.index(1), extent)
            wanted = value_at(end, number, -1)
            rest = te.maximum(extent - first, 0)
            shape[axis] = te.select(wanted < 0, rest, te.minimum(rest, wanted))
            continue
        start, stride = slice_from(begin, strides, number)
        need(te.not_equal(stride, 0), "a stride is zero", "strides other than 0", "0")
        forward = stride > 0
        first = first_place(start, stride, extent)
        stop = value_at(end, number, te.select(forward, te.index(UNBOUNDED), -UNBOUNDED))
        from_front = te.select(stop < 0, stop + extent, stop)
        low = te.select(forward, te.index(0), te.index(-1))
        last = te.minimum(te.maximum(from_front, low), te.select(forward, extent, extent - 1))
        shape[axis] = te.maximum(-((first - last) // stride), 0)
    return (shape,)


def topmost(data: te.Tensor, k: te.Tensor, need: Need, **attrs: Any) -> Shapes:
    axis = attrs["axis"] % data.rank
    extent, wanted = data.shape[axis], te.index(k[()])
    fits = wanted <= extent
    message = f"axis {axis} has fewer than `k` elements"
    need(fits, message, f"{VALUE} or more", VALUE, (extent, wanted))
    found = te.select(wanted < 1, extent, wanted)
    shape = (*data.shape[:axis], found, *data.shape[axis + 1 :])
    return (shape, shape) if attrs["ret_type"] == "both" else (shape,)


# the extent that padding of a width requires
_NEEDED: dict[str, Callable[[te.Expr], te.Expr]] = {
    "edge": lambda width: te.minimum(width, 1),
    "reflect": lambda width: te.select(width > 0, width + 1, te.index(0)),
    "REFLECT": lambda width: te.select(width > 0, width + 1, te.index(0)),
    "SYMMETRIC": lambda width: width,
    "wrap": lambda width: te.minimum(width, 1),
}


def padded(data: te.Tensor, widths: te.Tensor, _: te.Tensor, need: Need, pad_mode: str) -> Shapes:
    shape = []
    for axis, extent in enumerate(data.shape):
        before, after = te.index(widths[axis, 0]), te.index(widths[axis, 1])
        wanted = extent + before + after
        if pad_mode == "constant":
            message = f"axis {axis} is too short for so many elements to be taken away"
            need(wanted >= 0, message, "0 elements or more", VALUE, (wanted, 0))
        else:
            left = extent + te.minimum(before, 0) + te.minimum(after, 0)
            needed = _NEEDED[pad_mode](te.maximum(te.maximum(before, after), 0))
            message = f"axis {axis} is too short to be padded with its own elements"
            need(left >= needed, message, f"{VALUE} elements or more", VALUE, (left, needed))
        shape.append(wanted)
    return (shape,)


def scaled(spatial: str) -> Callable[..., Shapes]:
    """Spatial extents times the factors, with ties rounded up."""

    def extents(data: te.Tensor, *factors: te.Tensor, need: Need, **attrs: Any) -> Shapes:
        layout = read_layout(attrs["layout"])
        new: dict[str, te.Expr] = {}
        for letter, factor in zip(spatial, factors, strict=True):
            number = te.cast(factor[()], "float64")
            finite = te.every(number > 0.0, number < 1e18)
            message = f"`scale_{letter.lower()}` is no factor"
            need(finite, message, "a positive number", REAL_VALUE, (te.bitcast(number, INDEX), 0))
            outer, *_ = layout.places(letter)
            own = data.shape[outer] * prod(layout.blocks(letter))
            exact = te.cast(own, "float64") * number + 0.5
            new[letter] = te.index(call("floor", exact))
        return (_relaid(data, attrs["layout"], new),)

    return extents
