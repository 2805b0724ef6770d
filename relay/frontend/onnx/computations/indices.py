"""Indices that ONNX calls an error where they lie outside of their axis.

The operators of Relay clamp such an index or leave it out; a model that has one is wrong, and says
so in a run. Where the standard itself clamps, `clamped` says so in the program.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import op
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr, const
from relay.op.tensor.index_checks import checked


def in_range(
    node: Node, indices: Expr, data: Expr, axes: Sequence[int] = (0,), *, negative: bool = False
) -> Expr:
    """The indices, all of them inside the axes of data that they speak of, or the run ends.

    With several axes, the first axis of indices runs over them. Indices of the model itself are
    looked at here, where the extents are known.
    """
    known = node.constant(indices)
    if known is None or not _lie_inside(node, known, data, axes, negative):
        return node.let(checked(indices, data, axes, negative))
    return indices


def clamped(positions: Expr, extent: Expr) -> Expr:
    """Positions, an int64 each, in an axis of that extent: the first and the last element stand for
    what is beyond them."""
    one, zero = const(1, "int64"), const(0, "int64")
    return op.maximum(op.minimum(positions, op.subtract(extent, one)), zero)


def _lie_inside(
    node: Node, known: np.ndarray, data: Expr, axes: Sequence[int], negative: bool
) -> bool:
    """Whether indices are inside for certain, of an axis that has elements."""
    shape = node.shape(data)
    rows = known if len(axes) > 1 else [known]
    for row, axis in zip(rows, axes, strict=True):
        extent = shape[axis]
        # whatever reads the first or the last one of an axis without elements is refused anyway
        last = extent - 1 if isinstance(extent, int) else 0
        first = -last - 1 if negative else 0
        if not bool(((row >= first) & (row <= last)).all()):
            return False
    return True
