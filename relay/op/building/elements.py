"""Building blocks of computes: index maps between inputs and results.

elementwise(function)       result[i, j] = function(x[i, j])
broadcasting(function)      result[i, j] = function(x[i, j], y[j])   by the shapes of x and y
moved(x, out, source)       result[i, j] = x[source(i, j)]
stretched(x, indices, …)    the element of a broadcast tensor
regrouped(indices, …)       the same row-major position under another shape
folded(shape, axes, …)      reductions over some axes
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relay import te
from relay.op.building.scalars import Function
from relay.op.opdef import Compute

Shape = Sequence[te.Expr]
Indices = tuple[te.Expr, ...]


# --- elementwise -------------------------------------------------------------------------------


def elementwise(function: Callable[..., te.Expr]) -> Compute:
    """The function of each element; attributes are passed on."""

    def compute(data: te.Tensor, out: te.Spec, **attrs: Any) -> te.Tensor:
        return te.compute(out.shape, lambda *i: function(data[i], **attrs))

    return compute


def broadcasting(function: Function) -> Compute:
    """The function of the elements of the broadcast tensors."""

    def compute(*tensors: te.Tensor, out: te.Spec) -> te.Tensor:
        return te.compute(
            out.shape, lambda *i: function(*(stretched(x, i, out.shape) for x in tensors))
        )

    return compute


def moved(data: te.Tensor, out: te.Spec, source: Callable[..., Sequence[te.Scalar]]) -> te.Tensor:
    """The tensor whose element at (i, j, …) is that of data at `source(i, j, …)`."""
    return te.compute(out.shape, lambda *i: data[tuple(source(*i))])


def copied(data: te.Tensor, out: te.Spec, **_: Any) -> te.Tensor:
    """The same elements, whatever the attributes."""
    return te.compute(out.shape, lambda *i: data[i])


def filled(out: te.Spec, value: te.Scalar) -> te.Tensor:
    """A constant tensor, converted to the element type of the result."""
    if isinstance(value, te.Expr):
        return te.compute(out.shape, lambda *i: te.cast(value, out.dtype))
    return te.compute(out.shape, lambda *i: te.const(value, out.dtype))


# --- reductions --------------------------------------------------------------------------------

Body = Callable[[Indices], te.Expr]
# (value, axes) -> the reduction of the value over the axes, such as `te.sum`
Combine = Callable[[te.Expr, Sequence[te.Axis]], te.Expr]


def folded(
    shape: Shape, axes: Sequence[int], body: Body, combine: Combine, keep: bool = False
) -> te.Tensor:
    """Reduce `body(indices)` over some axes of a shape by `combine`.

    The axes are removed; with `keep` they stay, with extent 1.
    """
    over = {axis: te.axis(shape[axis], f"k{axis}") for axis in axes}
    left = tuple(
        te.index(1) if axis in over else extent
        for axis, extent in enumerate(shape)
        if keep or axis not in over
    )

    def element(*indices: te.Expr) -> te.Expr:
        rest = iter(without(indices, axes) if keep else indices)
        whole = tuple(over[axis] if axis in over else next(rest) for axis in range(len(shape)))
        return combine(body(whole), tuple(over.values()))

    return te.compute(left, element)


def without(indices: Sequence[te.Expr], axes: Sequence[int]) -> Indices:
    """The indices (or extents) without those of the axes."""
    return tuple(index for axis, index in enumerate(indices) if axis not in axes)


# --- indices -----------------------------------------------------------------------------------


def stretched(tensor: te.Tensor, indices: Indices, shape: Shape) -> te.Expr:
    """The element of `tensor`, broadcast to `shape`, at `indices`."""
    return tensor[stretched_index(tensor.shape, indices, shape)]


def stretched_index(own: Shape, indices: Indices, shape: Shape) -> Indices:
    """Indices into a tensor of shape `own` that is broadcast to `shape`."""
    skipped = len(shape) - len(own)
    return tuple(map(_along, own, indices[skipped:], shape[skipped:]))


def _along(extent: te.Expr, place: te.Expr, whole: te.Expr) -> te.Expr:
    if extent == whole:
        return place
    # a dynamic extent may be 1 at run time
    return te.select(te.equal(extent, 1), te.index(0), place)


def common_extent(a: te.Expr, b: te.Expr) -> te.Expr:
    """The broadcast of two extents, static or dynamic."""
    if a == b or _is_one(b):
        return a
    if _is_one(a) or isinstance(b, te.Const):
        return b
    if isinstance(a, te.Const):
        return a
    # the other if one is 1, and 0 if one is 0
    return te.maximum(a, b) * te.minimum(te.minimum(a, b), 1)


def size(shape: Shape) -> te.Expr:
    """The number of elements."""
    total: te.Expr = te.index(1)
    for extent in shape:
        total = total * extent
    return total


def position(indices: Sequence[te.Expr], shape: Shape) -> te.Expr:
    """The row-major position of an element."""
    total: te.Expr = te.index(0)
    for index, extent in zip(indices, shape, strict=True):
        if not _is_one(extent):
            total = total * extent + index
    return total


def place(number: te.Expr, shape: Shape) -> Indices:
    """The indices of a row-major position: the inverse of `position`."""
    found: list[te.Expr] = [te.index(0)] * len(shape)
    counted = [axis for axis, extent in enumerate(shape) if not _is_one(extent)]
    for axis in reversed(counted[1:]):
        found[axis] = number % shape[axis]
        number = number // shape[axis]
    for axis in counted[:1]:
        found[axis] = number
    return tuple(found)


def regrouped(indices: Indices, shape: Shape, other: Shape) -> Indices:
    """Indices of the same row-major position under another shape.

    Runs of axes with the same number of elements are converted separately, so that (a * b, c) ->
    (a, b, c) divides as little as possible: [i, j] is [i // b, i % b, j].
    """
    found: list[te.Expr] = []
    for mine, theirs in _groups(shape, other):
        found.extend(place(position(indices[mine], shape[mine]), other[theirs]))
    return tuple(found)


def _groups(shape: Shape, other: Shape) -> list[tuple[slice, slice]]:
    """The shortest runs of axes with the same number of elements, from the front."""
    found: list[tuple[slice, slice]] = []
    start = begin = 0
    while start < len(shape) and begin < len(other):
        stop, end = _run(shape, other, start, begin)
        found.append((slice(start, stop), slice(begin, end)))
        start, begin = stop, end
    # the remaining axes are on one side only, with extent 1
    found.append((slice(start, None), slice(begin, None)))
    return found


def _run(shape: Shape, other: Shape, start: int, begin: int) -> tuple[int, int]:
    """The ends of the runs of axes that start at `start` and `begin`."""
    stop, end = start + 1, begin + 1
    if shape[start] == other[begin]:
        return stop, end
    while (mine := _number(shape[start:stop])) and (theirs := _number(other[begin:end])):
        if mine == theirs:
            return stop, end
        if (stop == len(shape)) if mine < theirs else (end == len(other)):
            break
        stop, end = (stop + 1, end) if mine < theirs else (stop, end + 1)
    # dynamic or empty: the rest is one run
    return len(shape), len(other)


def _number(extents: Shape) -> int:
    """The product; 0 if it is unknown."""
    total = size(extents)
    return int(total.value) if isinstance(total, te.Const) else 0


def _is_one(extent: te.Expr) -> bool:
    return isinstance(extent, te.Const) and extent.value == 1
