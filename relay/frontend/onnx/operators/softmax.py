"""Softmax along an axis; before version 13 along all axes from one on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from relay import op
from relay.frontend.common.broadcast import trailing_axes
from relay.frontend.onnx.computations.softmax import softmax
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr

table = Converters()

# (node, data, axis) -> a tensor of the shape of data
Along = Callable[[Node, Expr, int], Expr]


def _hardmax(node: Node, data: Expr, axis: int) -> Expr:
    """1 for the first maximum, 0 for the others."""
    positions = op.arange(op.cast(node.size(data, axis), "int32"), dtype="int32")
    numbers = trailing_axes(positions, node.rank(data) - 1 - axis)
    chosen = op.argmax(data, axis=axis, keepdims=True)
    found = op.cast(op.equal(chosen, numbers), node.dtype(data))
    return node.let(found, declared=node.type_of(data))


_OPERATORS: Mapping[str, Along] = {
    "Softmax": softmax,
    "LogSoftmax": lambda node, data, axis: op.nn.log_softmax(data, axis=axis),
    "Hardmax": _hardmax,
}


def _convert(along: Along, node: Node, data: Expr) -> Expr:
    if node.version >= 13:
        return along(node, data, node.axis(data, -1))
    axis = node.axis(data, 1)
    if 0 in node.shape(data):
        return data
    behind = node.shape(data)[axis:]
    long = [place for place, extent in enumerate(behind, axis) if extent != 1]
    if len(long) <= 1:
        return along(node, data, long[0] if long else axis)
    joined = node.let(op.reshape(data, (*[0] * axis, -1)))
    found = along(node, joined, axis)
    codes = [extent if isinstance(extent, int) else -1 for extent in behind]
    if codes.count(-1) <= 1:
        return op.reshape(found, (*[0] * axis, *codes))
    found = op.reshape(found, op.shape_of(data, dtype="int64"), allowzero=True)
    return node.let(found, declared=node.type_of(data))


for _name, _operator in _OPERATORS.items():
    table.add(_name, partial(_convert, _operator))
