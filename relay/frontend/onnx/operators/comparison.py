"""Comparison, logic, choice, and questions about single elements."""

from __future__ import annotations

from math import inf

from relay import dtypes, op
from relay.frontend.onnx.computations.broadcast import broadcastable
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.arithmetic import binary
from relay.ir.expr import Expr, const

table = Converters()

table.add("Equal", binary(op.equal))
table.add("Greater", binary(op.greater))
table.add("GreaterOrEqual", binary(op.greater_equal))
table.add("Less", binary(op.less))
table.add("LessOrEqual", binary(op.less_equal))
table.add("And", binary(op.logical_and))
table.add("Or", binary(op.logical_or))
table.add("Xor", binary(op.logical_xor))


@table("Not")
def logical_not(node: Node, data: Expr) -> Expr:
    return op.logical_not(data)


@table("Where")
def where(node: Node, condition: Expr, yes: Expr, no: Expr) -> Expr:
    return op.where(*broadcastable(node, condition, yes, no))


@table("IsNaN")
def is_nan(node: Node, data: Expr) -> Expr:
    return op.isnan(data)


@table("IsInf")
def is_inf(node: Node, data: Expr) -> Expr:
    above = node.attribute("detect_positive", 1)
    below = node.attribute("detect_negative", 1)
    if above and below:
        return op.isinf(data)
    if not (above or below):
        return op.zeros_like(op.isinf(data))
    # the types of eight bits that have no infinity compare as others do
    return op.equal(op.cast(data, "float32"), const(inf if above else -inf, "float32"))


# --- bounds ------------------------------------------------------------------------------------


@table("Clip")
def clip_by_numbers(node: Node, data: Expr) -> Expr:
    return op.clip(data, node.attribute("min", -inf), node.attribute("max", inf))


@table("Clip", since=11)
def clip(node: Node, data: Expr, low: Expr | None = None, high: Expr | None = None) -> Expr:
    bounds = [node.constant(one) for one in (low, high)]
    known = all(
        one is None or (got is not None and got.size == 1)
        for one, got in zip((low, high), bounds, strict=True)
    )
    if known and not dtypes.is_integer(node.dtype(data)):
        lowest, highest = bounds
        return op.clip(
            data,
            -inf if lowest is None else float(lowest.reshape(())),
            inf if highest is None else float(highest.reshape(())),
        )
    if low is not None:
        data = op.maximum(data, low)
    return data if high is None else op.minimum(data, high)
