"""Concatenation, slices, splits and selections."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import op
from relay.frontend.common.broadcast import best_known, joinable, of_shape
from relay.frontend.common.builder import int64
from relay.frontend.common.indices import in_range
from relay.frontend.tflite.activation import activated, clipped
from relay.frontend.tflite.converters import Table
from relay.frontend.tflite.node import Node
from relay.ir.expr import Expr

table = Table()

END = 2**31 - 1  # bounds from here on mean the end of an axis, in slices of Relay


@table("CONCATENATION")
def concatenation(node: Node, *parts: Expr) -> Expr:
    if not parts:
        raise node.refused("there is nothing to join")
    axis = node.axis_of(node.option("axis", 0), node.rank(parts[0]))
    alike = [node.requantized(one, source=place) for place, one in enumerate(parts)]
    found = node.let(op.concatenate(joinable(node, axis, *map(node.let, alike)), axis=axis))
    return activated(node, found) if node.result_affine() is None else clipped(node, found)


@table("PACK")
def pack(node: Node, *parts: Expr) -> Expr:
    if not parts:
        raise node.refused("there is nothing to join")
    axis = node.axis_of(node.option("axis", 0), node.rank(parts[0]) + 1)
    alike = [node.let(node.requantized(one, source=place)) for place, one in enumerate(parts)]
    common = [best_known(extents) for extents in zip(*map(node.shape, alike), strict=True)]
    return op.stack([of_shape(node, one, common) for one in alike], axis=axis)


@table.moving("UNPACK")
def unpack(node: Node, data: Expr) -> list[Expr]:
    axis = node.axis_of(node.option("axis", 0), node.rank(data))
    count = node.static_extent(data, axis, "how many parts there are")
    if count != len(node.results):
        raise node.refused("there are other parts", f"{len(node.results)}", str(count))
    return [op.take(data, int64(place), axis=axis) for place in range(count)]


@table("SPLIT")
def split(node: Node, axis: Expr, data: Expr) -> list[Expr]:
    (place,) = node.numbers(axis, "the axis")
    place = node.axis_of(place, node.rank(data))
    count = node.option("num_splits", len(node.results))
    extent = node.static_extent(data, place, "the extent of the axis")
    if count < 1 or extent % count:
        raise node.refused("the axis has no equal parts", f"a multiple of {count}", str(extent))
    return _split(node, data, place, [extent // count] * count, source=1)


@table.moving("SPLIT_V")
def split_v(node: Node, data: Expr, sizes: Expr, axis: Expr) -> list[Expr]:
    (place,) = node.numbers(axis, "the axis")
    place = node.axis_of(place, node.rank(data))
    numbers = [int(one) for one in node.numbers(sizes, "the sizes")]
    if -1 in numbers:
        extent = node.static_extent(data, place, "the extent of the axis")
        numbers[numbers.index(-1)] = extent - sum(numbers) - 1
    if min(numbers, default=0) < 0:
        raise node.refused("the sizes do not fit the axis", found=str(numbers))
    return _split(node, data, place, numbers, source=0)


def _split(node: Node, data: Expr, axis: int, sizes: Sequence[int], source: int) -> list[Expr]:
    ends = np.cumsum(sizes).tolist()
    extent = node.shape(data)[axis]
    if isinstance(extent, int) and (ends or [0])[-1] != extent:
        raise node.refused("the sizes do not fit the axis", str(extent), str([*sizes]))
    parts = [
        op.strided_slice(data, [end - size], [end], axes=(axis,))
        for size, end in zip(sizes, ends, strict=True)
    ]
    return [node.requantized(one, place, source) for place, one in enumerate(parts)]


@table.moving("SLICE")
def slice_(node: Node, data: Expr, begin: Expr, size: Expr) -> Expr:
    """A size of -1 is all the rest."""
    first, count = node.constant(begin), node.constant(size)
    if first is None or count is None:
        starts, lengths = node.sizes(begin), node.sizes(size)
        known = node.importer.known_elements(lengths) or (None,) * node.rank(data)
        axes = tuple(range(node.rank(data)))
        found = op.strided_slice(data, starts, lengths, axes=axes, slice_mode="size")
        extents = [None if isinstance(one, int) and one < 0 else one for one in known]
        return node.declare(found, extents, node.dtype(data))
    bounds = zip(first.reshape(-1).tolist(), count.reshape(-1).tolist(), strict=True)
    pairs = [(start, END if length < 0 else start + length) for start, length in bounds]
    return op.strided_slice(data, [one for one, _ in pairs], [one for _, one in pairs])


@table.moving("STRIDED_SLICE")
def strided_slice(node: Node, data: Expr, begin: Expr, end: Expr, strides: Expr) -> Expr:
    by = Slices.of(node, data, begin, end, strides)
    return by.apply(node, data, begin, end)


class Slices:
    """Which axes are sliced, which are new, and which are left out, from the bits of masks."""

    def __init__(self) -> None:
        self.axes: list[int] = []  # of data
        self.places: list[int] = []  # of their bounds
        self.low: list[int | None] = []  # None where it is computed
        self.high: list[int | None] = []
        self.steps: list[int] = []
        self.dropped: list[int] = []  # of data
        self.shape: list[int | None] = []  # of the result: axes of data, None for a new one

    @classmethod
    def of(cls, node: Node, data: Expr, begin: Expr, end: Expr, strides: Expr) -> Slices:
        """Reads the masks of a node."""
        names = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
        masks = {name: node.option(f"{name}_mask", 0) for name in names}
        steps = node.numbers(strides, "the steps")
        count, rank = len(steps), node.rank(data)
        if 0 in steps:
            raise node.refused("a step is 0", "steps other than 0", str(steps))
        first, last = (
            [None] * count if known is None else known.reshape(-1).tolist()
            for known in (node.constant(begin), node.constant(end))
        )
        if len(first) != count or len(last) != count:
            raise node.refused("there are other bounds than steps", str(count), f"{len(first)}")

        def has(mask: str, place: int) -> bool:
            return bool(masks[mask] >> place & 1)

        new = sum(has("new_axis", place) for place in range(count))
        whole = [place for place in range(count) if has("ellipsis", place)]
        found, axis = cls(), 0
        for place in range(count):
            if whole and place == whole[0]:
                rest = rank - (count - 1 - new)
                found.shape += range(axis, axis + rest)
                axis += rest
                continue
            if has("new_axis", place):
                found.shape.append(None)
                continue
            if axis >= rank:
                raise node.refused("there are more bounds than axes", str(rank), str(count))
            found.axes.append(axis)
            found.places.append(place)
            step, low, high = steps[place], first[place], last[place]
            if has("shrink_axis", place):
                found.dropped.append(axis)
                # one element; -1 is the last one
                high = None if low is None else END if low == -1 else low + 1
                step = 1
            else:
                found.shape.append(axis)
                low = (0 if step > 0 else END) if has("begin", place) else low
                high = (END if step > 0 else -END) if has("end", place) else high
                if high is not None and node.option("offset", False) and not has("end", place):
                    high = None if low is None else low + high
            found.low.append(low)
            found.high.append(high)
            found.steps.append(step)
            axis += 1
        found.shape += range(axis, rank)
        return found

    def apply(self, node: Node, data: Expr, begin: Expr, end: Expr) -> Expr:
        """The slice, as an expression."""
        axes = tuple(self.axes)
        low = [one for one in self.low if one is not None]
        high = [one for one in self.high if one is not None]
        if not axes:
            found = data
        elif len(low) == len(high) == len(axes):
            # as in Python, a begin before the first element is the first
            shape = node.shape(data)
            clamped = [
                max(one, -extent) if isinstance(extent := shape[axis], int) else one
                for one, axis in zip(low, axes, strict=True)
            ]
            found = node.let(op.strided_slice(data, clamped, high, self.steps, axes=axes))
        else:
            found = self._computed(node, data, begin, end)
        if self.dropped:
            old = node.shape(found)
            kept = [1 if axis in self.dropped else extent for axis, extent in enumerate(old)]
            if kept != list(old):
                found = node.declare(found, kept, node.dtype(found))
            found = node.let(op.squeeze(found, tuple(self.dropped)))
        for place, one in enumerate(self.shape):
            if one is None:
                found = node.let(op.expand_dims(found, place))
        return found

    def _computed(self, node: Node, data: Expr, begin: Expr, end: Expr) -> Expr:
        """A slice with bounds that the model computes."""
        first, last = node.sizes(begin), node.sizes(end)

        def bound(computed: Expr, place: int, known: int | None) -> Expr:
            if known is not None:
                return int64([known])
            return op.strided_slice(computed, [place], [place + 1])

        lows, highs = [], []
        pairs = zip(self.axes, self.places, self.low, self.high, strict=True)
        for axis, place, low, high in pairs:
            start = node.let(bound(first, place, low))
            stop = bound(last, place, high)
            if high is None and axis in self.dropped:
                is_last = op.equal(start, int64([-1]))
                stop = op.where(is_last, int64([END]), start + int64([1]))
            elif high is None and node.option("offset", False):
                stop = start + stop
            lows.append(start)
            highs.append(node.let(stop))
        bounds = [node.let(op.concatenate(one, axis=0)) for one in (lows, highs)]
        steps = int64(self.steps)
        found = op.strided_slice(data, bounds[0], bounds[1], steps, axes=tuple(self.axes))
        return node.let(found)


@table.moving("GATHER")
def gather(node: Node, data: Expr, indices: Expr) -> Expr:
    axis = node.axis_of(node.option("axis", 0), node.rank(data))
    batch = node.axis_of(node.option("batch_dims", 0), node.rank(indices) + 1)
    indices = in_range(node, indices, data, [axis])
    return op.take(data, indices, axis=axis, batch_dims=batch)


@table.moving("GATHER_ND")
def gather_nd(node: Node, data: Expr, indices: Expr) -> Expr:
    """The last axis of indices runs over the axes of data."""
    depth = node.static_extent(indices, -1, "how many axes are indexed")
    order = (node.rank(indices) - 1, *range(node.rank(indices) - 1))
    first = node.let(op.transpose(indices, order))
    return op.gather_nd(data, in_range(node, first, data, range(depth)))


@table.moving("REVERSE_V2")
def reverse_v2(node: Node, data: Expr, axes: Expr) -> Expr:
    for axis in node.axes_of(node.numbers(axes, "the axes"), node.rank(data), distinct=True):
        data = node.let(op.reverse(data, axis))
    return data
