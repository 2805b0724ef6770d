"""Sliding windows over the spatial axes of data, of convolutions and pools.

`SAME` padding makes as many windows as there are elements, divided by the stride; for dynamic
dimensions the padding is computed at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay import op
from relay.errors import FrontendError
from relay.frontend.common.builder import Builder, int64, static
from relay.immutable import frozen
from relay.ir.dims import Dim
from relay.ir.expr import Expr

Pair = tuple[int, int]

# an odd element of padding is after data, or before it
SAME = ("SAME_UPPER", "SAME_LOWER")


@frozen
class Windows:
    """Sizes, strides, dilations and padding per spatial axis."""

    sizes: Sequence[Dim]
    strides: Sequence[int]
    dilations: Sequence[int]
    automatic: str
    pads: Sequence[Pair] | None  # before and after each axis; None for dynamic padding
    first: int = 2  # the first spatial axis of data

    def same(self, data: Sequence[Dim]) -> Windows:
        """With the padding of `SAME` for data of that shape."""
        return self.with_pads(self._same_pads(self.extents(data)))

    def with_pads(self, pads: Sequence[Pair] | None) -> Windows:
        return replace(self, pads=pads)

    def extents(self, shape: Sequence[Dim]) -> Sequence[Dim]:
        """The spatial extents of a shape."""
        return shape[self.first : self.first + len(self.sizes)]

    @property
    def covered(self) -> list[Dim]:
        """The extent that a dilated window covers along each axis."""
        return [
            (size - 1) * step + 1 for size, step in zip(self.sizes, self.dilations, strict=True)
        ]

    @property
    def padding(self) -> tuple[int, ...]:
        """The padding before each axis, then after each; zeros for dynamic padding."""
        pads = self.pads or [(0, 0)] * len(self.sizes)
        return (*(before for before, _ in pads), *(after for _, after in pads))

    def part(self, first: int, last: int) -> Windows:
        """The windows along some of the axes."""
        pads = None if self.pads is None else self.pads[first:last]
        lists = (self.sizes[first:last], self.strides[first:last], self.dilations[first:last])
        return Windows(*lists, self.automatic, pads, self.first)

    def with_more_behind(self) -> Windows:
        """Windows padded so that the last one that begins in data is whole."""
        assert self.pads is not None
        pairs = zip(self.pads, self.strides, strict=True)
        return self.with_pads([(before, after + stride - 1) for (before, after), stride in pairs])

    def _same_pads(self, extents: Sequence[Dim]) -> list[Pair] | None:
        found = []
        for extent, count, covered, stride in zip(
            extents, self.same_counts(extents), self.covered, self.strides, strict=True
        ):
            reach = (count - 1) * stride + covered
            total = reach - extent
            if not isinstance(total, int):
                return None
            found.append(halves(max(total, 0), self.automatic))
        return found

    def same_counts(self, extents: Sequence[Dim]) -> list[Dim]:
        """The numbers of windows for `SAME_UPPER` and `SAME_LOWER`."""
        return [
            (extent + (stride - 1)) // stride
            for extent, stride in zip(extents, self.strides, strict=True)
        ]

    def padded(self, node: Builder, data: Expr, value: Expr) -> Expr:
        """Data with dynamic padding."""
        shape, count = node.shape(data), len(self.sizes)
        if (covered := static(self.covered)) is None:
            raise unknown_window(node)
        begin, end = self.first, self.first + count
        extents = node.let(node.extents(data, begin, end))
        strides, one = int64(list(self.strides)), int64(1)
        steps = op.floor_divide(extents - one, strides)
        reach = steps * strides + int64(covered)
        total = node.let(op.maximum(reach - extents, int64(0)))
        half = node.let(op.floor_divide(total, int64(2)))
        rest = total - half
        both = (half, rest) if self.automatic == "SAME_UPPER" else (rest, half)
        none = [int64([[0, 0]] * axes) for axes in (begin, len(shape) - end) if axes]
        widths = [none[0], op.stack(both, axis=1), *none[1:]]
        padded = op.nn.pad(data, op.concatenate(widths, axis=0), value)
        known = (*shape[:begin], *[None] * count, *shape[end:])
        return node.declare(padded, known, node.dtype(data))


def unknown_window(node: Builder) -> FrontendError:
    message, hint = "the window must be known before the model runs", "give it `kernel_shape`"
    return node.refused(message, hint=hint)


def halves(total: int, automatic: str) -> Pair:
    """Padding before and after an axis; an odd element is after it for `SAME_UPPER`."""
    half = total // 2
    return (half, total - half) if automatic == "SAME_UPPER" else (total - half, half)
