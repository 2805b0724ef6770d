"""Comparison, logic, selection and clipping."""

from __future__ import annotations

from math import inf

from relay import dtypes, op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.arithmetic import binary
from relay.ir.expr import Expr, const

table = Converters()

table.add_unary({"IsNaN": op.isnan, "Not": op.logical_not})
_BINARY = {
    "And": op.logical_and,
    "Equal": op.equal,
    "Greater": op.greater,
    "GreaterOrEqual": op.greater_equal,
    "Less": op.less,
    "LessOrEqual": op.less_equal,
    "Or": op.logical_or,
    "Xor": op.logical_xor,
}
for _name, _operator in _BINARY.items():
    table.add(_name, binary(_operator))


@table("Where")
def where(node: Node, condition: Expr, yes: Expr, no: Expr) -> Expr:
    return op.where(*broadcastable(node, condition, yes, no))


@table("IsInf")
def is_inf(node: Node, data: Expr) -> Expr:
    above = node.attribute("detect_positive", 1)
    below = node.attribute("detect_negative", 1)
    if above and below:
        return op.isinf(data)
    if not (above or below):
        return op.zeros_like(op.isinf(data))
    # float8 types without infinities compare like the others
    return op.equal(op.cast(data, "float32"), const(inf if above else -inf, "float32"))


@table("Clip")
def clip(node: Node, data: Expr, low: Expr | None = None, high: Expr | None = None) -> Expr:
    """The bounds are attributes before version 11."""
    if node.version < 11:
        return op.clip(data, node.attribute("min", -inf), node.attribute("max", inf))
    bounds = [node.constant(one) for one in (low, high)]
    known = all(
        one is None or (got is not None and got.size == 1)
        for one, got in zip((low, high), bounds, strict=True)
    )
    if known and not dtypes.is_integer(node.dtype(data)):
        defaults = zip(bounds, (-inf, inf), strict=True)
        return op.clip(data, *(end if one is None else float(one.item()) for one, end in defaults))
    if low is not None:
        data = op.maximum(data, low)
    return data if high is None else op.minimum(data, high)
