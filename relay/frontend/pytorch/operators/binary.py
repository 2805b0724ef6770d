"""Elementwise operators of two tensors."""

from __future__ import annotations

import math
from collections.abc import Callable

from relay import dtypes, op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.common.curves import log_of_one_plus
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number
from relay.frontend.pytorch.operators.control import loop
from relay.frontend.pytorch.operators.unary import is_negative
from relay.frontend.pytorch.promotion import DEFAULT, category, promoted, result_type
from relay.ir.expr import Expr, const

table = Converters()


def operands(node: Node, *values: Number, dtype: str | None = None) -> list[Expr]:
    """Operands of their common element type, of shapes that broadcast."""
    return broadcastable(node, *promoted(node, *values, dtype=dtype))


def float_operands(node: Node, *values: Number) -> list[Expr]:
    """Operands of their common element type, which is that of floats."""
    dtype = result_type(node, values)
    return operands(node, *values, dtype=dtype if dtypes.is_float(dtype) else DEFAULT)


def widened(node: Node, function: Callable[..., Expr], *values: Number) -> Expr:
    """A function of floats, which for narrow ones is computed in float32 and rounded once."""
    given = float_operands(node, *values)
    dtype = node.dtype(given[0])
    if dtypes.bits(dtype) >= 32:
        return function(*given)
    return op.cast(function(*(node.as_dtype(one, DEFAULT) for one in given)), dtype)


# --- sums and products -------------------------------------------------------------------------


@table("add", "sub", "rsub", "subtract")
def add(node: Node, self: Number, other: Number, alpha: Number = 1) -> Expr:
    left, right = operands(node, self, other)
    name = node.operator.removeprefix("aten.")
    if not (isinstance(alpha, int | float) and alpha == 1):
        scaled = left if name == "rsub" else right
        scaled = times(node, scaled, node.number(alpha, scaled))
        left, right = (scaled, right) if name == "rsub" else (left, scaled)
    if name == "add":
        return op.add(left, right)
    return op.subtract(right, left) if name == "rsub" else op.subtract(left, right)


def times(node: Node, left: Expr, right: Expr) -> Expr:
    """Multiplication; of bools it is logical and."""
    product = op.logical_and if node.dtype(left) == "bool" else op.multiply
    return node.let(product(left, right))


@table("mul", "multiply")
def mul(node: Node, self: Number, other: Number) -> Expr:
    return times(node, *operands(node, self, other))


@table("div", "divide", "true_divide", "floor_divide")
def div(node: Node, self: Number, other: Number, rounding_mode: str | None = None) -> Expr:
    if node.operator == "aten.floor_divide":
        rounding_mode = "floor"
    if rounding_mode is None:
        return op.divide(*float_operands(node, self, other))
    left, right = operands(node, self, other)
    if rounding_mode == "trunc":
        if category(node.dtype(left)) == 2:
            return op.trunc(left / right)
        return op.trunc_divide(left, right)
    if category(node.dtype(left)) < 2:
        return op.floor_divide(left, right)
    # a quotient of infinities is NaN, one by 0 is infinite
    is_zero = op.equal(right, node.number(0, right))
    return op.where(is_zero, left / right, op.floor_divide(left, right))


@table("remainder")
def remainder(node: Node, self: Number, other: Number) -> Expr:
    return op.floor_mod(*operands(node, self, other))


@table("fmod")
def fmod(node: Node, self: Number, other: Number) -> Expr:
    return op.trunc_mod(*operands(node, self, other))


@table("gcd", "lcm")
def common_divisor(node: Node, self: Number, other: Number) -> Expr:
    """Euclid's algorithm for all pairs of integers at once."""
    left, right = (node.let(op.abs(one)) for one in operands(node, self, other))
    zero, one = node.number(0, left), node.number(1, left)
    whole = node.let(left + op.zeros_like(right))

    def going(there: Node, number: Expr, state: list[Expr]) -> Expr:
        return there.let(op.any(op.not_equal(state[1], zero)))

    def turn(there: Node, number: Expr, state: list[Expr]) -> tuple[list[Expr], list[Expr]]:
        first, second = state
        is_done = there.let(op.equal(second, zero))
        rest = op.where(is_done, zero, op.floor_mod(first, op.where(is_done, one, second)))
        return [there.let(op.where(is_done, first, second)), there.let(rest)], []

    (found, _), _ = loop(node, [whole, node.let(right + op.zeros_like(left))], going, turn)
    divisor = node.let(found)
    if node.operator == "aten.gcd":
        return divisor
    share = op.floor_divide(left, op.where(op.equal(divisor, zero), one, divisor))
    return op.abs(op.multiply(node.let(share), right))


# --- powers ------------------------------------------------------------------------------------


@table("pow")
def power(node: Node, self: Number, exponent: Number) -> Expr:
    dtype = result_type(node, [self, exponent])
    if isinstance(exponent, int | float) and isinstance(self, Expr):
        small = _small_power(node, node.as_dtype(self, dtype), float(exponent))
        if small is not None:
            return small
    base, number = operands(node, self, exponent, dtype=dtype)
    if dtype == "bool":
        return op.logical_or(base, op.logical_not(number))
    return op.power(base, number)


def _small_power(node: Node, base: Expr, exponent: float) -> Expr | None:
    """Powers that are products, roots or reciprocals."""
    dtype = node.dtype(base)
    if dtype == "bool" or dtypes.bits(dtype) < 32:
        return None
    one = node.number(1, base)
    if exponent == 1:
        return base
    if exponent == 2:
        return base * base
    if exponent == 3:
        return base * base * base
    if category(dtype) < 2:
        return None
    if abs(exponent) == 0.5:
        return op.sqrt(base) if exponent > 0 else op.rsqrt(base)
    if exponent in (-1, -2):
        return one / (base if exponent == -1 else base * base)
    return None


@table("float_power")
def float_power(node: Node, self: Number, exponent: Number) -> Expr:
    return op.power(*operands(node, self, exponent, dtype="float64"))


@table("ldexp")
def ldexp(node: Node, self: Number, other: Number) -> Expr:
    left, right = float_operands(node, self, other)
    return left * op.power(node.number(2, right), right)


@table("hypot")
def hypot(node: Node, self: Number, other: Number) -> Expr:
    def length(left: Expr, right: Expr) -> Expr:
        """hypot, scaled by the longer side against overflow."""
        one, two = node.let(op.abs(left)), node.let(op.abs(right))
        longest = node.let(op.maximum(one, two))
        zero, unit = node.number(0, longest), node.number(1, longest)
        ratio = node.let(op.minimum(one, two) / op.where(op.equal(longest, zero), unit, longest))
        found = longest * op.sqrt(ratio * ratio + unit)
        infinite = op.logical_or(op.isinf(one), op.isinf(two))
        return op.where(infinite, node.number(math.inf, longest), found)

    return widened(node, length, self, other)


# --- signs and bits ----------------------------------------------------------------------------


@table("copysign")
def copysign(node: Node, self: Number, other: Number) -> Expr:
    return with_sign(node, *float_operands(node, self, other))


def with_sign(node: Node, magnitude: Expr, sign: Expr) -> Expr:
    """Floats with the signs of others."""
    size = node.let(op.abs(magnitude))
    return op.where(is_negative(node, sign), op.negative(size), size)


@table("atan2", "arctan2")
def atan2(node: Node, self: Number, other: Number) -> Expr:
    return widened(node, lambda y, x: angle_of(node, y, x), self, other)


def angle_of(node: Node, y: Expr, x: Expr) -> Expr:
    """The angle of the point (x, y), from -pi to pi."""
    height, width = node.let(op.abs(y)), node.let(op.abs(x))
    zero, one = node.number(0, y), node.number(1, y)
    longer, shorter = node.let(op.maximum(height, width)), node.let(op.minimum(height, width))
    ratio = node.let(shorter / op.where(op.equal(longer, zero), one, longer))
    both = op.logical_and(op.isinf(height), op.isinf(width))
    angle = node.let(op.atan(op.where(both, one, ratio)))
    angle = node.let(op.where(height > width, node.number(math.pi / 2, y) - angle, angle))
    behind = is_negative(node, x)
    angle = node.let(op.where(behind, node.number(math.pi, y) - angle, angle))
    unordered = op.logical_or(op.isnan(x), op.isnan(y))
    return op.where(unordered, node.number(math.nan, y), with_sign(node, angle, y))


@table("nextafter")
def nextafter(node: Node, self: Number, other: Number) -> Expr:
    """nextafter: the bits of a float, as an integer, plus or minus 1."""
    start, goal = float_operands(node, self, other)
    dtype = node.dtype(start)
    bits = node.let(op.reinterpret(start, dtype=f"int{dtypes.bits(dtype)}"))
    one, zero = node.number(1, bits), node.number(0, start)
    away = op.equal(start < goal, start > zero)
    moved = op.reinterpret(op.where(away, bits + one, bits - one), dtype=dtype)
    smallest = node.let(op.reinterpret(one, dtype=dtype))
    first = op.where(goal > zero, smallest, op.negative(smallest))
    found = op.where(op.equal(start, zero), first, moved)
    unordered = op.logical_or(op.isnan(start), op.isnan(goal))
    found = op.where(op.equal(start, goal), goal, found)
    return op.where(unordered, start + goal, found)


@table("frexp")
def frexp(node: Node, self: Expr) -> list[Expr]:
    """Mantissas from 0.5 to 1, and exponents of 2."""
    data = node.as_dtype(self, "float64")  # in which no other float is denormal
    bits = node.let(op.reinterpret(data, dtype="int64"))
    scaled = node.let(data * const(2.0**54, "float64"))
    small = op.abs(data) < const(2.0**-1022, "float64")
    tiny = node.let(op.logical_and(small, op.not_equal(data, zero64())))
    bits = node.let(op.where(tiny, op.reinterpret(scaled, dtype="int64"), bits))
    field = op.bitwise_and(op.right_shift(bits, const(52, "int64")), const(2047, "int64"))
    exponent = node.let(field - op.where(tiny, const(1022 + 54, "int64"), const(1022, "int64")))
    kept = op.bitwise_and(bits, const(~(2047 << 52), "int64"))
    mantissa = op.reinterpret(op.bitwise_or(kept, const(1022 << 52, "int64")), dtype="float64")
    plain = node.let(op.logical_or(op.equal(data, zero64()), op.logical_not(op.isfinite(data))))
    found = op.cast(op.where(plain, data, mantissa), node.dtype(self))
    return [found, op.cast(op.where(plain, const(0, "int64"), exponent), "int32")]


def zero64() -> Expr:
    return const(0.0, "float64")


# --- the larger and the smaller ----------------------------------------------------------------


@table("maximum", "max.other")
def maximum(node: Node, self: Expr, other: Expr) -> Expr:
    return op.maximum(*operands(node, self, other))


@table("minimum", "min.other")
def minimum(node: Node, self: Expr, other: Expr) -> Expr:
    return op.minimum(*operands(node, self, other))


@table("fmax", "fmin")
def without_nan(node: Node, self: Expr, other: Expr) -> Expr:
    """fmax, fmin: maximum or minimum, ignoring NaN."""
    left, right = operands(node, self, other)
    choose = op.maximum if node.operator == "aten.fmax" else op.minimum
    found = choose(left, right)
    if category(node.dtype(left)) < 2:
        return found
    return op.where(op.isnan(left), right, op.where(op.isnan(right), left, found))


# --- logarithms --------------------------------------------------------------------------------


@table("logaddexp", "special_logaddexp")
def logaddexp(node: Node, self: Expr, other: Expr) -> Expr:
    return widened(node, lambda left, right: log_of_sum(node, left, right), self, other)


def log_of_sum(node: Node, left: Expr, right: Expr) -> Expr:
    """log(exp(left) + exp(right)), without overflow."""
    highest = node.let(op.maximum(left, right))
    apart = node.let(op.negative(op.abs(left - right)))
    found = highest + log_of_one_plus(node, node.let(op.exp(apart)))
    same = op.logical_and(op.equal(left, right), op.isinf(highest))
    return op.where(same, highest, found)


@table("logaddexp2")
def logaddexp2(node: Node, self: Expr, other: Expr) -> Expr:
    def converted(left: Expr, right: Expr) -> Expr:
        rate = node.number(math.log(2), left)
        total = log_of_sum(node, node.let(left * rate), node.let(right * rate))
        return total / rate

    return widened(node, converted, self, other)


@table("xlogy", "special_xlogy")
def xlogy(node: Node, self: Number, other: Number) -> Expr:
    return widened(node, lambda x, y: _scaled(node, x, y, op.log(y)), self, other)


@table("special_xlog1py")
def xlog1py(node: Node, self: Number, other: Number) -> Expr:
    return widened(node, lambda x, y: _scaled(node, x, y, log_of_one_plus(node, y)), self, other)


def _scaled(node: Node, factor: Expr, of: Expr, logarithm: Expr) -> Expr:
    """A multiple of a logarithm; nothing of it is 0, also where it is infinite."""
    zero = node.number(0, factor)
    found = op.where(op.equal(factor, zero), zero, factor * logarithm)
    return op.where(op.isnan(of), of, found)


@table("heaviside")
def heaviside(node: Node, self: Expr, values: Expr) -> Expr:
    data, value = operands(node, self, values)
    zero = node.number(0, data)
    step = op.cast(data > zero, node.dtype(data))
    found = op.where(op.equal(data, zero), value, step)
    if category(node.dtype(data)) == 2:
        return op.where(op.isnan(data), zero, found)
    return found


@table("dist")
def dist(node: Node, self: Expr, other: Expr, p: float = 2.0) -> Expr:
    from relay.frontend.pytorch.operators.norms import vector_norm

    left, right = operands(node, self, other)
    return vector_norm(node, node.let(left - right), p)
