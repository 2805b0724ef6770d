"""Operators of ai.onnx.preview."""

from __future__ import annotations

from dataclasses import replace

from relay import op
from relay.frontend.common.attention import Attention
from relay.frontend.onnx.computations.softmax import softmax
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.types import element_type
from relay.ir.expr import Expr

table = Converters("ai.onnx.preview")


@table("FlexAttention")
def flex_attention(node: Node, queries: Expr, keys: Expr, values: Expr) -> Expr:
    """Attention with graphs that modify the scores and the probabilities."""
    for value, what in ((queries, "queries"), (keys, "keys"), (values, "values")):
        node.must_have_axes(value, 4, f"the {what}")
    found = Attention.of(node, queries, keys, values, softmax)
    dtype = node.dtype(queries)
    wanted = node.attribute("softmax_precision")
    if wanted is not None:
        precision = element_type(wanted)
    else:
        precision = "float64" if dtype == "float64" else "float32"
    scores = node.let(op.cast(found.scores(node.attribute("scale")), precision))
    scores = _changed(node, found, "score_mod", scores)
    probabilities = _changed(node, found, "prob_mod", node.let(op.nn.softmax(scores, axis=-1)))
    wide = replace(found, values=op.cast(values, precision))
    return found.unfolded(node.let(op.cast(wide.weighted(probabilities), dtype)))


def _changed(node: Node, found: Attention, name: str, data: Expr) -> Expr:
    """Scores modified by a graph."""
    if name not in node.attributes:
        return data
    graph = node.subgraph(name)
    if len(graph.inputs) != 1 or len(graph.outputs) != 1:
        raise node.refused(f"`{name}` makes one tensor of one tensor", "1 input and 1 output")
    whole = found.unfolded(data)
    (result,) = graph.inline(node.scope, [whole])
    if node.type_of(result) != node.type_of(whole):
        result = node.let(result, declared=node.type_of(whole))
    return node.let(found.folded(result))
