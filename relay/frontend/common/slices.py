"""Slices by bounds, steps and bit masks, as TensorFlow and TFLite have them."""

from __future__ import annotations

from collections.abc import Mapping

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.known_elements import SizedBuilder
from relay.ir.expr import Expr

END = 2**31 - 1  # bounds from here on mean the end of an axis, in slices of Relay
MASKS = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")


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
        self.offset = False

    @classmethod
    def of(
        cls,
        node: SizedBuilder,
        data: Expr,
        begin: Expr,
        end: Expr,
        strides: Expr,
        masks: Mapping[str, int],
        *,
        offset: bool = False,
    ) -> Slices:
        """Slices by bounds and masks; with `offset`, ends are counted from begins."""
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
        found.offset = offset
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
                if high is not None and offset and not has("end", place):
                    high = None if low is None else low + high
            found.low.append(low)
            found.high.append(high)
            found.steps.append(step)
            axis += 1
        found.shape += range(axis, rank)
        return found

    def apply(self, node: SizedBuilder, data: Expr, begin: Expr, end: Expr) -> Expr:
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

    def _computed(self, node: SizedBuilder, data: Expr, begin: Expr, end: Expr) -> Expr:
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
            elif high is None and self.offset:
                stop = start + stop
            lows.append(start)
            highs.append(node.let(stop))
        bounds = [node.let(op.concatenate(one, axis=0)) for one in (lows, highs)]
        steps = int64(self.steps)
        found = op.strided_slice(data, bounds[0], bounds[1], steps, axes=tuple(self.axes))
        return node.let(found)


def sliced(node: SizedBuilder, data: Expr, begin: Expr, size: Expr) -> Expr:
    """A part of that size; -1 is all the rest."""
    first, count = node.constant(begin), node.constant(size)
    if first is None or count is None:
        starts, lengths = node.sizes(begin), node.sizes(size)
        known = node.known.of(lengths) or (None,) * node.rank(data)
        axes = tuple(range(node.rank(data)))
        found = op.strided_slice(data, starts, lengths, axes=axes, slice_mode="size")
        extents = [None if isinstance(one, int) and one < 0 else one for one in known]
        return node.declare(found, extents, node.dtype(data))
    bounds = zip(first.reshape(-1).tolist(), count.reshape(-1).tolist(), strict=True)
    both = [(start, END if length < 0 else start + length) for start, length in bounds]
    return op.strided_slice(data, [one for one, _ in both], [one for _, one in both])


def updated(node: SizedBuilder, data: Expr, update: Expr, start: Expr) -> Expr:
    """Data with a part replaced, whose start is moved so that the part lies inside."""
    sizes, room = node.whole_shape(update), node.whole_shape(data)
    last = op.maximum(room - sizes, int64(0))
    first = op.maximum(op.minimum(node.sizes(start), last), int64(0))
    begin = node.let(first)
    return op.strided_set(data, update, begin, node.let(begin + sizes))
