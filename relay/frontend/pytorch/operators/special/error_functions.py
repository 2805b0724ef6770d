"""The complementary error function and its relatives."""

from __future__ import annotations

import math

from relay import op
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.operators.special import series as of
from relay.frontend.pytorch.operators.special.evaluation import c, chebyshev, in_double
from relay.ir.expr import Expr

table = Converters()
SHIFT = 3.75  # of the mapping from [0, inf) to [-1, 1) of the series


def scaled(node: Node, size: Expr) -> Expr:
    """exp(x^2) erfc(x) for x >= 0."""
    t = op.where(op.isinf(size), c(1), (size - c(SHIFT)) / (size + c(SHIFT)))
    found = chebyshev(node, of.SCALED_ERFC, node.let(t))
    return node.let(found / (c(1) + c(2) * size))


def complement(node: Node, x: Expr) -> Expr:
    """erfc(x)."""
    size = node.let(op.abs(x))
    tail = node.let(op.exp(-(size * size)) * scaled(node, size))
    return node.let(op.where(x < c(0), c(2) - tail, tail))


@table("erfc", "special_erfc")
def erfc(node: Node, self: Expr) -> Expr:
    return in_double(node, lambda x: complement(node, x), self)


@table("special_erfcx")
def erfcx(node: Node, self: Expr) -> Expr:
    def computed(x: Expr) -> Expr:
        found = scaled(node, node.let(op.abs(x)))
        return op.where(x < c(0), c(2) * op.exp(x * x) - found, found)

    return in_double(node, computed, self)


def inverse(node: Node, y: Expr, rest: Expr) -> Expr:
    """X >= 0 with erf(x) = y and erfc(x) = rest, which is 1 - y: a rough one, improved by steps of
    Halley's method."""
    a = 0.147  # the best one for the rough formula
    log = node.let(op.log(rest * (c(1) + y)))
    half = node.let(c(2 / (math.pi * a)) + log * c(0.5))
    found = node.let(op.sqrt(op.sqrt(half * half - log / c(a)) - half))
    near = node.let(y < c(0.5))
    for _ in range(3):
        wrong = op.where(near, op.erf(found) - y, rest - complement(node, found))
        slope = c(2 / math.sqrt(math.pi)) * op.exp(-(found * found))
        step = node.let(wrong / slope)
        found = node.let(found - step / (c(1) + found * step))
    found = op.where(y < c(1e-9), y * c(math.sqrt(math.pi) / 2), found)
    found = op.where(op.equal(rest, c(0)), c(math.inf), found)
    return node.let(op.where(rest < c(0), c(math.nan), found))


@table("erfinv", "special_erfinv")
def erfinv(node: Node, self: Expr) -> Expr:
    def computed(x: Expr) -> Expr:
        size = node.let(op.abs(x))
        found = inverse(node, size, node.let(c(1) - size))
        return op.where(x < c(0), -found, found)

    return in_double(node, computed, self)


@table("special_ndtri")
def ndtri(node: Node, self: Expr) -> Expr:
    """ndtri: the quantile function of the standard normal distribution."""

    def computed(p: Expr) -> Expr:
        side = node.let(op.minimum(p, c(1) - p))
        rest = node.let(side + side)
        found = node.let(inverse(node, node.let(c(1) - rest), rest) * c(math.sqrt(2)))
        return op.where(p < c(0.5), -found, found)

    return in_double(node, computed, self)
