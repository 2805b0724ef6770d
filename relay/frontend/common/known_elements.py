"""Operations of graphs that compute shapes with tensors: what is known of their elements.

wanted = node.sizes(shape)          a vector of int64
node.known.of(wanted)               (n, 3, None): its elements, as far as they are known
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relay import op
from relay.frontend.common.broadcast import without_names
from relay.frontend.common.builder import Builder, int64, static
from relay.frontend.common.elements import Elements, elements_of_array
from relay.frontend.common.reshaping import reshaped
from relay.immutable import frozen
from relay.ir.dims import Dim
from relay.ir.expr import Constant, Expr


@dataclass
class KnownElements:
    """What is known of the elements of tensors of integers, which may be shapes."""

    found: dict[Expr, Elements] = field(default_factory=dict)

    def of(self, value: Expr) -> Elements | None:
        if isinstance(value, Constant):
            return elements_of_array(value.data)
        return self.found.get(value)

    def same(self, value: Expr, source: Expr) -> Expr:
        """A value with the elements of another one, in their order."""
        found = self.of(source)
        if found is not None:
            self.found[value] = found
        return value


@frozen
class SizedBuilder(Builder):
    """An operation whose inputs may be shapes."""

    @property
    def known(self) -> KnownElements:
        raise AssertionError("each frontend has its own")  # what its importer holds

    def numbers(self, value: Expr | None, what: str) -> list[Any]:
        """The elements of a constant input in a list."""
        known = self.constant(value)
        if known is None:
            text = f"{what} must be known before the model runs"
            raise self.refused(text, "a constant", "a tensor that the model computes")
        return list(known.reshape(-1).tolist())

    def sizes(self, value: Expr) -> Expr:
        """A vector of sizes as int64."""
        flat = value if self.rank(value) == 1 else self.let(op.reshape(value, (-1,)))
        return self.known.same(self.as_dtype(flat, "int64"), value)

    def whole_shape(self, value: Expr) -> Expr:
        """The extents of a tensor as an int64 vector."""
        known = [one for one in self.shape(value) if isinstance(one, int)]
        if len(known) == self.rank(value):
            return self.let(int64(np.array(known, "int64")))
        return self.let(op.shape_of(value, "int64"))

    def filled(self, value: Expr, shape: Expr) -> Expr:
        """A tensor of one value, whose shape may be computed."""
        sizes, value = self.sizes(shape), self.let(op.reshape(value, ()))
        elements, dtype = self.known.of(sizes), self.dtype(value)
        if (numbers := static(elements)) is not None:
            return self.let(op.full(value, numbers, dtype))
        count = self.static_extent(sizes, 0, "how many axes there are")
        found = op.dyn.full(value, sizes, dtype)
        return self.declare(found, elements or (None,) * count, dtype)

    def broadcast(self, data: Expr, shape: Expr) -> Expr:
        """A tensor broadcast to a shape that may be computed."""
        wanted = self.sizes(shape)
        elements = self.known.of(wanted)
        if (numbers := static(elements)) is not None:
            return op.broadcast_to(without_names(self, data), numbers)
        count = self.static_extent(wanted, 0, "how many axes there are")
        found = op.broadcast_to(without_names(self, data), wanted)
        return self.declare(found, elements or (None,) * count, self.dtype(data))

    def reshaped(self, data: Expr, shape: Expr) -> Expr:
        """A tensor of a shape that may be computed; -1 is what is left."""
        wanted = self.sizes(shape)
        count = self.static_extent(wanted, 0, "how many axes there are")
        return self.with_extents(data, self.known.of(wanted) or (None,) * count, wanted)

    def with_extents(self, data: Expr, elements: Sequence[Dim | None], wanted: Expr) -> Expr:
        """A tensor of a shape, as far as it is known, and as a vector."""
        if sum(one == -1 for one in elements) > 1 or any(
            isinstance(one, int) and one < -1 for one in elements
        ):
            raise self.refused("the shape has impossible extents", found=str([*elements]))
        return reshaped(self, data, elements, lambda: wanted, allowzero=True)

    def without_axes(self, data: Expr, given: Sequence[int]) -> Expr:
        """A tensor without axes of one element: those given, otherwise all that are known."""
        extents = self.shape(data)
        if not given:
            given = [axis for axis, extent in enumerate(extents) if extent == 1]
        axes = self.axes_of(given, len(extents), distinct=True)
        # a dynamic extent is checked to be 1 at run time
        shape = [1 if axis in axes else extent for axis, extent in enumerate(extents)]
        if any(isinstance(extents[axis], int) and extents[axis] != 1 for axis in axes):
            message = "an axis that goes has more than one element"
            raise self.refused(message, "1", f"{extents}")
        if shape != list(extents):
            data = self.declare(without_names(self, data), shape, self.dtype(data))
        return op.squeeze(data, tuple(axes))

    def padded(self, data: Expr, widths: Expr, value: Expr) -> Expr:
        """A tensor with elements before and after its axes; the numbers may be computed."""
        known = self.constant(widths)
        if known is not None:
            return op.nn.pad(data, pairs([int(one) for one in known.reshape(-1)]), value)
        found = op.nn.pad(data, self.as_dtype(widths, "int64"), value)
        return self.declare(found, (None,) * self.rank(data), self.dtype(data))


def pairs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Numbers in pairs."""
    return list(zip(numbers[::2], numbers[1::2], strict=True))
