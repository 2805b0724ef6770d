"""Elementwise operators of one tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relay import op
from relay.frontend.tflite.converters import Table
from relay.frontend.tflite.node import Node
from relay.ir.expr import Expr

table = Table()

_FUNCTIONS: Mapping[str, Callable[[Expr], Expr]] = {
    "ABS": op.abs,
    "CEIL": op.ceil,
    "COS": op.cos,
    "EXP": op.exp,
    "FLOOR": op.floor,
    "LOG": op.log,
    "NEG": op.negative,
    "ROUND": op.round,
    "RSQRT": op.rsqrt,
    "SIGN": op.sign,
    "SIN": op.sin,
    "SQRT": op.sqrt,
}


@table.of_reals(*_FUNCTIONS)
def function(node: Node, data: Expr) -> Expr:
    return _FUNCTIONS[node.operator](data)


@table.of_reals("SQUARE")
def square(node: Node, data: Expr) -> Expr:
    return data * data


@table("LOGICAL_NOT")
def logical_not(node: Node, data: Expr) -> Expr:
    return op.logical_not(data)


@table("ZEROS_LIKE")
def zeros_like(node: Node, data: Expr) -> Expr:
    return op.zeros_like(data)


@table("CAST")
def cast(node: Node, data: Expr) -> Expr:
    wanted, own = node.result_type(), node.dtype(data)
    if wanted == "bool" and own != "bool":
        return op.not_equal(data, node.number(0, data))
    return op.cast(data, wanted)


@table("BITCAST")
def bitcast(node: Node, data: Expr) -> Expr:
    return op.reinterpret(data, node.result_type())
