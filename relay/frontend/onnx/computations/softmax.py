"""Softmax."""

from __future__ import annotations

from relay import op
from relay.frontend.common.builder import Builder, int64
from relay.ir.expr import Expr


def softmax(node: Builder, data: Expr, axis: int) -> Expr:
    """Softmax in the element type of data. The standard rounds float16 and bfloat16 at every step,
    which kernels do only where they convert."""
    dtype = node.dtype(data)
    if dtype not in ("float16", "bfloat16"):
        return op.nn.softmax(data, axis=axis)

    def wide(value: Expr) -> Expr:
        return op.cast(value, "float32")

    most = op.max(data, axis=axis, keepdims=True)
    distance = op.cast(wide(data) - wide(most), dtype)
    powers = node.let(op.cast(op.exp(wide(distance)), dtype))
    if dtype == "float16":
        whole = op.cast(op.sum(wide(powers), axis=axis, keepdims=True), dtype)
    else:
        # bfloat16 has so few digits that every addition is rounded
        totals = op.cumsum(powers, axis=axis, rounded=True)
        last = node.let(node.size(data, axis) - int64(1))
        whole = op.expand_dims(op.take(totals, last, axis=axis), axis)
    return op.cast(wide(powers) / wide(whole), dtype)
