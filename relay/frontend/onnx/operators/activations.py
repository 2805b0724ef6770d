"""Activations, element by element; and what training does between layers."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from relay import op
from relay.frontend.onnx.computations.broadcast import broadcastable
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr

table = Converters()

# --- straight lines ----------------------------------------------------------------------------


@table("Relu")
def relu(node: Node, data: Expr) -> Expr:
    return op.nn.relu(data)


@table("LeakyRelu")
def leaky_relu(node: Node, data: Expr) -> Expr:
    return op.nn.leaky_relu(data, alpha=node.attribute("alpha", _single(0.01)))


def _single(number: float) -> float:
    """A number as attributes have it, which are of 32 bits."""
    return float(np.float32(number))


@table("PRelu")
def prelu_of_channels(node: Node, data: Expr, slope: Expr) -> Expr:
    """Before version 7 there is one slope, or one for each channel."""
    behind = node.rank(data) - 2
    if node.shape(slope) != (1,) and node.rank(slope) == 1 and behind > 0:
        slope = node.let(op.expand_dims(slope, axis=1, num_newaxis=behind))
    return _prelu(node, data, slope)


@table("PRelu", since=7)
def prelu(node: Node, data: Expr, slope: Expr) -> Expr:
    return _prelu(node, data, slope)


def _prelu(node: Node, data: Expr, slope: Expr) -> Expr:
    data, slope = broadcastable(node, data, slope)
    return op.where(op.less(data, node.number(0, data)), op.multiply(slope, data), data)


@table("ThresholdedRelu")
def thresholded_relu(node: Node, data: Expr) -> Expr:
    above = op.greater(data, node.number(node.attribute("alpha", 1.0), data))
    return op.where(above, data, node.number(0, data))


@table("Shrink")
def shrink(node: Node, data: Expr) -> Expr:
    bias = node.number(node.attribute("bias", 0.0), data)
    limit = node.attribute("lambd", 0.5)
    below = op.less(data, node.number(-limit, data))
    above = op.greater(data, node.number(limit, data))
    rest = op.where(above, op.subtract(data, bias), node.number(0, data))
    return op.where(below, op.add(data, bias), rest)


@table("HardSigmoid")
def hard_sigmoid(node: Node, data: Expr) -> Expr:
    alpha, beta = node.attribute("alpha", _single(0.2)), node.attribute("beta", 0.5)
    return _hard_sigmoid(node, data, alpha, beta)


@table("HardSwish")
def hard_swish(node: Node, data: Expr) -> Expr:
    return op.multiply(data, _hard_sigmoid(node, data, 1 / 6, 0.5))


def _hard_sigmoid(node: Node, data: Expr, alpha: float, beta: float) -> Expr:
    line = op.add(op.multiply(data, node.number(alpha, data)), node.number(beta, data))
    return op.clip(line, 0.0, 1.0)


# --- curves ------------------------------------------------------------------------------------


@table("Elu")
def elu(node: Node, data: Expr) -> Expr:
    return _elu(node, data, node.attribute("alpha", 1.0), 1.0)


@table("Selu")
def selu(node: Node, data: Expr) -> Expr:
    # version 1 has the numbers with fewer digits
    exact = node.version >= 6
    alpha = node.attribute("alpha", 1.67326319217681884765625 if exact else 1.6732)
    gamma = node.attribute("gamma", 1.05070102214813232421875 if exact else 1.0507)
    return _elu(node, data, alpha * gamma, gamma)


def _elu(node: Node, data: Expr, below: float, above: float) -> Expr:
    """`below` * (exp(x) - 1) where x is negative, `above` * x elsewhere."""
    curve = op.subtract(op.exp(data), node.number(1, data))
    line = data if above == 1 else op.multiply(node.number(above, data), data)
    negative = op.less(data, node.number(0, data))
    return op.where(negative, op.multiply(node.number(below, data), curve), line)


@table("Celu")
def celu(node: Node, data: Expr) -> Expr:
    alpha = node.number(node.attribute("alpha", 1.0), data)
    zero, one = node.number(0, data), node.number(1, data)
    curve = op.multiply(alpha, op.subtract(op.exp(op.divide(data, alpha)), one))
    return op.add(op.maximum(data, zero), op.minimum(curve, zero))


@table("Gelu")
def gelu(node: Node, data: Expr) -> Expr:
    """Half of x times 1 + erf(x / sqrt(2)), or what tanh makes of it."""
    half, one = node.number(0.5, data), node.number(1, data)
    if node.attribute("approximate", "none") == "tanh":
        cubic = op.multiply(op.multiply(data, data), op.multiply(node.number(0.044715, data), data))
        scale = node.number(sqrt(2 / pi), data)
        curve = op.tanh(op.multiply(scale, op.add(data, cubic)))
    else:
        curve = op.erf(op.multiply(data, node.number(1 / sqrt(2), data)))
    return op.multiply(op.multiply(half, data), op.add(one, curve))


@table("Softplus")
def softplus(node: Node, data: Expr) -> Expr:
    return _softplus(node, data)


@table("Mish")
def mish(node: Node, data: Expr) -> Expr:
    return op.multiply(data, op.tanh(_softplus(node, data)))


def _softplus(node: Node, data: Expr) -> Expr:
    """log(1 + exp(x)), where exp does not overflow, and where it is small nothing is lost: the
    logarithm of 1 + y is twice the area whose tangent is y / (2 + y)."""
    two = node.number(2, data)
    small = node.let(op.exp(op.negative(op.abs(data))))
    logarithm = op.multiply(two, op.atanh(op.divide(small, op.add(two, small))))
    return op.add(op.maximum(data, node.number(0, data)), logarithm)


@table("Softsign")
def softsign(node: Node, data: Expr) -> Expr:
    return op.divide(data, op.add(node.number(1, data), op.abs(data)))


@table("Swish")
def swish(node: Node, data: Expr) -> Expr:
    alpha = node.attribute("alpha", 1.0)
    inside = data if alpha == 1 else op.multiply(node.number(alpha, data), data)
    return op.multiply(data, op.sigmoid(inside))


@table("SwiGLU")
def swiglu(node: Node, gate: Expr, data: Expr) -> Expr:
    return op.multiply(swish(node, gate), data)
