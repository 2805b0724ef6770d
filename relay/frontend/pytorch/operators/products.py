"""Matrix products."""

from __future__ import annotations

from relay import op
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.ir.expr import Expr

table = Converters()


@table("linear")
def linear(node: Node, input: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    found = op.nn.dense(input, weight)
    return found if bias is None else op.add(node.let(found), bias)
