"""Concatenation, slices, splits and selections."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from relay import op
from relay.errors import VALUE
from relay.frontend.common.broadcast import best_known, joinable, of_shape, without_names
from relay.frontend.common.builder import int64, static
from relay.frontend.common.checking import axes_within, checked_sizes, within
from relay.frontend.common.elements import Elements
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Expr
from relay.ir.types import TensorType

table = Converters()

END = 2**31 - 1  # bounds from here on mean the end of an axis, in slices of Relay


@table("Concat")
def concat(node: Node, *parts: Expr) -> Expr:
    axis = node.attribute("axis", 1) if node.version < 4 else node.required("axis")
    if len(parts) == 1:
        return parts[0]
    place = axis % max(node.rank(parts[0]), 1)
    return op.concatenate(joinable(node, place, *parts), axis=axis)


@table("Slice")
def slice_(
    node: Node,
    data: Expr,
    starts: Expr | None = None,
    ends: Expr | None = None,
    axes: Expr | None = None,
    steps: Expr | None = None,
) -> Expr:
    """The bounds are attributes before version 10."""
    if starts is None or ends is None:
        first, last = node.required("starts"), node.required("ends")
        given = node.attribute("axes", range(len(first)))
        return _sliced(node, data, first, last, [1] * len(first), given)
    lists = [one for one in (starts, ends, axes, steps) if one is not None]
    counts = [node.length(one, "bounds") for one in lists if not node.has_dynamic_length(one)]
    if not counts:
        return _sliced_along_dynamic_axes(node, data, starts, ends, axes, steps)
    count = counts[0]
    if len(counts) < len(lists):
        starts, ends = (node.of_length(one, count, "bounds") for one in (starts, ends))
        axes, steps = (
            one if one is None else node.of_length(one, count, "axes and steps")
            for one in (axes, steps)
        )
    named = list(range(count)) if axes is None else static(node.elements(axes))
    strides = [1] * count if steps is None else static(node.elements(steps))
    bounds = node.elements(starts), node.elements(ends)
    numbers = [static(one) for one in bounds]
    if named is None:
        return _sliced_along_dynamic_axes(node, data, starts, ends, axes, steps)
    if strides is not None and numbers[0] is not None and numbers[1] is not None:
        return _sliced(node, data, numbers[0], numbers[1], strides, named)
    _require_length(node, count, named, strides, *bounds)
    named = node.axes_of(named, node.rank(data))
    begin: Expr = op.cast(starts, "int64")
    if strides is None or min(strides, default=1) < 0:
        own = op.take(op.shape_of(data, dtype="int64"), int64(named), axis=0)
        begin = _not_before(begin, own)
    by = int64([1] * count) if steps is None else op.cast(steps, "int64")
    found = op.strided_slice(data, begin, op.cast(ends, "int64"), by, axes=tuple(named))
    if strides is None or None in (*bounds,):
        return found
    extents = list(node.shape(data))
    for axis, start, end, step in zip(named, *bounds, strides, strict=True):  # type: ignore[arg-type]
        extents[axis] = _length(extents[axis], start, end, step)
    return node.declare(found, extents, node.dtype(data))


def _require_length(node: Node, count: int, *lists: Sequence[object] | None) -> None:
    for one in lists:
        if one is not None and len(one) != count:
            raise node.refused("lists of different lengths", str(count), str(len(one)))


def _not_before(starts: Expr, extents: Expr) -> Expr:
    """Starts not before the first element: in Relay one before it is allowed for negative steps."""
    return op.maximum(starts, -extents)


def _sliced(
    node: Node,
    data: Expr,
    starts: Sequence[int],
    ends: Sequence[int],
    steps: Sequence[int],
    axes: Sequence[int],
) -> Expr:
    shape = node.shape(data)
    _require_length(node, len(starts), ends, steps, axes)
    axes = node.axes_of(axes, len(shape))
    low = []
    for start, axis in zip(starts, axes, strict=True):
        extent = shape[axis]
        low.append(max(min(start, END), -extent if isinstance(extent, int) else -END))
    high = [max(min(one, END), -END) for one in ends]
    return op.strided_slice(data, low, high, list(steps), axes=tuple(axes))


def _length(extent: Dim, start: Dim | None, end: Dim | None, step: int) -> Dim:
    """The length of a slice whose bounds may be named dimensions, if they are inside the axis."""
    if step != 1 or start is None or end is None:
        return dims.ANY
    if isinstance(end, int) and end >= END:
        end = extent
    first, last = (_inside(bound, extent) for bound in (start, end))
    length = last - first
    return length if dims.sign_of(length) in (0, 1) else dims.ANY


def _inside(bound: Dim, extent: Dim) -> Dim:
    """A bound from the front, if its sign is known, and not beyond the axis."""
    if isinstance(bound, int) and bound < 0:
        return dims.maximum(bound + extent, 0)
    if dims.sign_of(bound) in (0, 1):
        return dims.minimum(bound, extent)
    return dims.ANY


def _sliced_along_dynamic_axes(
    node: Node, data: Expr, starts: Expr, ends: Expr, axes: Expr | None, steps: Expr | None
) -> Expr:
    """A slice along axes known at run time: all axes are sliced, most of them entirely."""
    rank = node.rank(data)
    starts, ends = without_names(node, starts), without_names(node, ends)
    steps = steps if steps is None else without_names(node, steps)
    if axes is None:
        axes = node.let(op.arange(node.size(starts, 0), dtype="int64"))
    given = node.let(op.cast(without_names(node, axes), "int64"))
    positions = axes_within(node, given, rank, different=True)

    def spread(default: int, values: Expr) -> Expr:
        defaults = int64([default] * rank)
        return op.scatter_elements(defaults, positions, op.cast(values, "int64"), axis=0)

    first, last = spread(0, starts), spread(END, ends)
    if steps is None:
        return op.strided_slice(data, first, last)
    first = _not_before(first, op.shape_of(data, dtype="int64"))
    return op.strided_slice(data, first, last, spread(1, steps))


@table("Split")
def split(node: Node, data: Expr, sizes: Expr | None = None) -> Sequence[Expr]:
    """Before version 13 the sizes may be an attribute."""
    if node.version < 13 and (given := node.attribute("split")) is not None:
        sizes = node.importer.constant(np.array(given, "int64"))
    axis, count = node.axis(data), len(node.outputs)
    extent = node.shape(data)[axis]
    if sizes is not None:
        known: Elements = node.elements(sizes) or (None,) * count
        sizes = checked_sizes(node, of_shape(node, sizes, [count]), data, axis)
    elif count == 1:
        return [data]
    else:
        sizes, known = _even_pieces(node, data, axis, count)
    if len(known) != count:
        raise node.misfit("the sizes do not fit the outputs", str(count), str(len(known)))
    numbers = static(known)
    if numbers is None or not isinstance(extent, int) or node.constant(data) is not None:
        return _slices(node, data, sizes, known, axis)
    if sum(numbers) != extent or min(numbers) < 0:
        raise node.misfit("the sizes do not fit the axis", str(extent), str([*numbers]))
    cuts = list(accumulate(numbers))[:-1]
    pieces = node.fields(op.split(data, cuts, axis=axis).astuple(), count)
    elements = node.elements(data)
    if elements is not None:
        for piece, first, size in zip(pieces, [0, *cuts], numbers, strict=True):
            node.scope.elements[piece] = elements[first : first + size]
    return pieces


_FEW = "there are fewer elements than parts"


def _even_pieces(node: Node, data: Expr, axis: int, count: int) -> tuple[Expr, Elements]:
    """The sizes of pieces; from version 18 on the last one may be smaller."""
    extent = node.shape(data)[axis]
    uneven, multiple = "the axis cannot be split into equal parts", f"a multiple of {count}"
    if isinstance(extent, int):
        if node.version < 18 and extent % count:
            raise node.refused(uneven, multiple, str(extent))
        if node.version >= 18 and extent < count:
            raise node.refused(_FEW, f"{count} or more", str(extent))
        longest = -(-extent // count)
        numbers = [max(min(longest, extent - longest * place), 0) for place in range(count)]
        return int64(numbers), tuple(numbers)
    whole = op.take(op.shape_of(data, dtype="int64"), int64([axis]), axis=0)
    most = node.let(op.floor_divide(whole + int64(count - 1), int64(count)))
    starts = op.minimum(int64(list(range(count))) * most, whole)
    sizes = node.let(op.minimum(whole - starts, most))
    length, number = node.size(data, axis), int64(count)
    if node.version < 18:
        fits: Expr = op.equal(op.floor_mod(length, number), int64(0))
        message = uneven, multiple
    else:
        fits, message = length >= number, (_FEW, f"{count} or more")
    sizes = node.checked(sizes, fits, *message, VALUE, length)
    part = dims.exact_quotient(extent, count)
    return sizes, (part,) * count


def _slices(node: Node, data: Expr, sizes: Expr, known: Elements, axis: int) -> Sequence[Expr]:
    """The pieces as slices of dynamic sizes, of which some may be known."""
    ends = node.let(op.cumsum(op.cast(sizes, "int64"), axis=0))
    starts = node.let(ends - op.cast(sizes, "int64"))
    extents = list(node.shape(data))
    found = []
    for place, size in enumerate(known):
        first, last = (
            node.let(op.strided_slice(one, [place], [place + 1])) for one in (starts, ends)
        )
        extents[axis] = dims.ANY if size is None else size
        declared = TensorType(tuple(extents), node.dtype(data))
        piece = op.strided_slice(data, first, last, axes=(axis,))
        found.append(node.let(piece, node.outputs[place], declared))
    return found


@table("Compress")
def compress(node: Node, data: Expr, condition: Expr) -> Expr:
    """Selects slices along an axis, or of all elements, by a mask."""
    node.must_have_axes(condition, 1, "conditions")
    if "axis" not in node.attributes:
        data = node.let(op.reshape(data, (-1,)))
    axis = node.axis(data)
    positions = node.let(op.cast(op.squeeze(op.argwhere(condition), (1,)), "int64"))
    last = node.let(node.size(data, axis) - int64(1))
    message = "the condition is longer than the axis"
    greatest = node.let(op.max(node.let(op.concatenate([int64([-1]), positions], axis=0)), axis=0))
    expected, found = f"places up to {VALUE}", f"place {VALUE}"
    chosen = node.checked(positions, greatest <= last, message, expected, found, greatest, last)
    return op.take(data, chosen, axis=axis)


@table("ReverseSequence")
def reverse_sequence(node: Node, data: Expr, lengths: Expr) -> Expr:
    time, batch = node.attribute("time_axis", 0), node.attribute("batch_axis", 1)
    shape = list(node.shape(data))
    if sorted((time, batch)) != [0, 1] or len(shape) < 2:
        raise node.refused("the axes are others", "0 and 1", f"{time} and {batch}")
    shape[batch] = best_known([shape[batch], *node.shape(lengths)])
    steps, message = node.size(data, time), "a sequence is longer than there are steps"
    lengths = within(node, lengths, 0, steps, message, f"0 to {VALUE}")
    return op.reverse_sequence(
        of_shape(node, data, shape),
        of_shape(node, lengths, [shape[batch]]),
        seq_axis=time,
        batch_axis=batch,
    )
