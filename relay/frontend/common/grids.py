"""Affine grids: the position that each element of an image or a volume is read from."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.builder import Builder
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Expr, const


def affine_places(
    node: Builder, matrices: Expr, sizes: Sequence[tuple[Dim | None, Expr]], aligned: bool
) -> Expr:
    """Matrices times (x, y, 1) or (x, y, z, 1), where x, y and z run from -1 to 1 along the last
    axes; `sizes` are the extents of images, as far as they are known and as scalars."""
    count, dtype = len(sizes), node.dtype(matrices)
    # the columns of each matrix, as (n, 1…, count) with an axis per axis of images
    taken = (op.strided_slice(matrices, [i], [i + 1], axes=(2,)) for i in range(count + 1))
    column = [op.expand_dims(op.squeeze(one, (2,)), 1, num_newaxis=count) for one in taken]
    place: Expr = column[count]
    # x is the last axis, y the one before
    for number in range(count):
        new, extent = sizes[count - 1 - number]
        steps: Expr = op.arange(extent, dtype="int64")
        if new is not None and not isinstance(new, dims.Any):
            steps = node.declare(steps, (new,), "int64")
        along = op.cast(_normalized_positions(steps, extent, aligned), dtype)
        place = place + column[number] * op.expand_dims(along, 1, num_newaxis=number + 1)
    return place


def _normalized_positions(steps: Expr, extent: Expr, aligned: bool) -> Expr:
    """Numbers from -1 to 1, at the centers of the first and last element or at their edges; a
    single one is 0."""
    one, two = const(1, "float64"), const(2, "float64")
    index, count = op.cast(steps, "float64"), op.cast(extent, "float64")
    if not aligned:
        return (two * index + one) / count - one
    last = op.maximum(count - one, one)
    middle = op.equal(count, one)
    return op.where(middle, const(0, "float64"), two * index / last - one)
