"""Index checks: models call an index out of range an error, where operators of Relay clamp it.

Where a format itself clamps, `clamped` says so in the program.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import op
from relay.frontend.common.builder import Builder, int64
from relay.ir.expr import Expr, const
from relay.op.tensor.index_checks import checked


def in_range(
    node: Builder, indices: Expr, data: Expr, axes: Sequence[int] = (0,), *, negative: bool = False
) -> Expr:
    """Indices checked to be inside the given axes of data; constants are checked here if they can.

    With several axes, the first axis of indices runs over them.
    """
    known = node.constant(indices)
    if known is None or not _lie_inside(node, known, data, axes, negative):
        return node.let(checked(indices, data, axes, negative))
    return indices


def from_front(node: Builder, indices: Expr, data: Expr, axis: int) -> Expr:
    """Indices along an axis, which may be negative, checked and counted from the front."""
    indices = in_range(node, indices, data, [axis], negative=True)
    extent, dtype, known = node.shape(data)[axis], node.dtype(indices), node.constant(indices)
    if known is not None and bool((known >= 0).all()):
        return indices
    if known is not None and isinstance(extent, int):
        return node.let(const(np.where(known < 0, known + extent, known).astype(dtype), dtype))
    if isinstance(extent, int):
        length: Expr = const(extent, dtype)
    else:
        length = op.take(op.shape_of(data, dtype=dtype), int64(axis), axis=0)
    return op.where(indices < const(0, dtype), indices + length, indices)


def clamped(positions: Expr, extent: Expr) -> Expr:
    """int64 positions clamped to an axis of that extent."""
    one, zero = int64(1), int64(0)
    return op.maximum(op.minimum(positions, extent - one), zero)


def _lie_inside(
    node: Builder, known: np.ndarray, data: Expr, axes: Sequence[int], negative: bool
) -> bool:
    """Whether constant indices are inside for certain."""
    shape = node.shape(data)
    rows = known if len(axes) > 1 else [known]
    for row, axis in zip(rows, axes, strict=True):
        extent = shape[axis]
        # reading from an axis without elements is refused anyway
        last = extent - 1 if isinstance(extent, int) else 0
        first = -last - 1 if negative else 0
        if not bool(((row >= first) & (row <= last)).all()):
            return False
    return True
