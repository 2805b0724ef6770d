"""Functions of two tensors, element by element."""

from __future__ import annotations

from relay import op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number
from relay.frontend.pytorch.promotion import promoted
from relay.ir.expr import Expr

table = Converters()


def operands(node: Node, *values: Number, dtype: str | None = None) -> list[Expr]:
    """Operands of their common element type, of shapes that broadcast."""
    return broadcastable(node, *promoted(node, *values, dtype=dtype))


@table("add", "sub", "rsub")
def add(node: Node, self: Expr, other: Number, alpha: Number = 1) -> Expr:
    left, right = operands(node, self, other)
    if not (isinstance(alpha, int | float) and alpha == 1):
        scaled = left if node.operator == "aten.rsub" else right
        scaled = node.let(op.multiply(scaled, node.number(alpha, scaled)))
        left, right = (scaled, right) if node.operator == "aten.rsub" else (left, scaled)
    if node.operator == "aten.add":
        return op.add(left, right)
    return op.subtract(right, left) if node.operator == "aten.rsub" else op.subtract(left, right)


@table("mul")
def mul(node: Node, self: Expr, other: Number) -> Expr:
    return op.multiply(*operands(node, self, other))
