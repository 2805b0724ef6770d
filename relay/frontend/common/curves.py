"""Activation functions from formulas, which models of several formats have."""

from __future__ import annotations

from math import pi, sqrt

from relay import op
from relay.frontend.common.builder import Builder
from relay.ir.expr import Expr


def elu(node: Builder, data: Expr, below: float, above: float = 1.0, inside: float = 1.0) -> Expr:
    """`below * (exp(inside * x) - 1)` for negative x, `above * x` elsewhere."""
    steep = data if inside == 1 else node.number(inside, data) * data
    curve = op.exp(steep) - node.number(1, data)
    line = data if above == 1 else node.number(above, data) * data
    negative = data < node.number(0, data)
    return op.where(negative, node.number(below, data) * curve, line)


def celu(node: Builder, data: Expr, alpha: float) -> Expr:
    factor = node.number(alpha, data)
    zero, one = node.number(0, data), node.number(1, data)
    curve = factor * (op.exp(data / factor) - one)
    return op.maximum(data, zero) + op.minimum(curve, zero)


def hard_sigmoid(node: Builder, data: Expr, alpha: float = 1 / 6, beta: float = 0.5) -> Expr:
    """`alpha * x + beta`, from 0 to 1."""
    line = data * node.number(alpha, data) + node.number(beta, data)
    return op.clip(line, 0.0, 1.0)


def gelu(node: Builder, data: Expr, *, by_tanh: bool) -> Expr:
    """`x / 2 * (1 + erf(x / sqrt(2)))`, or its tanh approximation."""
    half, one = node.number(0.5, data), node.number(1, data)
    if by_tanh:
        cubic = data * data * (node.number(0.044715, data) * data)
        scale = node.number(sqrt(2 / pi), data)
        curve = op.tanh(scale * (data + cubic))
    else:
        curve = op.erf(data * node.number(1 / sqrt(2), data))
    return half * data * (one + curve)


def softplus(node: Builder, data: Expr) -> Expr:
    """`max(x, 0) + log1p(exp(-|x|))`, which neither overflows nor cancels; log1p(y) is
    2 atanh(y / (2 + y))."""
    two = node.number(2, data)
    small = node.let(op.exp(-op.abs(data)))
    return op.maximum(data, node.number(0, data)) + two * op.atanh(small / (two + small))


def mish(node: Builder, data: Expr) -> Expr:
    return data * op.tanh(softplus(node, data))


def softsign(node: Builder, data: Expr) -> Expr:
    return data / (node.number(1, data) + op.abs(data))


def log_of_one_plus(node: Builder, data: Expr) -> Expr:
    """log(1 + x), also for small x: what is lost in the sum is a factor."""
    one = node.number(1, data)
    whole = node.let(data + one)
    added = node.let(whole - one)
    exact = op.logical_or(op.equal(added, node.number(0, data)), op.isinf(whole))
    small = op.log(whole) * (data / added)
    return op.where(exact, op.where(op.isinf(whole), op.log(whole), data), small)


def exp_less_one(node: Builder, data: Expr) -> Expr:
    """exp(x) - 1, for small x by the hyperbolic tangent of its half."""
    one = node.number(1, data)
    half = node.let(op.tanh(data * node.number(0.5, data)))
    near = node.let(op.abs(data) < node.number(0.5, data))
    small = (half + half) / (one - op.where(near, half, node.number(0, data)))
    return op.where(near, small, op.exp(data) - one)
