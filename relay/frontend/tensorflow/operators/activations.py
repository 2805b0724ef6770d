"""Activations and softmax."""

from __future__ import annotations

from relay import op
from relay.frontend.common import curves
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.ir.expr import Expr

table = Table()

table.add_unary({"Relu": op.nn.relu})
SELU = (1.6732632423543772, 1.0507009873554805)


@table("Relu6")
def relu6(node: Node, data: Expr) -> Expr:
    return op.clip(data, 0.0, 6.0)


@table("LeakyRelu")
def leaky_relu(node: Node, data: Expr) -> Expr:
    return op.nn.leaky_relu(data, alpha=node.real("alpha", 0.2))


@table("Elu")
def elu(node: Node, data: Expr) -> Expr:
    return curves.elu(node, data, 1.0)


@table("Selu")
def selu(node: Node, data: Expr) -> Expr:
    alpha, scale = SELU
    return curves.elu(node, data, alpha * scale, scale)


@table("Softplus")
def softplus(node: Node, data: Expr) -> Expr:
    return curves.softplus(node, data)


@table("Softsign")
def softsign(node: Node, data: Expr) -> Expr:
    return curves.softsign(node, data)


@table("Gelu")
def gelu(node: Node, data: Expr) -> Expr:
    return curves.gelu(node, data, by_tanh=node.flag("approximate", True))


@table("Softmax")
def softmax(node: Node, data: Expr) -> Expr:
    return op.nn.softmax(data, axis=-1)


@table("LogSoftmax")
def log_softmax(node: Node, data: Expr) -> Expr:
    return op.nn.log_softmax(data, axis=-1)
