"""The angle of a point, with the signs of zeros and at infinity."""

from __future__ import annotations

from math import pi

from relay import dtypes, op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.common.builder import Builder
from relay.ir.expr import Expr


def atan2(node: Builder, y: Expr, x: Expr) -> Expr:
    """The angle of (x, y), by the quadrant."""
    y, x = broadcastable(node, y, x)
    zero, whole = node.number(0, y), node.number(pi, y)
    half = node.number(pi / 2, y)
    up = op.where(is_negative(node, y), op.negative(half), half)
    ends = op.where(is_negative(node, y), op.negative(whole), whole)
    base = node.let(op.atan(y / x))
    flat = node.let(op.where(is_negative(node, x), ends, y))
    turned = op.where(x < zero, base + ends, base)
    both_infinite = op.logical_and(op.isinf(x), op.isinf(y))
    quarter = op.where(x < zero, node.number(0.75 * pi, y), node.number(0.25 * pi, y))
    corner = op.where(is_negative(node, y), op.negative(quarter), quarter)
    upright = op.logical_and(op.equal(x, zero), op.not_equal(y, zero))
    found = op.where(upright, up, op.where(op.equal(y, zero), flat, turned))
    bad = op.logical_or(op.isnan(x), op.isnan(y))
    return op.where(bad, x + y, op.where(both_infinite, corner, found))


def is_negative(node: Builder, data: Expr) -> Expr:
    """The sign bit of floats, which -0.0 has."""
    bits = f"int{dtypes.bits(node.dtype(data))}"
    whole = op.reinterpret(data, bits)
    return node.let(op.less(whole, node.number(0, node.let(whole))))
