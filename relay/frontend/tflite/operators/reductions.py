"""Reductions, and positions of extremes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relay import op
from relay.frontend.tflite.converters import Table
from relay.frontend.tflite.node import Node
from relay.ir.expr import Expr

table = Table()

_REDUCTIONS: Mapping[str, Callable[..., Expr]] = {
    "MEAN": op.mean,
    "SUM": op.sum,
    "REDUCE_PROD": op.prod,
    "REDUCE_MAX": op.max,
    "REDUCE_MIN": op.min,
    "REDUCE_ANY": op.any,
    "REDUCE_ALL": op.all,
}


@table.of_reals(*_REDUCTIONS)
def reduction(node: Node, data: Expr, axes: Expr) -> Expr:
    rank = node.rank(data)
    given = set(node.axes_of(node.numbers(axes, "the axes"), rank))
    if not given:
        return data
    keeps = node.option("keep_dims", False)
    return _REDUCTIONS[node.operator](data, axis=tuple(sorted(given)), keepdims=keeps)


@table("ARG_MAX", "ARG_MIN")
def arg(node: Node, data: Expr, axis: Expr) -> Expr:
    (place,) = node.numbers(axis, "the axis")
    place = node.axis_of(place, node.rank(data))
    find = op.argmax if node.operator == "ARG_MAX" else op.argmin
    return op.cast(find(data, axis=place), node.result_type())


@table.of_reals("CUMSUM")
def cumsum(node: Node, data: Expr, axis: Expr) -> Expr:
    (place,) = node.numbers(axis, "the axis")
    place = node.axis_of(place, node.rank(data))
    backwards, exclusive = node.option("reverse", False), node.option("exclusive", False)
    if backwards:
        data = node.let(op.reverse(data, place))
    found = op.cumsum(data, axis=place, exclusive=exclusive)
    return op.reverse(found, place) if backwards else found
