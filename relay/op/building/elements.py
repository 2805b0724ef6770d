"""Building blocks of computes: which element of an input belongs to an element of the result.

elementwise(function)       result[i, j] = function(x[i, j])
broadcasting(function)      result[i, j] = function(x[i, j], y[j])   by the shapes of x and y
moved(x, out, source)       result[i, j] = x[source(i, j)]
stretched(x, indices, …)    the element of a smaller tensor at indices of a larger one
regrouped(indices, …)       the same place counted under another shape
folded(shape, axes, …)      sums and the like over some axes
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relay import te
from relay.op.building.scalars import Function
from relay.op.opdef import Compute

Shape = Sequence[te.Expr]
Indices = tuple[te.Expr, ...]


# --- element by element ------------------------------------------------------------------------


def elementwise(function: Callable[..., te.Expr]) -> Compute:
    """The function of each element; attributes are handed on."""

    def compute(data: te.Tensor, out: te.Spec, **attrs: Any) -> te.Tensor:
        return te.compute(out.shape, lambda *i: function(data[i], **attrs))

    return compute


def broadcasting(function: Function) -> Compute:
    """The function of the elements that stand together when the tensors are broadcast."""

    def compute(*tensors: te.Tensor, out: te.Spec) -> te.Tensor:
        return te.compute(
            out.shape, lambda *i: function(*(stretched(x, i, out.shape) for x in tensors))
        )

    return compute


def moved(data: te.Tensor, out: te.Spec, source: Callable[..., Sequence[te.Scalar]]) -> te.Tensor:
    """The tensor whose element at (i, j, …) is that of data at `source(i, j, …)`."""
    return te.compute(out.shape, lambda *i: data[tuple(source(*i))])


def copied(data: te.Tensor, out: te.Spec, **_: Any) -> te.Tensor:
    """The same elements; what the attributes say changes none."""
    return te.compute(out.shape, lambda *i: data[i])


def filled(out: te.Spec, value: te.Scalar) -> te.Tensor:
    """One value everywhere, converted to the elements of the result."""
    if isinstance(value, te.Expr):
        return te.compute(out.shape, lambda *i: te.cast(value, out.dtype))
    return te.compute(out.shape, lambda *i: te.const(value, out.dtype))


# --- many elements to one ----------------------------------------------------------------------

Body = Callable[[Indices], te.Expr]
# (value, axes) -> the value over all places along the axes: `te.sum`, or what is made of it
Combine = Callable[[te.Expr, Sequence[te.Axis]], te.Expr]


def folded(
    shape: Shape, axes: Sequence[int], body: Body, combine: Combine, keep: bool = False
) -> te.Tensor:
    """`combine` over some axes of a grid whose element at `indices` is `body(indices)`.

    The axes are gone from the result; with `keep` they stay, with extent 1.
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
    """The indices (or extents) of the other axes."""
    return tuple(index for axis, index in enumerate(indices) if axis not in axes)


# --- places ------------------------------------------------------------------------------------


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
    # an extent that is known at run time only may turn out to be 1
    return te.select(te.equal(extent, 1), te.index(0), place)


def common_extent(a: te.Expr, b: te.Expr) -> te.Expr:
    """The extent of two that are broadcast together, whatever a run finds them to be."""
    if a == b or _is_one(b):
        return a
    if _is_one(a) or isinstance(b, te.Const):
        return b
    if isinstance(a, te.Const):
        return a
    # the other where one is 1, and nothing where one is 0
    return te.maximum(a, b) * te.minimum(te.minimum(a, b), 1)


def size(shape: Shape) -> te.Expr:
    """How many elements there are."""
    total: te.Expr = te.index(1)
    for extent in shape:
        total = total * extent
    return total


def position(indices: Sequence[te.Expr], shape: Shape) -> te.Expr:
    """The number of an element, counted through the shape row by row."""
    total: te.Expr = te.index(0)
    for index, extent in zip(indices, shape, strict=True):
        if not _is_one(extent):
            total = total * extent + index
    return total


def place(number: te.Expr, shape: Shape) -> Indices:
    """The indices of an element by its number: what `position` undoes."""
    found: list[te.Expr] = [te.index(0)] * len(shape)
    counted = [axis for axis, extent in enumerate(shape) if not _is_one(extent)]
    for axis in reversed(counted[1:]):
        found[axis] = number % shape[axis]
        number = number // shape[axis]
    for axis in counted[:1]:
        found[axis] = number
    return tuple(found)


def regrouped(indices: Indices, shape: Shape, other: Shape) -> Indices:
    """The same place in row-major order under another shape.

    Axes that come to the same number of elements on both sides are counted by themselves, so that
    (a * b, c) -> (a, b, c) divides no more than it has to: [i, j] is [i // b, i % b, j].
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
    # what is left stands on one side only, and is of extent 1
    found.append((slice(start, None), slice(begin, None)))
    return found


def _run(shape: Shape, other: Shape, start: int, begin: int) -> tuple[int, int]:
    """Where the run of axes that starts at `start` and `begin` ends on either side."""
    stop, end = start + 1, begin + 1
    if shape[start] == other[begin]:
        return stop, end
    while (mine := _number(shape[start:stop])) and (theirs := _number(other[begin:end])):
        if mine == theirs:
            return stop, end
        if (stop == len(shape)) if mine < theirs else (end == len(other)):
            break
        stop, end = (stop + 1, end) if mine < theirs else (stop, end + 1)
    # without numbers to compare, or elements to count, the rest is one run
    return len(shape), len(other)


def _number(extents: Shape) -> int:
    """The product, 0 where it is not known."""
    total = size(extents)
    return int(total.value) if isinstance(total, te.Const) else 0


def _is_one(extent: te.Expr) -> bool:
    return isinstance(extent, te.Const) and extent.value == 1
