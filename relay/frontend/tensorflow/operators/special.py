"""Functions of mathematics by series and approximations, computed in float64."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi, sqrt

from relay import op
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.ir.expr import Expr, const

table = Table()

STEPS = 8  # by which arguments are moved to where series are exact


def _wide(node: Node, data: Expr) -> Expr:
    return node.as_dtype(data, "float64")


def _real(value: float) -> Expr:
    return const(value, "float64")


def polynomial(node: Node, x: Expr, factors: Sequence[float]) -> Expr:
    """The value of a polynomial, the factor of the highest power last."""
    *others, total = map(_real, factors)
    for factor in reversed(others):
        total = node.let(total * x + factor)
    return total


@table("Erfinv")
def erfinv(node: Node, data: Expr) -> Expr:
    """A first guess by logarithms, then steps of Newton's method."""
    y = _wide(node, data)
    one = _real(1.0)
    size = node.let(op.minimum(op.abs(y), _real(1 - 1e-16)))
    logs = node.let(op.log((one - size) * (one + size)))
    middle = node.let(_real(2 / (pi * 0.147)) + logs * _real(0.5))
    guess = op.sqrt(op.sqrt(middle * middle - logs * _real(1 / 0.147)) - middle)
    x = node.let(guess)
    for _ in range(3):
        steep = op.exp(op.negative(x * x)) * _real(2 / sqrt(pi))
        x = node.let(x - (op.erf(x) - size) / steep)
    end = op.where(op.equal(op.abs(y), one), _real(float("inf")), x)
    signed = op.where(y < _real(0.0), op.negative(end), end)
    bad = op.logical_or(op.abs(y) > one, op.isnan(y))
    return op.cast(op.where(bad, _real(float("nan")), signed), node.dtype(data))


@table("Ndtri")
def ndtri(node: Node, data: Expr) -> Expr:
    """The quantile of the normal distribution."""
    doubled = node.let(_wide(node, data) * _real(2.0) - _real(1.0))
    return op.cast(erfinv(node, doubled) * _real(sqrt(2)), node.dtype(data))


@table("Lgamma")
def lgamma(node: Node, data: Expr) -> Expr:
    """Stirling's series; numbers below a half by reflection."""
    x = _wide(node, data)
    is_low = node.let(x < _real(0.5))
    y = node.let(op.where(is_low, _real(1.0) - x, x))
    found = node.let(_log_of_factorial(node, y))
    sine = op.abs(op.sin(_real(pi) * (x - op.floor(x))))
    mirrored = _real(log(pi)) - op.log(sine) - found
    return op.cast(op.where(is_low, mirrored, found), node.dtype(data))


def _log_of_factorial(node: Node, y: Expr) -> Expr:
    product: Expr = y
    for step in range(1, STEPS):
        product = node.let(product * (y + _real(float(step))))
    z = node.let(y + _real(float(STEPS)))
    part = node.let(_real(1.0) / z)
    series = polynomial(node, node.let(part * part), [1 / 12, -1 / 360, 1 / 1260, -1 / 1680])
    whole = (z - _real(0.5)) * op.log(z) - z + _real(0.5 * log(2 * pi)) + series * part
    return whole - op.log(product)


@table("Digamma")
def digamma(node: Node, data: Expr) -> Expr:
    """The derivative of `lgamma`."""
    x = _wide(node, data)
    is_low = node.let(x < _real(0.5))
    y = node.let(op.where(is_low, _real(1.0) - x, x))
    less: Expr = _real(1.0) / y
    for step in range(1, STEPS):
        less = node.let(less + _real(1.0) / (y + _real(float(step))))
    z = node.let(y + _real(float(STEPS)))
    part = node.let(_real(1.0) / z)
    square = node.let(part * part)
    series = polynomial(node, square, [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132])
    found = node.let(op.log(z) - part * _real(0.5) - series * square - less)
    angle = _real(pi) * x
    mirrored = found - _real(pi) * op.cos(angle) / op.sin(angle)
    return op.cast(op.where(is_low, mirrored, found), node.dtype(data))


# Abramowitz and Stegun, 9.8.1 to 9.8.4
_NEAR = {
    "0": (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813),
    "1": (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411),
}
_FAR = {
    "0": (
        *(0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281),
        *(-0.02057706, 0.02635537, -0.01647633, 0.00392377),
    ),
    "1": (
        *(0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555),
        *(0.02282967, -0.02895312, 0.01787654, -0.00420059),
    ),
}
_END = 3.75


@table("BesselI0", "BesselI0e", "BesselI1", "BesselI1e")
def bessel(node: Node, data: Expr) -> Expr:
    """Modified Bessel functions, to seven digits; those with `e` are scaled by exp(-|x|)."""
    order = node.operator.removeprefix("BesselI")[0]
    x = _wide(node, data)
    size = node.let(op.abs(x))
    ratio = node.let(size / _real(_END))
    near = polynomial(node, node.let(ratio * ratio), _NEAR[order])
    near = near * x if order == "1" else near
    above = node.let(op.maximum(ratio, _real(1.0)))
    far = polynomial(node, node.let(_real(1.0) / above), _FAR[order])
    far = far / op.sqrt(op.maximum(size, _real(1.0)))
    if order == "1":
        far = op.where(x < _real(0.0), op.negative(far), far)
    if node.operator.endswith("e"):
        near = near * op.exp(op.negative(size))
    else:
        far = far * op.exp(size)
    return op.cast(op.where(size < _real(_END), near, far), node.dtype(data))
