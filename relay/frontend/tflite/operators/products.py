"""Matrix products."""

from __future__ import annotations

import tflite

from relay import op
from relay.frontend.common.products import product
from relay.frontend.tflite.converters import Table
from relay.frontend.tflite.node import Node
from relay.frontend.tflite.operators.convolution import finished, real_weight, without_axis
from relay.ir.expr import Expr
from relay.op.qnn import op as qnn

table = Table()


@table("FULLY_CONNECTED")
def fully_connected(node: Node, data: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    """FULLY_CONNECTED: data of any rank is read as rows of the length of those of weights."""
    if node.option("weights_format", 0) != tflite.FullyConnectedOptionsWeightsFormat.DEFAULT:
        raise node.refused("the weights are shuffled for another machine", "the default format")
    node.must_have_axes(weight, 2, "weights")
    units, length = node.static_shape(weight, "weights")
    if not (node.option("keep_num_dims", False) and node.shape(data)[-1] == length):
        data = node.let(op.reshape(data, (-1, length)))
    given, kernel = node.input_affine(0), node.input_affine(1)
    if given is None or kernel is None:
        sums = op.nn.dense(node.real(data, 0), real_weight(node, weight), units=units)
        return finished(node, node.let(sums), bias, None, None)
    wide = "int64" if node.dtype(data) == "int16" else "int32"
    zero = without_axis(kernel.zero_point)
    scales = (given.zero_point, zero, given.scale, kernel.scale)
    sums = qnn.dense(data, weight, *scales, units=units, out_dtype=wide)
    return finished(node, node.let(sums), bias, given, kernel)


@table.of_reals("BATCH_MATMUL")
def batch_matmul(node: Node, left: Expr, right: Expr) -> Expr:
    if node.option("adj_x", False):
        left = _transposed(node, left)
    if node.option("adj_y", False):
        right = _transposed(node, right)
    return product(node, left, right)


def _transposed(node: Node, data: Expr) -> Expr:
    """The matrices in the last two axes, transposed."""
    axes = list(range(node.rank(data)))
    axes[-2:] = axes[-1], axes[-2]
    return node.let(op.transpose(data, axes))
