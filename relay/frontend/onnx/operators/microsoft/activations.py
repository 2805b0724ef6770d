"""Activations of com.microsoft, with biases added before them."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.onnx.computations.standard import standard
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr

table = Converters("com.microsoft")


def _sum(node: Node, *values: Expr | None) -> Expr:
    """The sum of the values that are not None."""
    first, *others = (one for one in values if one is not None)
    for other in others:
        first = node.let(op.add(*broadcastable(node, first, other)))
    return first


def fast_gelu_of(node: Node, data: Expr) -> Expr:
    return standard(node, "Gelu", data, attributes={"approximate": "tanh"})[0]


@table("Gelu", "BiasGelu")
def gelu(node: Node, data: Expr, bias: Expr | None = None) -> Expr:
    return standard(node, "Gelu", _sum(node, data, bias), attributes={})[0]


@table("FastGelu")
def fast_gelu(node: Node, data: Expr, bias: Expr | None = None) -> Expr:
    return fast_gelu_of(node, _sum(node, data, bias))


@table("QuickGelu")
def quick_gelu(node: Node, data: Expr) -> Expr:
    factor = node.number(node.attribute("alpha", 1.702), data)
    return data * op.sigmoid(factor * data)


@table("BiasSplitGelu")
def bias_split_gelu(node: Node, data: Expr, bias: Expr) -> Expr:
    """One half of the last axis times Gelu of the other."""
    total = _sum(node, data, bias)
    left, right = node.fields(op.split(total, 2, axis=node.rank(total) - 1).astuple(), 2)
    return left * gelu(node, right)


@table("BiasAdd")
def bias_add(node: Node, data: Expr, bias: Expr, skip: Expr) -> Expr:
    return _sum(node, data, bias, skip)


@table("BiasSoftmax")
def bias_softmax(node: Node, data: Expr, bias: Expr) -> Expr:
    """Softmax over all axes from `axis` on."""
    axis = {"axis": node.attribute("axis", 1)}
    return standard(node, "Softmax", _sum(node, data, bias), attributes=axis, version=11)[0]


@table("BiasDropout")
def bias_dropout(
    node: Node,
    data: Expr,
    bias: Expr,
    residual: Expr | None = None,
    ratio: Expr | None = None,
    training: Expr | None = None,
) -> Sequence[Expr]:
    """Dropout of data and bias, and the residual added after it."""
    total = _sum(node, data, bias)
    results = standard(node, "Dropout", total, ratio, training, outputs=node.outputs)
    return [_sum(node, results[0], residual), *results[1:]]
