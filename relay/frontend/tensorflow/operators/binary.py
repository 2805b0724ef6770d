"""Elementwise operators of two tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relay import dtypes, op
from relay.frontend.common.angles import atan2
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.common.curves import log_of_one_plus
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.frontend.tensorflow.values import Complex, Value
from relay.ir.expr import Expr

table = Table()

Function = Callable[[Expr, Expr], Expr]

_FUNCTIONS: Mapping[str, Function] = {
    "Add": op.add,
    "AddV2": op.add,
    "Sub": op.subtract,
    "Mul": op.multiply,
    "Maximum": op.maximum,
    "Minimum": op.minimum,
    "FloorMod": op.floor_mod,
    "FloorDiv": op.floor_divide,
    "TruncateDiv": op.trunc_divide,
    "TruncateMod": op.trunc_mod,
    "Mod": op.trunc_mod,
    "Pow": op.power,
    "SquaredDifference": lambda a, b: (a - b) * (a - b),
    "NotEqual": op.not_equal,
    "Equal": op.equal,
    "Less": op.less,
    "LessEqual": op.less_equal,
    "Greater": op.greater,
    "GreaterEqual": op.greater_equal,
    "LogicalAnd": op.logical_and,
    "LogicalOr": op.logical_or,
    "BitwiseAnd": op.bitwise_and,
    "BitwiseOr": op.bitwise_or,
    "BitwiseXor": op.bitwise_xor,
    "LeftShift": op.left_shift,
    "RightShift": op.right_shift,
}


@table(*_FUNCTIONS)
def function(node: Node, left: Expr | Complex, right: Expr | Complex) -> Value:
    if isinstance(left, Complex) or isinstance(right, Complex):
        return _of_complex(node, as_complex(node, left), as_complex(node, right))
    left, right = broadcastable(node, left, right)
    return _FUNCTIONS[node.operator](left, right)


def as_complex(node: Node, value: Expr | Complex) -> Complex:
    if isinstance(value, Complex):
        return value
    return Complex(value, node.let(op.zeros_like(value)))


def _of_complex(node: Node, left: Complex, right: Complex) -> Value:
    name, a, b, c, d = node.operator, left.real, left.imaginary, right.real, right.imaginary
    if name in ("Add", "AddV2", "Sub"):
        combine = _FUNCTIONS[name]
        return Complex(node.let(combine(a, c)), node.let(combine(b, d)))
    if name == "Mul":
        return Complex(node.let(a * c - b * d), node.let(a * d + b * c))
    if name in ("Equal", "NotEqual"):
        same = node.let(op.logical_and(op.equal(a, c), op.equal(b, d)))
        return same if name == "Equal" else op.logical_not(same)
    raise node.refused("complex numbers are not translated here")


@table("RealDiv", "Div", "DivNoNan", "MulNoNan", "Xdivy", "Xlogy", "Xlog1py")
def guarded(node: Node, left: Expr | Complex, right: Expr | Complex) -> Value:
    """DivNoNan, MulNoNan: 0 where the divisor or the second factor is 0."""
    if isinstance(left, Complex) or isinstance(right, Complex):
        return _quotient(node, as_complex(node, left), as_complex(node, right))
    left, right = broadcastable(node, left, right)
    zero, name = node.number(0, left), node.operator
    if name in ("RealDiv", "Div"):
        floats = dtypes.is_float(node.dtype(left))
        return op.divide(left, right) if floats else op.trunc_divide(left, right)
    if name == "DivNoNan":
        return op.where(op.equal(right, zero), zero, left / right)
    if name == "MulNoNan":
        return op.where(op.equal(right, zero), zero, left * right)
    if name == "Xdivy":
        found: Expr = left / right
    elif name == "Xlogy":
        found = left * op.log(right)
    else:
        found = left * log_of_one_plus(node, right)
    return op.where(op.equal(left, zero), zero, found)


def _quotient(node: Node, left: Complex, right: Complex) -> Complex:
    if node.operator not in ("RealDiv", "Div"):
        raise node.refused("complex numbers are not translated here")
    a, b, c, d = left.real, left.imaginary, right.real, right.imaginary
    size = node.let(c * c + d * d)
    return Complex(node.let((a * c + b * d) / size), node.let((b * c - a * d) / size))


@table("Atan2")
def angle(node: Node, y: Expr, x: Expr) -> Expr:
    return atan2(node, y, x)


@table("AddN", "AccumulateNV2")
def add_n(node: Node, *parts: Expr) -> Expr:
    if not parts:
        raise node.refused("there is nothing to add")
    total, *others = parts
    for one in others:
        total = node.let(op.add(*broadcastable(node, total, one)))
    return total


@table("ApproximateEqual")
def approximate_equal(node: Node, left: Expr, right: Expr) -> Expr:
    distance = op.abs(left - right)
    return op.less(distance, node.number(node.real("tolerance", 1e-5), left))


@table("NextAfter")
def next_after(node: Node, data: Expr, toward: Expr) -> Expr:
    """The next float in a direction: its bits, as an integer, plus or minus 1."""
    data, toward = broadcastable(node, data, toward)
    kind = f"int{dtypes.bits(node.dtype(data))}"
    bits = node.let(op.reinterpret(data, kind))
    one, zero = node.number(1, bits), node.number(0, data)
    away = op.equal(op.greater(toward, data), op.greater(data, zero))
    stepped = op.reinterpret(op.where(away, bits + one, bits - one), node.dtype(data))
    tiny = op.reinterpret(op.ones_like(bits), node.dtype(data))
    around = op.where(toward > zero, tiny, op.negative(tiny))
    found = op.where(op.equal(data, zero), around, stepped)
    same = op.where(op.equal(data, toward), toward, found)
    return op.where(op.logical_or(op.isnan(data), op.isnan(toward)), data + toward, same)


@table("Select", "SelectV2")
def select(node: Node, condition: Expr, yes: Expr, no: Expr) -> Expr:
    """Select; before version 2 a vector of conditions selects along the first axis."""
    more = node.rank(yes) - 1
    if node.operator == "Select" and node.rank(condition) == 1 and more > 0:
        condition = node.let(op.expand_dims(condition, 1, num_newaxis=more))
    condition, yes, no = broadcastable(node, condition, yes, no)
    return op.where(condition, yes, no)


@table("ClipByValue")
def clip_by_value(node: Node, data: Expr, low: Expr, high: Expr) -> Expr:
    data, low, high = broadcastable(node, data, low, high)
    return op.maximum(op.minimum(data, high), low)
