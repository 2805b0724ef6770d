"""Comparisons, logic and bits."""

from __future__ import annotations

from relay import op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number
from relay.frontend.pytorch.operators.binary import operands
from relay.frontend.pytorch.promotion import category, truth
from relay.ir.expr import Expr

table = Converters()

_COMPARISONS = {
    "eq": op.equal,
    "ne": op.not_equal,
    "not_equal": op.not_equal,
    "lt": op.less,
    "less": op.less,
    "le": op.less_equal,
    "less_equal": op.less_equal,
    "gt": op.greater,
    "greater": op.greater,
    "ge": op.greater_equal,
    "greater_equal": op.greater_equal,
}


@table(*_COMPARISONS)
def compared(node: Node, self: Number, other: Number) -> Expr:
    return _COMPARISONS[node.operator.removeprefix("aten.")](*operands(node, self, other))


_LOGIC = {
    "logical_and": op.logical_and,
    "logical_or": op.logical_or,
    "logical_xor": op.logical_xor,
}


@table(*_LOGIC)
def logical(node: Node, self: Expr, other: Expr) -> Expr:
    both = broadcastable(node, truth(node, self), truth(node, other))
    return _LOGIC[node.operator.removeprefix("aten.")](*both)


_BITS = {
    "bitwise_and": op.bitwise_and,
    "bitwise_or": op.bitwise_or,
    "bitwise_xor": op.bitwise_xor,
    "__and__": op.bitwise_and,
    "__or__": op.bitwise_or,
    "__xor__": op.bitwise_xor,
}


@table(*_BITS)
def bitwise(node: Node, self: Number, other: Number) -> Expr:
    return _BITS[node.operator.removeprefix("aten.")](*operands(node, self, other))


@table("bitwise_left_shift", "bitwise_right_shift", "__lshift__", "__rshift__")
def shifted(node: Node, self: Number, other: Number) -> Expr:
    left, right = operands(node, self, other)
    to_left = node.operator in ("aten.bitwise_left_shift", "aten.__lshift__")
    if category(node.dtype(left)) == 2:  # by a power of two
        scale = op.power(node.number(2, right), right)
        return left * scale if to_left else left / scale
    return op.left_shift(left, right) if to_left else op.right_shift(left, right)


@table("isclose")
def isclose(
    node: Node,
    self: Expr,
    other: Expr,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> Expr:
    left, right = operands(node, self, other)
    found = node.let(op.equal(left, right))
    is_float = category(node.dtype(left)) == 2
    if equal_nan and is_float:
        found = op.logical_or(found, op.logical_and(op.isnan(left), op.isnan(right)))
    if rtol == 0 and atol == 0:
        return found
    if not is_float:
        left, right = (node.as_dtype(one, "float32") for one in (left, right))
    apart = node.let(op.abs(left - right))
    near = apart <= node.number(atol, right) + op.abs(node.number(rtol, right) * right)
    return op.logical_or(found, op.logical_and(op.isfinite(apart), near))


@table("allclose")
def allclose(
    node: Node,
    self: Expr,
    other: Expr,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> Expr:
    return op.all(node.let(isclose(node, self, other, rtol, atol, equal_nan)))


@table("equal")
def equal(node: Node, self: Expr, other: Expr) -> Expr | bool:
    """Whether two tensors have the same shape and elements."""
    if node.rank(self) != node.rank(other):
        return False
    pairs = list(zip(node.shape(self), node.shape(other), strict=True))
    if any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs):
        return False
    return op.all(node.let(op.equal(*operands(node, self, other))))


@table("is_nonzero")
def is_nonzero(node: Node, self: Expr) -> Expr:
    return op.reshape(truth(node, self), ())
