"""Sliding windows over the spatial axes of data, of convolutions and pools.

    Windows.of(node, data, (3, 3))      strides, dilations and padding

`auto_pad` asks for as many windows as there are elements, divided by the stride; for dynamic
dimensions the padding is computed at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay import op
from relay.errors import FrontendError
from relay.frontend.common.builder import int64, static
from relay.frontend.onnx.node import Node
from relay.immutable import frozen
from relay.ir.dims import Dim
from relay.ir.expr import Expr

Pair = tuple[int, int]

SAME = ("SAME_UPPER", "SAME_LOWER")
AUTOMATIC = ("NOTSET", "VALID", *SAME)


@frozen
class Windows:
    """Sizes, strides, dilations and padding per spatial axis."""

    sizes: Sequence[Dim]
    strides: Sequence[int]
    dilations: Sequence[int]
    automatic: str
    pads: Sequence[Pair] | None  # before and after each axis; None for dynamic padding

    @classmethod
    def of(cls, node: Node, data: Expr, sizes: Sequence[Dim]) -> Windows:
        """Reads the attributes of a node."""
        count = len(sizes)
        strides = node.numbers("strides", count, 1)
        dilations = node.numbers("dilations", count, 1)
        for name, numbers in (("strides", strides), ("dilations", dilations)):
            if min(numbers, default=1) < 1:
                raise node.refused(f"`{name}` are not positive", "1 or more", f"{name} = {numbers}")
        automatic = automatic_padding(node)
        found = cls(sizes, strides, dilations, automatic, None)
        if automatic in SAME:
            return found._with_pads(found._same_pads(node.shape(data)[2:]))
        if automatic == "VALID":
            return found._with_pads([(0, 0)] * count)
        widths = node.numbers("pads", 2 * count)
        return found._with_pads(list(zip(widths[:count], widths[count:], strict=True)))

    def _with_pads(self, pads: Sequence[Pair] | None) -> Windows:
        return replace(self, pads=pads)

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
        return Windows(*lists, self.automatic, pads)

    def with_more_behind(self) -> Windows:
        """Windows padded so that the last one that begins in data is whole."""
        assert self.pads is not None
        pairs = zip(self.pads, self.strides, strict=True)
        return self._with_pads([(before, after + stride - 1) for (before, after), stride in pairs])

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

    def padded(self, node: Node, data: Expr, value: Expr) -> Expr:
        """Data with dynamic padding."""
        shape, count = node.shape(data), len(self.sizes)
        if (covered := static(self.covered)) is None:
            raise unknown_window(node)
        extents = node.let(node.extents(data, 2, 2 + count))
        strides, one = int64(list(self.strides)), int64(1)
        steps = op.floor_divide(extents - one, strides)
        reach = steps * strides + int64(covered)
        total = node.let(op.maximum(reach - extents, int64(0)))
        half = node.let(op.floor_divide(total, int64(2)))
        rest = total - half
        both = (half, rest) if self.automatic == "SAME_UPPER" else (rest, half)
        widths = op.concatenate([int64([[0, 0], [0, 0]]), op.stack(both, axis=1)], axis=0)
        padded = op.nn.pad(data, widths, value)
        return node.declare(padded, (*shape[:2], *[None] * count), node.dtype(data))


def unknown_window(node: Node) -> FrontendError:
    message, hint = "the window must be known before the model runs", "give it `kernel_shape`"
    return node.refused(message, hint=hint)


def automatic_padding(node: Node) -> str:
    """The attribute `auto_pad`; `NOTSET` for explicit padding."""
    found = str(node.attribute("auto_pad", "NOTSET") or "NOTSET")
    if found not in AUTOMATIC:
        raise node.refused("there is no such padding", ", ".join(AUTOMATIC), found)
    return found


def halves(total: int, automatic: str) -> Pair:
    """Padding before and after an axis; an odd element is after it for `SAME_UPPER`."""
    half = total // 2
    return (half, total - half) if automatic == "SAME_UPPER" else (total - half, half)
