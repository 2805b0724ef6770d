"""Layouts: the order of the axes of a tensor, as letters.

    NCHW            batch, channels, height, width
    NHWC            the same with the channels last
    NCHW8c          the channels in blocks of 8: channel x is at C = x // 8, c = x % 8
    OIHW4i16o4i     an axis may be blocked twice; outer blocks come first

A capital letter is an axis, or the number of its blocks; a small letter with a number is the
position inside a block. Operators compute with unblocked axes in a fixed order: `unblocked` and
`blocked` convert arrays, `unblocked_shape` and `blocked_shape` types.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from math import prod

import numpy as np

from relay.errors import EvaluationError
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.dims import Dim
from relay.op.site import Site

_AXIS = re.compile(r"([A-Z])|([1-9][0-9]*)([a-z])")


@frozen
class Layout:
    """The axes in order: a letter, and the block size or 0."""

    text: str
    axes: tuple[tuple[str, int], ...]

    @property
    def letters(self) -> str:
        """The unblocked axes in order: NCHW for NCHW8c."""
        return "".join(letter for letter, size in self.axes if not size)

    def places(self, letter: str) -> list[int]:
        """The positions of the parts of an axis, outermost first."""
        found = [i for i, (name, _) in enumerate(self.axes) if name == letter]
        return sorted(found, key=lambda i: (self.axes[i][1] > 0, i))

    def blocks(self, letter: str) -> list[int]:
        """The sizes of the blocks of an axis, outer ones first."""
        return [size for name, size in self.axes if name == letter and size]


@cache
def parse_layout(text: str) -> Layout | None:
    """Parse a layout; None if it is malformed."""
    axes: list[tuple[str, int]] = []
    end = 0
    for part in _AXIS.finditer(text):
        if part.start() != end:
            return None
        end = part.end()
        axes.append((part[1], 0) if part[1] else (part[3].upper(), int(part[2])))
    whole = [letter for letter, size in axes if not size]
    complete = len(set(whole)) == len(whole) and {letter for letter, _ in axes} == set(whole)
    return Layout(text, tuple(axes)) if complete and end == len(text) else None


def read_layout(text: str) -> Layout:
    """Parse a layout that a relation has checked."""
    found = parse_layout(text)
    if found is None:
        raise EvaluationError.of("this is no layout", expected="NCHW8c", found=text)
    return found


def spatial_axes(text: str) -> str:
    """The letters of the spatial axes of a layout, in order."""
    return "".join(letter for letter in "DHW" if letter in text)


def require_layout(site: Site, name: str, text: str, letters: str) -> Layout:
    """Parse the layout of an attribute, which must have the axes `letters` in any order."""
    found = parse_layout(text)
    if found is None or sorted(found.letters) != sorted(letters):
        site.fail(
            f"`{name}` is no layout for this operator",
            f"the letters of {letters} in any order, or blocks of them as in {letters}8"
            f"{letters[1].lower()}"
            if len(letters) > 1
            else "capital letters, and blocks of these axes as in NCHW8c",
            f'{name} = "{text}"',
        )
    return found


def unblocked_shape(site: Site, index: int, layout: Layout, letters: str) -> tuple[Dim, ...] | None:
    """The extents of the axes `letters` of argument `index`; None while it is unknown."""
    if (ty := site.tensor(index, rank=len(layout.axes))) is None:
        return None
    for axis, (letter, size) in enumerate(layout.axes):
        if size and not site.unify_dims(ty.shape[axis], size):
            site.fail(
                f"{site.argument(index)} does not have the blocks of its layout",
                f"{size} in axis {axis}, as {layout.text} says of {letter.lower()}",
                str(ty),
            )
    extents: list[Dim] = []
    for letter in letters:
        outer, *_ = layout.places(letter)
        extents.append(dims.multiply(ty.shape[outer], prod(layout.blocks(letter))))
    return tuple(extents)


def extents(shape: Sequence[Dim], text: str, letters: str) -> list[Dim]:
    """The extents of the axes `letters` of a tensor in a layout that a relation has checked."""
    known = read_layout(text)
    return [
        dims.multiply(shape[known.places(letter)[0]], prod(known.blocks(letter)))
        for letter in letters
    ]


def blocked_shape(
    site: Site, extents: Sequence[Dim], letters: str, layout: Layout
) -> tuple[Dim, ...]:
    """The shape in a layout of a tensor with these extents of the axes `letters`."""
    shape: list[Dim] = [size for _, size in layout.axes]
    for letter, extent in zip(letters, extents, strict=True):
        outer, *_ = layout.places(letter)
        block = prod(layout.blocks(letter))
        site.require_multiple(
            extent,
            block,
            f"axis {letter} does not fall into blocks",
            f"a multiple of {block}, for layout {layout.text}",
            str(extent),
        )
        shape[outer] = dims.floor_divide(extent, block)
    return tuple(shape)


def unblocked(array: np.ndarray, source: str, letters: str) -> np.ndarray:
    """An array of layout `source` with its axes unblocked in the order `letters`."""
    known = read_layout(source)
    places = [known.places(letter) for letter in letters]
    whole = array.transpose([axis for parts in places for axis in parts])
    return whole.reshape([prod(array.shape[axis] for axis in parts) for parts in places])


def blocked(array: np.ndarray, letters: str, target: str) -> np.ndarray:
    """An array with the axes `letters`, converted to layout `target`."""
    known = read_layout(target)
    shape: list[int] = []
    for letter, extent in zip(letters, array.shape, strict=True):
        sizes = known.blocks(letter)
        if extent % prod(sizes):
            raise EvaluationError.of(
                f"axis {letter} does not fall into the blocks of layout {target}",
                expected=f"a multiple of {prod(sizes)}",
                found=str(extent),
            )
        shape += [extent // prod(sizes), *sizes]
    order = [axis for letter in letters for axis in known.places(letter)]
    return array.reshape(shape).transpose(np.argsort(order))
