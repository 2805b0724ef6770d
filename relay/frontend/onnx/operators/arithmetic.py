"""Elementwise arithmetic with one, two or any number of operands."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from relay import dtypes, op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr

table = Converters()

Binary = Callable[[Expr, Expr], Expr]


_UNARY = {
    "Abs": op.abs,
    "Acos": op.acos,
    "Acosh": op.acosh,
    "Asin": op.asin,
    "Asinh": op.asinh,
    "Atan": op.atan,
    "Atanh": op.atanh,
    "BitwiseNot": op.bitwise_not,
    "Ceil": op.ceil,
    "Cos": op.cos,
    "Cosh": op.cosh,
    "Exp": op.exp,
    "Floor": op.floor,
    "Log": op.log,
    "Neg": op.negative,
    "Round": op.round,
    "Sigmoid": op.sigmoid,
    "Sign": op.sign,
    "Sin": op.sin,
    "Sinh": op.sinh,
    "Sqrt": op.sqrt,
    "Tan": op.tan,
    "Tanh": op.tanh,
}


table.add_unary(_UNARY)


@table("Reciprocal")
def reciprocal(node: Node, data: Expr) -> Expr:
    return node.number(1, data) / data


@table("Erf")
def erf(node: Node, data: Expr) -> Expr:
    dtype = node.dtype(data)
    if dtypes.is_integer(dtype):
        return op.cast(op.erf(op.cast(data, "float32")), dtype)
    return op.erf(data)


def aligned(node: Node, left: Expr, right: Expr) -> list[Expr]:
    """Broadcast operands, aligned at their last axes.

    Before version 7, `axis` is the axis of the left operand at which the right one starts.
    """
    if node.version < 7 and node.attribute("broadcast", 0) and "axis" in node.attributes:
        rank, own = node.rank(left), node.rank(right)
        behind = rank - node.attribute("axis") % max(rank, 1) - own
        if behind > 0:
            right = node.let(op.expand_dims(right, axis=own, num_newaxis=behind))
    return broadcastable(node, left, right)


def binary(operator: Binary) -> Callable[..., Expr]:
    """The converter to a broadcasting operator with two operands."""
    return lambda node, left, right: operator(*aligned(node, left, right))


table.add("Add", binary(op.add))
table.add("Sub", binary(op.subtract))
table.add("Mul", binary(op.multiply))
table.add("Div", binary(op.divide))


@table("Mod")
def modulo(node: Node, left: Expr, right: Expr) -> Expr:
    return binary(op.trunc_mod if node.attribute("fmod", 0) else op.floor_mod)(node, left, right)


@table("Pow")
def power(node: Node, base: Expr, exponent: Expr) -> Expr:
    """The result has the element type of the base."""
    base, exponent = aligned(node, base, exponent)
    wanted, other = node.dtype(base), node.dtype(exponent)
    if (whole := _small_power(node, base, exponent)) is not None:
        return whole
    if wanted == other:
        return op.power(base, exponent)
    between = _power_type(wanted, other)
    return op.cast(op.power(op.cast(base, between), op.cast(exponent, between)), wanted)


def _small_power(node: Node, base: Expr, exponent: Expr) -> Expr | None:
    """An integer to a small constant power, by repeated squaring: x**5 is x * (x**2)**2."""
    known = node.constant(exponent)
    if known is None or known.size != 1 or not dtypes.is_integer(node.dtype(base)):
        return None
    number = float(known.reshape(()))
    if not 1 <= number < 64 or number != int(number) or known.ndim > node.rank(base):
        return None
    found: Expr | None = None
    for bit in range(int(number).bit_length()):
        if bit:
            base = node.let(base * base)
        if int(number) >> bit & 1:
            found = base if found is None else found * base
    return found


def _power_type(base: str, exponent: str) -> str:
    """The element type in which a power of mixed types is computed."""
    if dtypes.is_integer(base) and dtypes.is_integer(exponent):
        return base
    if "float64" in (base, exponent) or (dtypes.is_integer(base) and dtypes.bits(base) > 16):
        return "float64"
    return "float32"


def _many(operator: Binary) -> Callable[..., Expr]:
    return lambda node, *operands: reduce(operator, broadcastable(node, *operands))


table.add("Sum", _many(op.add))
table.add("Max", _many(op.maximum))
table.add("Min", _many(op.minimum))


@table("Mean")
def mean(node: Node, *operands: Expr) -> Expr:
    total = reduce(op.add, broadcastable(node, *operands))
    return total / node.number(len(operands), operands[0])


@table("BitShift")
def bit_shift(node: Node, left: Expr, right: Expr) -> Expr:
    operators = {"LEFT": op.left_shift, "RIGHT": op.right_shift}
    return binary(operators[node.choice("direction", None, operators)])(node, left, right)


table.add("BitwiseAnd", binary(op.bitwise_and))
table.add("BitwiseOr", binary(op.bitwise_or))
table.add("BitwiseXor", binary(op.bitwise_xor))
