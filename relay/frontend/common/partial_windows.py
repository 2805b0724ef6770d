"""Pools whose number of windows is rounded up."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.builder import Builder, int64, static
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Expr


def inside_data(
    node: Builder,
    found: Expr,
    data: Expr,
    strides: Sequence[int],
    pads: Sequence[tuple[int, int]],
    covered: Sequence[Dim],
) -> Expr:
    """A pool without the windows that begin after data, which rounding up may add; `pads` are
    before and after each axis, `covered` are the extents of windows."""
    shape, extents = node.shape(found), node.shape(data)[2:]
    most: list[Dim] = []
    for extent, stride, (before, after), reach, count in zip(
        extents, strides, pads, covered, shape[2:], strict=True
    ):
        begun = (extent + (before + stride - 1)) // stride
        never = isinstance(reach, int) and after + stride <= reach
        most.append(count if never else dims.minimum(begun, count))
    if all(dims.equal(kept, count) is True for kept, count in zip(most, shape[2:], strict=True)):
        return found
    axes = tuple(range(2, len(shape)))
    if (numbers := static(most)) is not None:
        return op.strided_slice(found, [0] * len(axes), numbers, axes=axes)
    sizes = node.extents(data, 2, len(shape))
    rounded = [b + s - 1 for s, (b, _) in zip(strides, pads, strict=True)]
    ends = op.floor_divide(sizes + int64(rounded), int64(list(strides)))
    begins = int64([0] * len(axes))
    return node.declare(
        op.strided_slice(found, begins, ends, axes=axes), (*shape[:2], *most), node.dtype(found)
    )
