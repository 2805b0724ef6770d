"""Activations and normalization."""

from __future__ import annotations

import tflite

from relay import op
from relay.frontend.common.curves import elu, gelu
from relay.frontend.tflite.activation import activated
from relay.frontend.tflite.converters import Table
from relay.frontend.tflite.node import Node
from relay.ir.expr import Expr, const

table = Table()

_KINDS = tflite.ActivationFunctionType


@table.of_reals("RELU")
def relu(node: Node, data: Expr) -> Expr:
    return activated(node, data, _KINDS.RELU)


@table.of_reals("RELU6")
def relu6(node: Node, data: Expr) -> Expr:
    return activated(node, data, _KINDS.RELU6)


@table.of_reals("RELU_N1_TO_1")
def relu_n1_to_1(node: Node, data: Expr) -> Expr:
    return activated(node, data, _KINDS.RELU_N1_TO_1)


@table.of_reals("RELU_0_TO_1")
def relu_0_to_1(node: Node, data: Expr) -> Expr:
    return op.clip(data, 0.0, 1.0)


@table.of_reals("LOGISTIC")
def logistic(node: Node, data: Expr) -> Expr:
    return op.sigmoid(data)


@table.of_reals("TANH")
def tanh(node: Node, data: Expr) -> Expr:
    return op.tanh(data)


@table.of_reals("ELU")
def elu_(node: Node, data: Expr) -> Expr:
    return elu(node, data, 1.0)


@table.of_reals("GELU")
def gelu_(node: Node, data: Expr) -> Expr:
    return gelu(node, data, by_tanh=node.option("approximate", False))


@table.of_reals("HARD_SWISH")
def hard_swish(node: Node, data: Expr) -> Expr:
    inside = op.clip(data + node.number(3, data), 0.0, 6.0)
    return data * inside * node.number(1 / 6, data)


@table.of_reals("LEAKY_RELU")
def leaky_relu(node: Node, data: Expr) -> Expr:
    return op.nn.leaky_relu(data, alpha=node.option("alpha", 0.0))


@table.of_reals("PRELU")
def prelu(node: Node, data: Expr, slope: Expr) -> Expr:
    zero = node.number(0, data)
    return op.where(data < zero, data * slope, data)


@table.of_reals("SOFTMAX")
def softmax(node: Node, data: Expr) -> Expr:
    beta = node.option("beta", 1.0)
    scaled = data if beta == 1 else node.let(data * node.number(beta, data))
    return op.nn.softmax(scaled, axis=-1)


@table.of_reals("LOG_SOFTMAX")
def log_softmax(node: Node, data: Expr) -> Expr:
    return op.nn.log_softmax(data, axis=-1)


@table.of_reals("L2_NORMALIZATION")
def l2_normalization(node: Node, data: Expr) -> Expr:
    squares = op.sum(data * data, axis=(-1,), keepdims=True)
    return activated(node, node.let(data / op.sqrt(op.maximum(squares, const(1e-12)))))


@table.of_reals("LOCAL_RESPONSE_NORMALIZATION")
def local_response_normalization(node: Node, data: Expr) -> Expr:
    """Local response normalization across channels, which are the last axis."""
    size = 2 * node.option("radius", 0) + 1
    numbers = [node.option(name, 0.0) for name in ("bias", "alpha", "beta")]
    # there, `alpha` is of the mean of the squares
    return op.nn.lrn(data, size, -1, numbers[0], numbers[1] * size, numbers[2])
