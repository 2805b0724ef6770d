"""Activation functions."""

from __future__ import annotations

import numpy as np

from relay import op
from relay.frontend.common import curves
from relay.frontend.common.broadcast import broadcastable, trailing_axes
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr

table = Converters()
table.add_unary({"Relu": op.nn.relu})


@table("LeakyRelu")
def leaky_relu(node: Node, data: Expr) -> Expr:
    return op.nn.leaky_relu(data, alpha=node.attribute("alpha", _single(0.01)))


def _single(number: float) -> float:
    """An attribute's default value, rounded to float32 as attributes are."""
    return float(np.float32(number))


@table("PRelu")
def prelu(node: Node, data: Expr, slope: Expr) -> Expr:
    behind = node.rank(data) - 2
    # before version 7 a vector of slopes is one per channel
    if node.version < 7 and node.shape(slope) != (1,) and node.rank(slope) == 1 and behind > 0:
        slope = node.let(trailing_axes(slope, behind))
    data, slope = broadcastable(node, data, slope)
    return op.where(data < node.number(0, data), slope * data, data)


@table("ThresholdedRelu")
def thresholded_relu(node: Node, data: Expr) -> Expr:
    above = data > node.number(node.attribute("alpha", 1.0), data)
    return op.where(above, data, node.number(0, data))


@table("Shrink")
def shrink(node: Node, data: Expr) -> Expr:
    bias = node.number(node.attribute("bias", 0.0), data)
    limit = node.attribute("lambd", 0.5)
    below = data < node.number(-limit, data)
    above = data > node.number(limit, data)
    rest = op.where(above, data - bias, node.number(0, data))
    return op.where(below, data + bias, rest)


@table("HardSigmoid")
def hard_sigmoid(node: Node, data: Expr) -> Expr:
    alpha, beta = node.attribute("alpha", _single(0.2)), node.attribute("beta", 0.5)
    return curves.hard_sigmoid(node, data, alpha, beta)


@table("HardSwish")
def hard_swish(node: Node, data: Expr) -> Expr:
    return data * curves.hard_sigmoid(node, data)


@table("Elu")
def elu(node: Node, data: Expr) -> Expr:
    return curves.elu(node, data, node.attribute("alpha", 1.0))


@table("Selu")
def selu(node: Node, data: Expr) -> Expr:
    # version 1 rounds the defaults to five digits
    exact = node.version >= 6
    alpha = node.attribute("alpha", 1.67326319217681884765625 if exact else 1.6732)
    gamma = node.attribute("gamma", 1.05070102214813232421875 if exact else 1.0507)
    return curves.elu(node, data, alpha * gamma, gamma)


@table("Celu")
def celu(node: Node, data: Expr) -> Expr:
    return curves.celu(node, data, node.attribute("alpha", 1.0))


@table("Gelu")
def gelu(node: Node, data: Expr) -> Expr:
    by_tanh = node.attribute("approximate", "none") == "tanh"
    return curves.gelu(node, data, by_tanh=by_tanh)


table.add("Softplus", curves.softplus)
table.add("Mish", curves.mish)
table.add("Softsign", curves.softsign)


@table("Swish")
def swish(node: Node, data: Expr) -> Expr:
    alpha = node.attribute("alpha", 1.0)
    inside = data if alpha == 1 else node.number(alpha, data) * data
    return data * op.sigmoid(inside)


@table("SwiGLU")
def swiglu(node: Node, gate: Expr, data: Expr) -> Expr:
    return swish(node, gate) * data
