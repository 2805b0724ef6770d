"""Softmax: shares of a whole along an axis."""

from __future__ import annotations

from relay import op
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr, const


def shares(node: Node, data: Expr, axis: int) -> Expr:
    """Softmax in the element type of data.

    The standard computes in that type: what narrow floats come to is rounded at every step, which
    kernels do only where they convert.
    """
    dtype = node.dtype(data)
    if dtype not in ("float16", "bfloat16"):
        return op.nn.softmax(data, axis=axis)

    def wide(value: Expr) -> Expr:
        return op.cast(value, "float32")

    most = op.max(data, axis=axis, keepdims=True)
    distance = op.cast(op.subtract(wide(data), wide(most)), dtype)
    powers = node.let(op.cast(op.exp(wide(distance)), dtype))
    if dtype == "float16":
        whole = op.cast(op.sum(wide(powers), axis=axis, keepdims=True), dtype)
    else:
        # of so few digits that it matters: they are added one by one
        totals = op.cumsum(powers, axis=axis, rounded=True)
        last = node.let(op.subtract(node.size(data, axis), const(1, "int64")))
        whole = op.expand_dims(op.take(totals, last, axis=axis), axis)
    return op.cast(op.divide(wide(powers), wide(whole)), dtype)
