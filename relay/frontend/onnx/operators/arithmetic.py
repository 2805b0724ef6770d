"""Arithmetic, element by element."""

from __future__ import annotations

from relay import op
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr

table = Converters()


@table("Relu")
def relu(node: Node, data: Expr) -> Expr:
    return op.nn.relu(data)
