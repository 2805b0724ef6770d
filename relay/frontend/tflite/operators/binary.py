"""Elementwise operators of two tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relay import op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.common.quantization import Affine
from relay.frontend.tflite.activation import activated, clipped
from relay.frontend.tflite.converters import Table
from relay.frontend.tflite.node import Node
from relay.ir.expr import Expr
from relay.op.qnn import op as qnn

table = Table()

Function = Callable[[Expr, Expr], Expr]

_ARITHMETIC: Mapping[str, Function] = {
    "ADD": op.add,
    "SUB": op.subtract,
    "MUL": op.multiply,
    "DIV": op.divide,
}
_QUANTIZED: Mapping[str, Callable[..., Expr]] = {
    "ADD": qnn.add,
    "SUB": qnn.subtract,
    "MUL": qnn.mul,
}


@table(*_ARITHMETIC)
def arithmetic(node: Node, left: Expr, right: Expr) -> Expr:
    left, right = broadcastable(node, left, right)
    given = [node.input_affine(0), node.input_affine(1), node.result_affine()]
    by = [one for one in given if isinstance(one, Affine)]
    kinds = {node.dtype(left), node.dtype(right), node.result_type()}
    if len(by) == 3 and len(kinds) == 1 and node.operator in _QUANTIZED and _is_plain(by):
        numbers = [number for one in by for number in (one.scale, one.zero_point)]
        whole = _QUANTIZED[node.operator](left, right, *numbers, compute_dtype="float32")
        return clipped(node, node.let(whole))
    first, second = node.real(left, 0), node.real(right, 1)
    if node.operator == "DIV" and node.dtype(first) != "float32":
        return activated(node, node.let(op.trunc_divide(first, second)))
    found = node.let(_ARITHMETIC[node.operator](first, second))
    return node.as_result(activated(node, found))


def _is_plain(by: list[Affine]) -> bool:
    """Whether all scales are per tensor."""
    return all(one.scale.data.shape == () for one in by)  # type: ignore[attr-defined]


_FUNCTIONS: Mapping[str, Function] = {
    "FLOOR_DIV": op.floor_divide,
    "FLOOR_MOD": op.floor_mod,
    "MAXIMUM": op.maximum,
    "MINIMUM": op.minimum,
    "POW": op.power,
    "SQUARED_DIFFERENCE": lambda a, b: (a - b) * (a - b),
}


@table.of_reals(*_FUNCTIONS)
def function(node: Node, left: Expr, right: Expr) -> Expr:
    left, right = broadcastable(node, left, right)
    return _FUNCTIONS[node.operator](left, right)


_COMPARISONS: Mapping[str, Function] = {
    "EQUAL": op.equal,
    "NOT_EQUAL": op.not_equal,
    "LESS": op.less,
    "LESS_EQUAL": op.less_equal,
    "GREATER": op.greater,
    "GREATER_EQUAL": op.greater_equal,
    "LOGICAL_AND": op.logical_and,
    "LOGICAL_OR": op.logical_or,
    "BITWISE_XOR": op.bitwise_xor,
    "RIGHT_SHIFT": op.right_shift,
}


@table(*_COMPARISONS)
def comparison(node: Node, left: Expr, right: Expr) -> Expr:
    left, right = broadcastable(node, node.real(left, 0), node.real(right, 1))
    return _COMPARISONS[node.operator](left, right)


@table.of_reals("ADD_N")
def add_n(node: Node, *parts: Expr) -> Expr:
    if not parts:
        raise node.refused("there is nothing to add")
    total, *others = parts
    for one in others:
        total = node.let(total + one)
    return total


@table("SELECT", "SELECT_V2")
def select(node: Node, condition: Expr, yes: Expr, no: Expr) -> Expr:
    """SELECT; before version 2 a vector of conditions selects along the first axis."""
    if node.operator == "SELECT" and node.rank(condition) == 1 < node.rank(yes):
        condition = node.let(op.expand_dims(condition, 1, num_newaxis=node.rank(yes) - 1))
    condition, yes, no = broadcastable(node, condition, node.real(yes, 1), node.real(no, 2))
    return node.as_result(node.let(op.where(condition, yes, no)))
