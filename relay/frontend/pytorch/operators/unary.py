"""Functions of one tensor, element by element."""

from __future__ import annotations

from relay import op
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.promotion import as_float
from relay.ir.expr import Expr

table = Converters()

# functions whose results are floats, also of integers
_FLOATS = {
    "exp": op.exp,
    "tanh": op.tanh,
    "sigmoid": op.sigmoid,
    "sqrt": op.sqrt,
}


@table(*_FLOATS)
def of_floats(node: Node, self: Expr) -> Expr:
    return _FLOATS[node.operator.removeprefix("aten.")](as_float(node, self))


@table("relu")
def relu(node: Node, self: Expr) -> Expr:
    return op.nn.relu(self)
