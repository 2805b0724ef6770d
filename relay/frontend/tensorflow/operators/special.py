"""Functions of mathematics by series and approximations, computed in float64."""

from __future__ import annotations

from math import log, pi, sqrt

from relay import op
from relay.frontend.common import special
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.ir.expr import Expr

table = Table()

STEPS = 8  # by which arguments are moved to where series are exact


@table("Erfinv")
def erfinv(node: Node, data: Expr) -> Expr:
    return special.erfinv(node, data)


@table("BesselI0", "BesselI0e", "BesselI1", "BesselI1e")
def bessel(node: Node, data: Expr) -> Expr:
    name = node.operator.removeprefix("BesselI")
    return special.bessel(node, data, name[0], scaled=name.endswith("e"))


@table("Ndtri")
def ndtri(node: Node, data: Expr) -> Expr:
    """The quantile of the normal distribution."""
    doubled = node.let(special.wide(node, data) * special.real(2.0) - special.real(1.0))
    return op.cast(erfinv(node, doubled) * special.real(sqrt(2)), node.dtype(data))


@table("Lgamma")
def lgamma(node: Node, data: Expr) -> Expr:
    """Stirling's series; numbers below a half by reflection."""
    x = special.wide(node, data)
    is_low = node.let(x < special.real(0.5))
    y = node.let(op.where(is_low, special.real(1.0) - x, x))
    found = node.let(_log_of_factorial(node, y))
    sine = op.abs(op.sin(special.real(pi) * (x - op.floor(x))))
    mirrored = special.real(log(pi)) - op.log(sine) - found
    return op.cast(op.where(is_low, mirrored, found), node.dtype(data))


def _log_of_factorial(node: Node, y: Expr) -> Expr:
    product: Expr = y
    for step in range(1, STEPS):
        product = node.let(product * (y + special.real(float(step))))
    z = node.let(y + special.real(float(STEPS)))
    part = node.let(special.real(1.0) / z)
    series = special.polynomial(
        node, node.let(part * part), [1 / 12, -1 / 360, 1 / 1260, -1 / 1680]
    )
    whole = (
        (z - special.real(0.5)) * op.log(z) - z + special.real(0.5 * log(2 * pi)) + series * part
    )
    return whole - op.log(product)


@table("Digamma")
def digamma(node: Node, data: Expr) -> Expr:
    """The derivative of `lgamma`."""
    x = special.wide(node, data)
    is_low = node.let(x < special.real(0.5))
    y = node.let(op.where(is_low, special.real(1.0) - x, x))
    less: Expr = special.real(1.0) / y
    for step in range(1, STEPS):
        less = node.let(less + special.real(1.0) / (y + special.real(float(step))))
    z = node.let(y + special.real(float(STEPS)))
    part = node.let(special.real(1.0) / z)
    square = node.let(part * part)
    series = special.polynomial(node, square, [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132])
    found = node.let(op.log(z) - part * special.real(0.5) - series * square - less)
    angle = special.real(pi) * x
    mirrored = found - special.real(pi) * op.cos(angle) / op.sin(angle)
    return op.cast(op.where(is_low, mirrored, found), node.dtype(data))
