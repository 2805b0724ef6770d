"""Operators of ONNX Runtime in the default domain that are not, or not yet, in the standard."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.normalization import layer_normalization, rms_normalization
from relay.ir.expr import Expr

table = Converters()

# in the standard from version 17 on
table.add("LayerNormalization", layer_normalization)


@table("SimplifiedLayerNormalization")
def simplified_layer_normalization(node: Node, data: Expr, scale: Expr) -> Sequence[Expr]:
    """RMS normalization, and the inverse root mean square."""
    results = [rms_normalization(node, data, scale)]
    if any(node.outputs[1:]):
        values = node.let(op.cast(data, "float32"))
        axes = tuple(range(node.axis(data, -1), node.rank(data)))
        squares = op.mean(values * values, axis=axes, keepdims=True)
        epsilon = node.number(node.attribute("epsilon", 1e-5), values)
        results.append(op.rsqrt(squares + epsilon))
    return results
