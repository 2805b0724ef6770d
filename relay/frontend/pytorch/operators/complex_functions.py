"""Functions of complex numbers, as formulas of their parts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from relay import op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.common.curves import exp_less_one, log_of_one_plus
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.operators.binary import angle_of, with_sign
from relay.frontend.pytorch.operators.complex_numbers import adding, as_parts, by_parts, own
from relay.frontend.pytorch.operators.complex_products import product, reciprocal
from relay.frontend.pytorch.operators.fourier import Parts, paired, parts
from relay.frontend.pytorch.operators.scans import scanned
from relay.frontend.pytorch.promotion import cast
from relay.frontend.pytorch.scope import Complex
from relay.frontend.pytorch.types import COMPLEX
from relay.ir.expr import Expr

table = Converters(complex_numbers=True)


@table("abs")
def absolute(node: Node, self: Complex) -> Expr:
    return length_of(node, parts(node, self))


def length_of(node: Node, given: Parts) -> Expr:
    """The magnitude, scaled against overflow."""
    a, b = (op.abs(one) for one in given)
    most = node.let(op.maximum(a, b))
    divisor = node.let(op.where(op.greater(most, node.number(0, most)), most, node.number(1, most)))
    x, y = a / divisor, b / divisor
    return divisor * op.sqrt(x * x + y * y)


@table("angle")
def angle(node: Node, self: Complex) -> Expr:
    a, b = parts(node, self)
    return by_parts(node, "atan2", "default", b, a)  # type: ignore[no-any-return]


@table("sgn")
def direction(node: Node, self: Complex) -> Complex:
    length = node.let(absolute(node, self))
    is_zero = op.equal(length, node.number(0, length))
    divisor = node.let(op.where(is_zero, node.number(1, length), length))
    a, b = parts(node, self)
    return paired(node, a / divisor, b / divisor)


@table("var", "std")
def variance(node: Node, self: Complex, *given: Any, **named: Any) -> Expr:
    """The sum of those of both parts."""
    plain = replace(node, operator="aten.var", declared=None)
    first, second = (by_parts(plain, "var", "", one, *given, **named) for one in parts(node, self))
    found = node.let(first + second)
    return op.sqrt(found) if node.operator == "aten.std" else found


@table("var_mean", "std_mean")
def variance_and_mean(node: Node, self: Complex, *given: Any, **named: Any) -> list[Any]:
    plain = replace(node, operator="aten.var_mean", declared=None)
    pairs = [by_parts(plain, "var_mean", "", one, *given, **named) for one in parts(node, self)]
    (first, a), (second, b) = pairs
    found = node.let(first + second)
    spread = op.sqrt(found) if node.operator == "aten.std_mean" else found
    return [spread, paired(node, a, b)]


@table("exp")
def exp(node: Node, self: Complex) -> Complex:
    a, b = parts(node, self)
    length = node.let(op.exp(a))
    return paired(node, length * op.cos(b), length * op.sin(b))


@table("log")
def log(node: Node, self: Complex) -> Complex:
    return paired(node, op.log(node.let(absolute(node, self))), angle(node, self))


def _of_log(factor: float) -> Callable[[Node, Complex], Complex]:
    def converter(node: Node, self: Complex) -> Complex:
        a, b = parts(node, log(node, self))
        return paired(node, a * node.number(factor, a), b * node.number(factor, b))

    return converter


table.add("log2", _of_log(1.4426950408889634))
table.add("log10", _of_log(0.4342944819032518))


@table("sqrt")
def sqrt(node: Node, self: Complex) -> Complex:
    return paired(node, *root(node, parts(node, self)))


def root(node: Node, given: Parts) -> Parts:
    """The root of (|z| + a) / 2, and that of (|z| - a) / 2 with the sign of b."""
    a, b = given
    length = node.let(length_of(node, given))
    half, zero = node.number(0.5, a), node.number(0, a)
    larger = node.let(op.sqrt(half * (length + op.abs(a))))
    is_zero = op.equal(larger, zero)
    other = node.let(half * op.abs(b) / op.where(is_zero, node.number(1, a), larger))
    is_right = op.greater_equal(a, zero)
    real = node.let(op.where(is_right, larger, other))
    imaginary = node.let(op.where(is_right, other, larger))
    return real, node.let(with_sign(node, imaginary, b))


@table("rsqrt")
def rsqrt(node: Node, self: Complex) -> Complex:
    return reciprocal(node, sqrt(node, self))


def _waves(node: Node, one: Expr) -> tuple[Expr, Expr, Expr, Expr]:
    half = node.number(0.5, one)
    up, down = node.let(op.exp(one)), node.let(op.exp(-one))
    return op.sin(one), op.cos(one), half * (up - down), half * (up + down)


@table("sin", "cos", "sinh", "cosh", "tan", "tanh", "sigmoid")
def waves(node: Node, self: Complex) -> Complex:
    a, b = parts(node, self)
    name = node.operator.removeprefix("aten.")
    sin_a, cos_a, sinh_a, cosh_a = (node.let(one) for one in _waves(node, a))
    sin_b, cos_b, sinh_b, cosh_b = (node.let(one) for one in _waves(node, b))
    match name:
        case "sin":
            return paired(node, sin_a * cosh_b, cos_a * sinh_b)
        case "cos":
            return paired(node, cos_a * cosh_b, -(sin_a * sinh_b))
        case "sinh":
            return paired(node, sinh_a * cos_b, cosh_a * sin_b)
        case "cosh":
            return paired(node, cosh_a * cos_b, sinh_a * sin_b)
        case "tan":
            # sin 2a / (cos 2a + cosh 2b)
            two = node.number(2, a)
            below = node.let(op.cos(two * a) + op.cosh(two * b))
            return paired(node, op.sin(two * a) / below, op.sinh(two * b) / below)
        case "tanh":
            two = node.number(2, a)
            below = node.let(op.cosh(two * a) + op.cos(two * b))
            return paired(node, op.sinh(two * a) / below, op.sin(two * b) / below)
    one = node.number(1, a)
    length = node.let(op.exp(-a))
    divisor = paired(node, one + length * op.cos(b), -(length * op.sin(b)))
    return reciprocal(node, divisor)


@table("pow")
def power(node: Node, self: Any, exponent: Any) -> Complex:
    """exp(exponent * log(self)); whole exponents are products."""
    if isinstance(exponent, int | float) and exponent == int(exponent) and 0 < exponent <= 4:
        found = self
        for _ in range(int(exponent) - 1):
            (a, b), (c, d) = parts(node, found), parts(node, self)
            found = paired(node, a * c - b * d, a * d + b * c)
        return found  # type: ignore[no-any-return]
    if not isinstance(self, Complex):
        first, second = as_parts(node, self)
        like = parts(node, exponent)[0]
        self = paired(
            node, *broadcastable(node, node.number(first, like), node.number(second, like))
        )
    (a, b), (c, d) = parts(node, log(node, self)), as_parts(node, exponent)
    c, d = node.number(c, a), node.number(d, a)
    (a, c), (b, d) = broadcastable(node, a, c), broadcastable(node, b, d)
    found = exp(node, paired(node, a * c - b * d, a * d + b * c))
    zero = op.equal(absolute(node, self), node.number(0, a))
    x, y = parts(node, found)
    none = node.number(0, x)
    return paired(node, op.where(zero, none, x), op.where(zero, none, y))


# --- inverse functions, as Kahan gives them: right on both sides of their branch cuts ------------


def _roots(node: Node, given: Parts) -> tuple[Parts, Parts]:
    """The roots of 1 - z and of 1 + z."""
    a, b = given
    one = node.number(1, a)
    below = root(node, (node.let(one - a), node.let(-b)))
    return below, root(node, (node.let(one + a), b))


def _arcsine(node: Node, given: Parts) -> Parts:
    (a, b), (c, d) = _roots(node, given)
    turn = angle_of(node, given[0], node.let(a * c - b * d))
    return node.let(turn), node.let(op.asinh(node.let(a * d - b * c)))


def _turned(node: Node, function: Callable[[Node, Parts], Parts], given: Parts) -> Parts:
    """The function of i z, divided by i."""
    a, b = given
    first, second = function(node, (node.let(-b), a))
    return second, node.let(-first)


@table("asin", "arcsin")
def asin(node: Node, self: Complex) -> Complex:
    return paired(node, *_arcsine(node, parts(node, self)))


@table("asinh", "arcsinh")
def asinh(node: Node, self: Complex) -> Complex:
    return paired(node, *_turned(node, _arcsine, parts(node, self)))


@table("acos", "arccos")
def acos(node: Node, self: Complex) -> Complex:
    (a, b), (c, d) = _roots(node, parts(node, self))
    turn = node.let(angle_of(node, a, c))
    return paired(node, turn + turn, op.asinh(node.let(c * b - d * a)))


@table("acosh", "arccosh")
def acosh(node: Node, self: Complex) -> Complex:
    x, y = parts(node, self)
    one = node.number(1, x)
    (a, b), (c, d) = (root(node, (node.let(real), y)) for real in (x - one, x + one))
    turn = node.let(angle_of(node, b, c))
    return paired(node, op.asinh(node.let(a * c + b * d)), turn + turn)


def _area_tangent(node: Node, given: Parts) -> Parts:
    x, b = given
    a = node.let(op.abs(x))
    one, four = node.number(1, a), node.number(4, a)
    apart = node.let(one - a)
    ratio = node.let(four * a / (apart * apart + b * b))
    length = log_of_one_plus(node, ratio) / four
    turn = angle_of(node, node.let(b + b), node.let(apart * (one + a) - b * b))
    return node.let(with_sign(node, node.let(length), x)), node.let(turn / node.number(2, a))


@table("atanh", "arctanh")
def atanh(node: Node, self: Complex) -> Complex:
    return paired(node, *_area_tangent(node, parts(node, self)))


@table("atan", "arctan")
def atan(node: Node, self: Complex) -> Complex:
    return paired(node, *_turned(node, _area_tangent, parts(node, self)))


# --- near 0 --------------------------------------------------------------------------------------


@table("expm1", "special_expm1")
def expm1(node: Node, self: Complex) -> Complex:
    a, b = parts(node, self)
    half = node.let(op.sin(b * node.number(0.5, b)))
    near = exp_less_one(node, a) * op.cos(b) - node.number(2, half) * half * half
    return paired(node, near, op.exp(a) * op.sin(b))


@table("log1p", "special_log1p")
def log1p(node: Node, self: Complex) -> Complex:
    a, b = parts(node, self)
    one, half = node.number(1, a), node.number(0.5, a)
    whole = node.let(a + one)
    small = node.let(op.maximum(op.abs(a), op.abs(b)) < half)
    near = half * log_of_one_plus(node, node.let(op.where(small, a * (a + one + one) + b * b, a)))
    far = op.log(node.let(length_of(node, (whole, b))))
    return paired(node, op.where(small, near, far), angle_of(node, b, whole))


@table("exp2", "special_exp2")
def exp2(node: Node, self: Complex) -> Complex:
    a, b = parts(node, self)
    rate = node.number(math.log(2), a)
    return exp(node, paired(node, a * rate, b * rate))


# --- sums of exponentials ------------------------------------------------------------------------


@table("logaddexp")
def logaddexp(node: Node, self: Complex, other: Complex) -> Complex:
    return paired(node, *_log_of_sum(node, parts(node, self), parts(node, other)))


def _log_of_sum(node: Node, one: Parts, other: Parts) -> Parts:
    """log(1 + exp(y - x)) + x, where the real part of x is the larger one."""
    (a, c), (b, d) = broadcastable(node, one[0], other[0]), broadcastable(node, one[1], other[1])
    is_first = node.let(op.greater_equal(a, c))
    large = [node.let(op.where(is_first, *pair)) for pair in ((a, c), (b, d))]
    small = [node.let(op.where(is_first, *pair)) for pair in ((c, a), (d, b))]
    apart = paired(node, *(x - y for x, y in zip(small, large, strict=True)))
    more = parts(node, log1p(node, exp(node, apart)))
    real, imaginary = (node.let(x + y) for x, y in zip(more, large, strict=True))
    none = node.let(op.equal(large[0], node.number(-math.inf, a)))
    return node.let(op.where(none, a, real)), node.let(op.where(none, b, imaginary))


@table("logcumsumexp")
def logcumsumexp(node: Node, self: Complex, dim: int) -> Complex:
    data = parts(node, self)
    if node.rank(data[0]) == 0:
        return self
    blanks = [node.number(-math.inf, data[0]), node.number(0, data[0])]

    def combine(before: list[Expr], after: list[Expr]) -> list[Expr]:
        first, second = _log_of_sum(node, (before[0], before[1]), (after[0], after[1]))
        return [first, second]

    axis = node.axis(data[0], dim)
    return paired(node, *scanned(node, list(data), axis, blanks, combine))


@table("logsumexp", "special_logsumexp")
def logsumexp(node: Node, self: Complex, dim: Any, keepdim: bool = False) -> Complex:
    a, b = parts(node, self)
    axes = node.axes(a, dim)
    if not axes:
        return self
    if 0 in node.shape(a):
        greatest = zero = node.number(0, a)
    else:
        greatest = node.let(op.max(a, axis=tuple(axes), keepdims=True))
        zero = node.number(0, a)
    ahead = node.let(op.where(op.isfinite(greatest), greatest, zero))
    terms = parts(node, exp(node, paired(node, a - ahead, b)))
    sums = (op.sum(one, axis=tuple(axes), keepdims=True) for one in terms)
    first, second = parts(node, log(node, paired(node, *sums)))
    found = [node.let(first + ahead), second]
    if not keepdim:
        found = [node.let(op.squeeze(one, tuple(axes))) for one in found]
    return paired(node, *found)


# --- lengths -------------------------------------------------------------------------------------


@table("linalg_vector_norm", "norm", "_norm")
def norm(node: Node, self: Complex, *args: Any, dtype: Any = None, **named: Any) -> Expr:
    size = node.let(absolute(node, self))
    if dtype is not None:
        size = node.as_dtype(size, COMPLEX.get(dtype, dtype))
    return own(node, size, *args, **named)  # type: ignore[no-any-return]


def apart(node: Node, one: Any, other: Any) -> Expr:
    """The magnitudes of differences."""
    found = adding(replace(node, operator="aten.sub", overload="Tensor"), one, other)
    return node.let(absolute(node, found))


@table("dist")
def dist(node: Node, self: Any, other: Any, p: float = 2.0) -> Expr:
    return by_parts(node, "linalg_vector_norm", "", apart(node, self, other), p)  # type: ignore[no-any-return]


@table("isclose")
def isclose(
    node: Node,
    self: Any,
    other: Any,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Expr:
    distance = apart(node, self, other)
    size = absolute(node, other)
    near = distance <= node.number(atol, distance) + node.number(rtol, distance) * op.abs(size)
    found = op.logical_and(near, op.isfinite(distance))
    same = [
        op.equal(*broadcastable(node, one, two))
        for one, two in zip(parts(node, self), parts(node, other), strict=True)
    ]
    found = op.logical_or(found, op.logical_and(*same))
    if not equal_nan:
        return found
    missing = [op.logical_or(*map(op.isnan, parts(node, one))) for one in (self, other)]
    return op.logical_or(found, op.logical_and(*missing))


# --- by other functions --------------------------------------------------------------------------


@table("float_power")
def float_power(node: Node, self: Any, exponent: Any) -> Complex:
    base, number = (
        Complex(node.as_dtype(one.pairs, "float64"))
        if isinstance(one, Complex)
        else node.as_dtype(one, "float64")
        if isinstance(one, Expr)
        else one
        for one in (self, exponent)
    )
    return power(replace(node, operator="aten.pow"), base, number)


@table("silu")
def silu(node: Node, self: Complex) -> Complex:
    gate = waves(replace(node, operator="aten.sigmoid"), self)
    return product(replace(node, operator="aten.mul", overload="Tensor"), self, gate)


@table("softmax", "log_softmax", "softmin")
def of_real_parts(node: Node, self: Complex, dim: int, dtype: str) -> Expr:
    """Into real numbers, which are the real parts."""
    data = cast(node, parts(node, self)[0], dtype)
    return own(node, data, dim, dtype)  # type: ignore[no-any-return]
