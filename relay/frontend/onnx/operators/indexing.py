"""Elements by their positions: read and written."""

from __future__ import annotations

import numpy as np

from relay import op
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr, const

table = Converters()


def from_front(node: Node, indices: Expr, data: Expr, axis: int) -> Expr:
    """Indices along an axis that count from its front; those of ONNX may count from the back."""
    extent = node.shape(data)[axis]
    dtype = node.dtype(indices)
    known = node.constant(indices)
    if known is not None and (isinstance(extent, int) or bool((known >= 0).all())):
        if bool((known >= 0).all()):
            return indices
        return node.importer.constant(np.where(known < 0, known + extent, known).astype(dtype))
    if isinstance(extent, int):
        length: Expr = const(extent, dtype)
    else:
        length = op.take(op.shape_of(data, dtype=dtype), const(axis, "int64"), axis=0)
    return op.where(op.less(indices, const(0, dtype)), op.add(indices, length), indices)


def chosen_axis(node: Node, data: Expr, default: int = 0) -> int:
    """The attribute `axis`, counted from the front."""
    axis, rank = node.attribute("axis", default), node.rank(data)
    if not -rank <= axis < rank:
        raise node.refused("`axis` is out of range", f"an axis of {rank}", str(axis))
    return int(axis) % rank


# --- reading -----------------------------------------------------------------------------------


@table("Gather")
def gather(node: Node, data: Expr, indices: Expr) -> Expr:
    axis = chosen_axis(node, data)
    return op.take(data, from_front(node, indices, data, axis), axis=axis)
