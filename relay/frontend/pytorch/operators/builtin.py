"""Python's functions of numbers that a program computes: `operator.add`, `math.floor`, `min`.

Functions of sizes that inputs determine are dimensions, and need no converter.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from relay import op
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number
from relay.frontend.pytorch.promotion import category
from relay.ir import dims
from relay.ir.dims import Symbol
from relay.ir.expr import Expr

table = Converters("builtin")

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": op.add,
    "sub": op.subtract,
    "mul": op.multiply,
    "floordiv": op.floor_divide,
    "mod": op.floor_mod,
    "pow": op.power,
    "max": op.maximum,
    "min": op.minimum,
    "sym_max": op.maximum,
    "sym_min": op.minimum,
    "and_": op.bitwise_and,
    "or_": op.bitwise_or,
    "xor": op.bitwise_xor,
    "lshift": op.left_shift,
    "rshift": op.right_shift,
}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": op.equal,
    "ne": op.not_equal,
    "lt": op.less,
    "le": op.less_equal,
    "gt": op.greater,
    "ge": op.greater_equal,
}


def operands(node: Node, *values: Number, is_float: bool = False) -> list[Expr]:
    """Numbers as scalars: int64, or float64 where one is a float."""
    tensors = [node.tensor(one) for one in values]
    kind = max(category(node.dtype(one)) for one in tensors)
    if kind == 0 and not is_float:
        return tensors
    dtype = "float64" if kind == 2 or is_float else "int64"
    return [node.scalar(one, dtype) for one in values]


@table(*_ARITHMETIC)
def arithmetic(node: Node, one: Number, other: Number) -> Number:
    name = node.operator.rpartition(".")[2]
    if not isinstance(one, Expr | Symbol) and not isinstance(other, Expr | Symbol):
        plain: Any = {"max": max, "min": min, "sym_max": max, "sym_min": min}
        function = plain.get(name) or getattr(operator, name)
        return function(one, other)  # type: ignore[no-any-return]
    if name not in ("and_", "or_", "xor") and not isinstance(one, Expr):
        sizes = {
            "add": dims.add,
            "sub": dims.subtract,
            "mul": dims.multiply,
            "sym_max": dims.maximum,
            "sym_min": dims.minimum,
        }
        whole = isinstance(one, int | Symbol) and isinstance(other, int | Symbol)
        if name in sizes and whole and not isinstance(other, Expr):
            return sizes[name](one, other)  # type: ignore[arg-type]
    return node.let(_ARITHMETIC[name](*operands(node, one, other)))


@table(*_COMPARISONS)
def comparison(node: Node, one: Number, other: Number) -> Number:
    name = node.operator.rpartition(".")[2]
    if not isinstance(one, Expr | Symbol) and not isinstance(other, Expr | Symbol):
        return getattr(operator, name)(one, other)  # type: ignore[no-any-return]
    return node.let(_COMPARISONS[name](*operands(node, one, other)))


@table("truediv")
def divided(node: Node, one: Number, other: Number) -> Number:
    if not isinstance(one, Expr | Symbol) and not isinstance(other, Expr | Symbol):
        return one / other
    return node.let(op.divide(*operands(node, one, other, is_float=True)))


@table("neg", "abs")
def signed(node: Node, one: Number) -> Number:
    name = node.operator.rpartition(".")[2]
    if not isinstance(one, Expr | Symbol):
        return -one if name == "neg" else abs(one)
    if isinstance(one, Symbol) and name == "neg":
        return -one
    return node.let((op.negative if name == "neg" else op.abs)(node.tensor(one)))


@table("not_", "sym_not")
def negated(node: Node, one: Number) -> Number:
    if not isinstance(one, Expr | Symbol):
        return not one
    test = node.tensor(one)
    if node.dtype(test) != "bool":
        return node.let(op.equal(test, node.number(0, test)))
    return node.let(op.logical_not(test))


@table("invert", "inv")
def inverted(node: Node, one: Number) -> Number:
    if not isinstance(one, Expr | Symbol):
        return ~one  # type: ignore[operator]
    return node.let(op.bitwise_not(node.tensor(one)))


_ROUNDED = {"floor": op.floor, "ceil": op.ceil, "trunc": op.trunc, "round": op.round}


@table(*_ROUNDED)
def rounded(node: Node, one: Number, digits: int | None = None) -> Number:
    """A number rounded to an integer."""
    name = node.operator.rpartition(".")[2]
    if not isinstance(one, Expr | Symbol):
        if digits is not None:
            return round(one, digits)
        return round(one) if name == "round" else getattr(math, name)(one)
    value = node.tensor(one)
    if category(node.dtype(value)) < 2:
        return one
    return node.as_dtype(node.let(_ROUNDED[name](value)), "int64")


_FUNCTIONS = {
    "sqrt": op.sqrt,
    "exp": op.exp,
    "log": op.log,
    "log2": op.log2,
    "log10": op.log10,
    "sin": op.sin,
    "cos": op.cos,
    "tan": op.tan,
    "sinh": op.sinh,
    "cosh": op.cosh,
    "tanh": op.tanh,
    "asin": op.asin,
    "acos": op.acos,
    "atan": op.atan,
}


@table(*_FUNCTIONS, *(f"_sym_{name}" for name in _FUNCTIONS))
def function(node: Node, one: Number) -> Number:
    name = node.operator.rpartition(".")[2].removeprefix("_sym_")
    if not isinstance(one, Expr | Symbol):
        return getattr(math, name)(one)  # type: ignore[no-any-return]
    return node.let(_FUNCTIONS[name](node.scalar(one, "float64")))


@table("sym_float", "float")
def as_float(node: Node, one: Number) -> Number:
    if not isinstance(one, Expr | Symbol):
        return float(one)
    return node.scalar(one, "float64")


@table("sym_int", "int")
def as_int(node: Node, one: Number) -> Number:
    if not isinstance(one, Expr | Symbol):
        return int(one)
    return one if isinstance(one, Symbol) else node.as_dtype(one, "int64")


@table("bool")
def as_bool(node: Node, one: Number) -> Number:
    if not isinstance(one, Expr | Symbol):
        return bool(one)
    value = node.tensor(one)
    if node.dtype(value) == "bool":
        return value
    return node.let(op.not_equal(value, node.number(0, value)))


@table("sym_ite")
def chosen(node: Node, condition: Number, one: Number, other: Number) -> Number:
    if not isinstance(condition, Expr | Symbol):
        return one if condition else other
    return node.let(op.where(node.tensor(condition), *operands(node, one, other)))


@table("sym_sum")
def summed(node: Node, values: list[Number]) -> Number:
    total: Number = 0
    for one in values:
        if isinstance(one, Expr) or isinstance(total, Expr):
            total = node.let(op.add(*operands(node, total, one)))
        else:
            total = total + one  # type: ignore[operator]
    return total
