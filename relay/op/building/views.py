"""Tensors in a layout, indexed by the letters of their axes.

    x = View(data, read_layout("NCHW16c"))
    x.at(N=n, C=c, H=h, W=w)            data[n, c // 16, h, w, c % 16]

An index along an unblocked axis is kept in digits of a mixed base: for a channel in blocks of 16,
the block and the position inside it. A layout with the same blocks uses the digits directly, so
that indices stay sums of loop variables; any other combines and divides them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from relay import te
from relay.immutable import frozen
from relay.op.building.layouts import Layout, read_layout

# --- indices in digits -------------------------------------------------------------------------


@frozen
class Digits:
    """An index in a mixed base: digits with the number of values of each, highest first. Without
    digits it is 0."""

    parts: tuple[tuple[te.Expr, te.Expr], ...] = ()

    @property
    def whole(self) -> te.Expr:
        """The index itself."""
        total: te.Expr = te.index(0)
        for digit, extent in self.parts:
            total = total * extent + digit
        return total

    @property
    def extent(self) -> te.Expr:
        """The number of values of the index."""
        total: te.Expr = te.index(1)
        for _, extent in self.parts:
            total = total * extent
        return total

    def then(self, lower: Digits) -> Digits:
        """The index with the digits of `lower` appended."""
        return Digits(self.parts + lower.parts)

    def cut(self, blocks: Sequence[te.Scalar]) -> list[te.Expr]:
        """The indices of the blocks, outermost first, and the position in the innermost."""
        rest, found = self, []
        for size in reversed(blocks):
            rest, place = rest.divided(te.index(size))
            found.append(place.whole)
        return [rest.whole, *reversed(found)]

    def divided(self, size: te.Expr) -> tuple[Digits, Digits]:
        """The index divided by `size`, and the remainder."""
        width: te.Expr = te.index(1)
        for position in reversed(range(len(self.parts))):
            if width == size:
                return Digits(self.parts[: position + 1]), Digits(self.parts[position + 1 :])
            digit, extent = self.parts[position]
            share = _quotient(size, width)  # values of this digit per block
            if share is None:
                break
            if _quotient(share, extent) is None:
                if position > 0 and _quotient(extent, share) is None:
                    break
                high = (digit // share, extent // share)
                low = ((digit % share, share), *self.parts[position + 1 :])
                return Digits((*self.parts[:position], high)), Digits(low)
            width = width * extent
        else:
            return Digits(), self
        return along(self.whole // size, self.extent // size), along(self.whole % size, size)


def along(index: te.Scalar, extent: te.Scalar) -> Digits:
    """An index of one digit."""
    return Digits(((te.index(index), te.index(extent)),))


def _quotient(number: te.Expr, divisor: te.Expr) -> te.Expr | None:
    """The quotient, if it is known to be exact."""
    if number == divisor:
        return te.index(1)
    if isinstance(number, te.Const) and isinstance(divisor, te.Const) and divisor.value:
        return None if number.value % divisor.value else number // divisor
    return number if divisor == te.index(1) else None


def common_blocks(*cuts: Sequence[int]) -> list[int]:
    """The common subdivision of these blocks of an axis; none if they do not nest."""
    sizes = sorted({prod(blocks[i:]) for blocks in cuts for i in range(len(blocks))})
    found: list[int] = []
    for inner, outer in zip([1, *sizes], sizes, strict=False):
        if outer % inner:
            return []
        found.insert(0, outer // inner)
    return found


def running(
    extent: te.Expr, blocks: Sequence[int], name: str
) -> tuple[Digits, tuple[te.Axis, ...]]:
    """A reduction index in blocks, if they divide the extent: its digits and their axes."""
    block = prod(blocks)
    if isinstance(extent, te.Const) and extent.value % block:
        blocks, block = (), 1
    sizes = [extent // block, *map(te.index, blocks)]
    axes = tuple(te.axis(size, f"{name}{i}" if i else name) for i, size in enumerate(sizes))
    return Digits(tuple((axis, axis.extent) for axis in axes)), axes


# --- tensors -----------------------------------------------------------------------------------

LayoutIndex = Mapping[str, Digits]  # an index for each letter of a layout
Indices = tuple[te.Expr, ...]


@frozen
class View:
    """A tensor and its layout."""

    tensor: te.Tensor
    layout: Layout

    def extent(self, letter: str) -> te.Expr:
        """The extent of an unblocked axis."""
        return extent_in(self.layout, self.tensor.shape, letter)

    def at(self, **place: Digits | te.Scalar) -> te.Read:
        """The element at these indices of unblocked axes."""
        digits = {
            letter: index if isinstance(index, Digits) else along(index, self.extent(letter))
            for letter, index in place.items()
        }
        return self.tensor[indices_in(self.layout, digits)]


def view(tensor: te.Tensor, layout: str) -> View:
    """A tensor with a layout given as text."""
    return View(tensor, read_layout(layout))


def extent_in(layout: Layout, shape: Sequence[te.Expr], letter: str) -> te.Expr:
    """The extent of an unblocked axis of a tensor in that layout and shape."""
    outer, *_ = layout.places(letter)
    return shape[outer] * prod(layout.blocks(letter))


def shape_in(layout: Layout, extents: Mapping[str, te.Expr]) -> tuple[te.Expr, ...]:
    """The shape in a layout of a tensor with these extents."""
    return tuple(
        te.index(size) if size else extents[letter] // prod(layout.blocks(letter))
        for letter, size in layout.axes
    )


def indices_in(layout: Layout, place: LayoutIndex) -> Indices:
    """The indices of an element in that layout."""
    found: list[te.Expr] = [te.index(0)] * len(layout.axes)
    for letter, digits in place.items():
        parts = digits.cut(layout.blocks(letter))
        for axis, part in zip(layout.places(letter), parts, strict=True):
            found[axis] = part
    return tuple(found)


def place_in(layout: Layout, indices: Sequence[te.Expr], shape: Sequence[te.Expr]) -> LayoutIndex:
    """The place that indices into a tensor of that layout and shape denote."""
    return {
        letter: Digits(
            tuple(
                (indices[axis], te.index(layout.axes[axis][1] or shape[axis]))
                for axis in layout.places(letter)
            )
        )
        for letter in layout.letters
    }


def fill(
    shape: Sequence[te.Expr], layout: Layout, body: Callable[[LayoutIndex], te.Expr], name: str
) -> te.Tensor:
    """The tensor in that layout whose elements are `body(place)`."""
    return te.compute(shape, lambda *i: body(place_in(layout, i, shape)), name)


def unblocked_axes(layout: Layout, letters: str) -> Layout:
    """The layout with these axes unblocked."""
    axes = tuple(axis for axis in layout.axes if not (axis[1] and axis[0] in letters))
    return Layout(_spelled(axes), axes)


def with_axis_before(layout: Layout, letter: str, new: str) -> Layout:
    """The layout with another axis before an unblocked one."""
    place, *_ = layout.places(letter)
    axes = (*layout.axes[:place], (new, 0), *layout.axes[place:])
    return Layout(_spelled(axes), axes)


def _spelled(axes: Sequence[tuple[str, int]]) -> str:
    return "".join(f"{size}{letter.lower()}" if size else letter for letter, size in axes)


# --- padding ----------------------------------------------------------------------------------

Widths = tuple[te.Scalar, te.Scalar]  # before and after an axis


def padded(data: View, pads: Mapping[str, Widths], value: te.Scalar = 0) -> View:
    """Data padded along some axes with one value."""
    starts = {letter: before for letter, (before, _) in pads.items()}
    extents = {
        letter: data.extent(letter) + before + after for letter, (before, after) in pads.items()
    }
    return laid_out(data, extents, starts, value=value)


def laid_out(
    data: View,
    extents: Mapping[str, te.Expr],
    starts: Mapping[str, te.Scalar],
    apart: Mapping[str, int] | None = None,
    value: te.Scalar = 0,
) -> View:
    """Data with other extents of some axes, which become unblocked: its elements begin at `starts`,
    `apart` elements from each other; what does not fit is cropped, and the rest is `value`.

    Data itself where nothing changes.
    """
    layout = unblocked_axes(data.layout, "".join(extents))
    distances = dict.fromkeys(extents, 1) | dict(apart or {})
    same = all(
        data.extent(letter) == extents[letter]
        and te.index(starts[letter]) == te.index(0)
        and distances[letter] == 1
        for letter in extents
    )
    if same and layout == data.layout:
        return data
    shape = [
        extents.get(letter, extent)
        for (letter, size), extent in zip(data.layout.axes, data.tensor.shape, strict=True)
        if not (size and letter in extents)
    ]

    def element(place: LayoutIndex) -> te.Expr:
        source, conditions = dict(place), []
        for letter, whole in extents.items():
            start, distance, extent = starts[letter], distances[letter], data.extent(letter)
            offset = place[letter].whole - start
            end = (extent - 1) * distance + 1
            if not _holds(te.index(start) <= 0):
                conditions.append(offset >= 0)
            if not _holds(te.index(start) + end >= whole):
                conditions.append(offset < end)
            if distance > 1:
                conditions.append(te.equal(offset % distance, 0))
            source[letter] = along(offset // distance, extent)
        return te.select(te.every(*conditions), data.at(**source), value)

    return View(fill(shape, layout, element, "pad"), layout)


def _holds(condition: te.Expr) -> bool:
    return isinstance(condition, te.Const) and bool(condition.value)
