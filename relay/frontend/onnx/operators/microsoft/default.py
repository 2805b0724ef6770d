"""Operators that ONNX Runtime has in the default domain, and the standard has not, or not yet."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.indexing import chosen_axis
from relay.frontend.onnx.operators.normalisation import layer_normalization, rms_normalization
from relay.ir.expr import Expr

table = Converters()

# The standard has it from version 17 on, and means the same.
table.add("LayerNormalization", layer_normalization)


@table("SimplifiedLayerNormalization")
def simplified_layer_normalization(node: Node, data: Expr, scale: Expr) -> Sequence[Expr]:
    """Data by the root of its mean square; and 1 / that root."""
    results = [rms_normalization(node, data, scale)]
    if any(node.outputs[1:]):
        values = node.let(op.cast(data, "float32"))
        axes = tuple(range(chosen_axis(node, data, -1), node.rank(data)))
        squares = op.mean(op.multiply(values, values), axis=axes, keepdims=True)
        epsilon = node.number(node.attribute("epsilon", 1e-5), values)
        results.append(op.rsqrt(op.add(squares, epsilon)))
    return results
