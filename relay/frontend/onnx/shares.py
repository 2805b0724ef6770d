"""Softmax: shares of a whole along an axis."""

from __future__ import annotations

from relay import op
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr, const


def shares(node: Node, data: Expr, axis: int) -> Expr:
    """Softmax in the element type of data.

    The standard computes in that type: what narrow floats come to is rounded at every step.
    """
    dtype = node.dtype(data)
    if dtype not in ("float16", "bfloat16"):
        return op.nn.softmax(data, axis=axis)
    distance = op.subtract(data, op.max(data, axis=axis, keepdims=True))
    powers = node.let(op.exp(distance))
    if dtype == "float16":
        return op.divide(powers, op.sum(powers, axis=axis, keepdims=True))
    # of so few digits that it matters: they are added one by one
    totals = op.cumsum(powers, axis=axis, rounded=True)
    last = node.let(op.subtract(node.size(data, axis), const(1, "int64")))
    whole = op.take(totals, last, axis=axis)
    return op.divide(powers, op.expand_dims(whole, axis))
