"""Activation functions."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from relay import op
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
    return _hard_sigmoid(node, data, alpha, beta)


@table("HardSwish")
def hard_swish(node: Node, data: Expr) -> Expr:
    return data * _hard_sigmoid(node, data, 1 / 6, 0.5)


def _hard_sigmoid(node: Node, data: Expr, alpha: float, beta: float) -> Expr:
    line = data * node.number(alpha, data) + node.number(beta, data)
    return op.clip(line, 0.0, 1.0)


@table("Elu")
def elu(node: Node, data: Expr) -> Expr:
    return _elu(node, data, node.attribute("alpha", 1.0), 1.0)


@table("Selu")
def selu(node: Node, data: Expr) -> Expr:
    # version 1 rounds the defaults to five digits
    exact = node.version >= 6
    alpha = node.attribute("alpha", 1.67326319217681884765625 if exact else 1.6732)
    gamma = node.attribute("gamma", 1.05070102214813232421875 if exact else 1.0507)
    return _elu(node, data, alpha * gamma, gamma)


def _elu(node: Node, data: Expr, below: float, above: float) -> Expr:
    """`below * (exp(x) - 1)` for negative x, `above * x` elsewhere."""
    curve = op.exp(data) - node.number(1, data)
    line = data if above == 1 else node.number(above, data) * data
    negative = data < node.number(0, data)
    return op.where(negative, node.number(below, data) * curve, line)


@table("Celu")
def celu(node: Node, data: Expr) -> Expr:
    alpha = node.number(node.attribute("alpha", 1.0), data)
    zero, one = node.number(0, data), node.number(1, data)
    curve = alpha * (op.exp(data / alpha) - one)
    return op.maximum(data, zero) + op.minimum(curve, zero)


@table("Gelu")
def gelu(node: Node, data: Expr) -> Expr:
    """`x / 2 * (1 + erf(x / sqrt(2)))`, or its tanh approximation."""
    half, one = node.number(0.5, data), node.number(1, data)
    if node.attribute("approximate", "none") == "tanh":
        cubic = data * data * (node.number(0.044715, data) * data)
        scale = node.number(sqrt(2 / pi), data)
        curve = op.tanh(scale * (data + cubic))
    else:
        curve = op.erf(data * node.number(1 / sqrt(2), data))
    return half * data * (one + curve)


@table("Softplus")
def softplus(node: Node, data: Expr) -> Expr:
    """`max(x, 0) + log1p(exp(-|x|))`, which neither overflows nor cancels; log1p(y) is
    2 atanh(y / (2 + y))."""
    two = node.number(2, data)
    small = node.let(op.exp(-op.abs(data)))
    return op.maximum(data, node.number(0, data)) + two * op.atanh(small / (two + small))


@table("Mish")
def mish(node: Node, data: Expr) -> Expr:
    return data * op.tanh(softplus(node, data))


@table("Softsign")
def softsign(node: Node, data: Expr) -> Expr:
    return data / (node.number(1, data) + op.abs(data))


@table("Swish")
def swish(node: Node, data: Expr) -> Expr:
    alpha = node.attribute("alpha", 1.0)
    inside = data if alpha == 1 else node.number(alpha, data) * data
    return data * op.sigmoid(inside)


@table("SwiGLU")
def swiglu(node: Node, gate: Expr, data: Expr) -> Expr:
    return swish(node, gate) * data
