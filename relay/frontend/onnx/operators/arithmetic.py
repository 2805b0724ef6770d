"""Arithmetic, element by element: one operand, two that are broadcast, or many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

from relay import dtypes, op
from relay.frontend.onnx.computations.broadcast import broadcastable
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr

table = Converters()

Unary = Callable[[Expr], Expr]
Binary = Callable[[Expr, Expr], Expr]

# --- one operand -------------------------------------------------------------------------------

_UNARY: Mapping[str, Unary] = {
    "Abs": op.abs,
    "Acos": op.acos,
    "Acosh": op.acosh,
    "Asin": op.asin,
    "Asinh": op.asinh,
    "Atan": op.atan,
    "Atanh": op.atanh,
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


def _enter_unary(name: str, operator: Unary) -> None:
    table.add(name, lambda node, data: operator(data))


for _name, _operator in _UNARY.items():
    _enter_unary(_name, _operator)


@table("Reciprocal")
def reciprocal(node: Node, data: Expr) -> Expr:
    return op.divide(node.number(1, data), data)


@table("Erf")
def erf(node: Node, data: Expr) -> Expr:
    dtype = node.dtype(data)
    if dtypes.is_integer(dtype):
        return op.cast(op.erf(op.cast(data, "float32")), dtype)
    return op.erf(data)


# --- two operands ------------------------------------------------------------------------------


def aligned(node: Node, left: Expr, right: Expr) -> list[Expr]:
    """Two operands that are broadcast from their last axes on.

    Before version 7 of the operators, `axis` said at which axis of the left operand the right one
    starts.
    """
    if node.version < 7 and node.attribute("broadcast", 0) and "axis" in node.attributes:
        rank, own = node.rank(left), node.rank(right)
        behind = rank - node.attribute("axis") % max(rank, 1) - own
        if behind > 0:
            right = node.let(op.expand_dims(right, axis=own, num_newaxis=behind))
    return broadcastable(node, left, right)


def binary(operator: Binary) -> Callable[..., Expr]:
    """The converter to an operator with two operands."""

    def convert(node: Node, left: Expr, right: Expr) -> Expr:
        return operator(*aligned(node, left, right))

    return convert


table.add("Add", binary(op.add))
table.add("Sub", binary(op.subtract))
table.add("Mul", binary(op.multiply))
table.add("Div", binary(op.divide))


@table("Mod")
def modulo(node: Node, left: Expr, right: Expr) -> Expr:
    operator = op.trunc_mod if node.attribute("fmod", 0) else op.floor_mod
    return operator(*aligned(node, left, right))


@table("Pow")
def power(node: Node, base: Expr, exponent: Expr) -> Expr:
    """The result has the type of the base; before version 12 both have one type."""
    base, exponent = aligned(node, base, exponent)
    wanted, other = node.dtype(base), node.dtype(exponent)
    if (whole := _small_power(node, base, exponent)) is not None:
        return whole
    if wanted == other:
        return op.power(base, exponent)
    between = _power_type(wanted, other)
    return op.cast(op.power(op.cast(base, between), op.cast(exponent, between)), wanted)


def _small_power(node: Node, base: Expr, exponent: Expr) -> Expr | None:
    """Integers to a power that is known: x**5 is x * (x**2)**2, instead of a step for every bit
    that an exponent may have."""
    known = node.constant(exponent)
    if known is None or known.size != 1 or not dtypes.is_integer(node.dtype(base)):
        return None
    number = float(known.reshape(()))
    if not 1 <= number < 64 or number != int(number) or known.ndim > node.rank(base):
        return None
    found: Expr | None = None
    for bit in range(int(number).bit_length()):
        if bit:
            base = node.let(op.multiply(base, base))
        if int(number) >> bit & 1:
            found = base if found is None else op.multiply(found, base)
    return found


def _power_type(base: str, exponent: str) -> str:
    """The type that a power of different types is computed in."""
    if dtypes.is_integer(base) and dtypes.is_integer(exponent):
        return base
    if "float64" in (base, exponent) or (dtypes.is_integer(base) and dtypes.bits(base) > 16):
        return "float64"
    return "float32"


# --- any number of operands --------------------------------------------------------------------


def _many(operator: Binary) -> Callable[..., Expr]:
    return lambda node, *operands: reduce(operator, broadcastable(node, *operands))


table.add("Sum", _many(op.add))
table.add("Max", _many(op.maximum))
table.add("Min", _many(op.minimum))


@table("Mean")
def mean(node: Node, *operands: Expr) -> Expr:
    total = reduce(op.add, broadcastable(node, *operands))
    return op.divide(total, node.number(len(operands), operands[0]))


# --- bits --------------------------------------------------------------------------------------


@table("BitShift")
def bit_shift(node: Node, left: Expr, right: Expr) -> Expr:
    direction = node.required("direction")
    if direction not in ("LEFT", "RIGHT"):
        raise node.refused("there is no such direction", "LEFT or RIGHT", str(direction))
    operator = op.left_shift if direction == "LEFT" else op.right_shift
    return operator(*aligned(node, left, right))


table.add("BitwiseAnd", binary(op.bitwise_and))
table.add("BitwiseOr", binary(op.bitwise_or))
table.add("BitwiseXor", binary(op.bitwise_xor))


@table("BitwiseNot")
def bitwise_not(node: Node, data: Expr) -> Expr:
    return op.bitwise_not(data)
