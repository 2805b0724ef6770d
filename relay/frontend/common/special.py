"""Functions of mathematics by series and approximations, computed in float64."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt

from relay import op
from relay.frontend.common.builder import Builder
from relay.ir.expr import Expr, const


def wide(node: Builder, data: Expr) -> Expr:
    return node.as_dtype(data, "float64")


def real(value: float) -> Expr:
    return const(value, "float64")


def polynomial(node: Builder, x: Expr, factors: Sequence[float]) -> Expr:
    """The value of a polynomial, the factor of the highest power last."""
    *others, total = map(real, factors)
    for factor in reversed(others):
        total = node.let(total * x + factor)
    return total


def erfinv(node: Builder, data: Expr) -> Expr:
    """A first guess by logarithms, then steps of Newton's method."""
    y = wide(node, data)
    one = real(1.0)
    size = node.let(op.minimum(op.abs(y), real(1 - 1e-16)))
    logs = node.let(op.log((one - size) * (one + size)))
    middle = node.let(real(2 / (pi * 0.147)) + logs * real(0.5))
    guess = op.sqrt(op.sqrt(middle * middle - logs * real(1 / 0.147)) - middle)
    x = node.let(guess)
    for _ in range(3):
        steep = op.exp(op.negative(x * x)) * real(2 / sqrt(pi))
        x = node.let(x - (op.erf(x) - size) / steep)
    end = op.where(op.equal(op.abs(y), one), real(float("inf")), x)
    signed = op.where(y < real(0.0), op.negative(end), end)
    bad = op.logical_or(op.abs(y) > one, op.isnan(y))
    return op.cast(op.where(bad, real(float("nan")), signed), node.dtype(data))


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


def bessel(node: Builder, data: Expr, order: str, *, scaled: bool) -> Expr:
    """A modified Bessel function, to seven digits, perhaps scaled by exp(-|x|)."""
    x = wide(node, data)
    size = node.let(op.abs(x))
    ratio = node.let(size / real(_END))
    near = polynomial(node, node.let(ratio * ratio), _NEAR[order])
    near = near * x if order == "1" else near
    above = node.let(op.maximum(ratio, real(1.0)))
    far = polynomial(node, node.let(real(1.0) / above), _FAR[order])
    far = far / op.sqrt(op.maximum(size, real(1.0)))
    if order == "1":
        far = op.where(x < real(0.0), op.negative(far), far)
    if scaled:
        near = near * op.exp(op.negative(size))
    else:
        far = far * op.exp(size)
    return op.cast(op.where(size < real(_END), near, far), node.dtype(data))
