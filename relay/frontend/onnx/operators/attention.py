"""Attention and rotary position embeddings."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.attention import Attention, join_heads, split_heads, with_past
from relay.frontend.common.builder import int64
from relay.frontend.common.indices import in_range
from relay.frontend.onnx.computations.rotation import rotated
from relay.frontend.onnx.computations.softmax import softmax
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.types import element_type
from relay.ir.expr import Expr

table = Converters()


@table("Attention", since=23)
def attention(
    node: Node,
    queries: Expr,
    keys: Expr,
    values: Expr,
    mask: Expr | None = None,
    past_keys: Expr | None = None,
    past_values: Expr | None = None,
    lengths: Expr | None = None,
) -> Sequence[Expr]:
    """Inputs have an axis of heads, or heads concatenated in the last axis."""
    _check(node, past_keys, past_values, lengths)
    dtype = node.dtype(queries)
    is_flat = node.rank(queries) == 3
    for value, what in ((keys, "the keys"), (values, "the values")):
        node.must_have_axes(value, node.rank(queries), what)
    if is_flat:
        shared = node.required("kv_num_heads")
        queries = split_heads(node, queries, node.required("q_num_heads"))
        keys, values = (split_heads(node, one, shared) for one in (keys, values))
    node.must_have_axes(queries, 4, "the queries")
    before = None if past_keys is None else node.size(past_keys, 2)
    keys, values = with_past(node, past_keys, keys), with_past(node, past_values, values)
    given = node.as_dtype(values, dtype)
    found = Attention.of(node, queries, keys, given, softmax)
    if mask is not None:
        found = found.mask(mask, pads=node.version >= 24)
    found = _position_masks(node, found, before, lengths)
    scale, precision = node.attribute("scale"), node.attribute("softmax_precision")
    precision = dtype if precision is None else element_type(precision)
    result = found.run(scale, node.attribute("softcap", 0.0), precision)
    value = result.value()
    outputs = [join_heads(node, value) if is_flat else value, keys, values]
    if len(node.outputs) > 3 and node.outputs[3]:
        outputs.append(result.stage(node.attribute("qk_matmul_output_mode", 0)))
    return outputs[: len(node.outputs)]


def _check(
    node: Node, past_keys: Expr | None, past_values: Expr | None, lengths: Expr | None
) -> None:
    if (past_keys is None) != (past_values is None):
        raise node.refused("keys and values of the past come together", "both", "one of them")
    if lengths is not None and past_keys is not None:
        raise node.refused("there are lengths, and keys of the past", "one of them", "both")
    mode = node.attribute("qk_matmul_output_mode", 0)
    if mode not in (0, 1, 2, 3):
        raise node.refused("there is no such mode", "0 to 3", str(mode))
    for name in ("left_window_size", "right_window_size"):
        if node.attribute(name, -1) < -1:
            raise node.refused(f"`{name}` is negative", "-1 or more", str(node.attribute(name)))


def _position_masks(
    node: Node, found: Attention, before: Expr | None, lengths: Expr | None
) -> Attention:
    """Masks by position: causal, windows, and lengths of sequences.

    Query positions continue after the past keys, or end at the last key in use.
    """
    causal = bool(node.attribute("is_causal", 0))
    left, right = (node.attribute(f"{side}_window_size", -1) for side in ("left", "right"))
    if lengths is not None:
        lengths = node.let(op.reshape(op.cast(lengths, "int64"), (-1, 1, 1, 1)))
    if causal or left >= 0 or right >= 0:
        rows, columns = found.rows(), found.columns()
        if lengths is not None:
            before = lengths - node.size(found.queries, 2)
        if before is not None:
            rows = node.let(rows + before)
        blind = lengths is not None
        if causal:
            found = found.allow(columns <= rows, blind=blind)
        if left >= 0:
            first = rows - int64(left)
            found = found.allow(columns >= first, blind=True)
        if right >= 0:
            last = rows + int64(right)
            found = found.allow(columns <= last, blind=blind)
    if lengths is not None:
        found = found.allow(found.columns() < lengths, blind=True)
    return found


@table("RotaryEmbedding", since=23)
def rotary_embedding(
    node: Node, data: Expr, cosines: Expr, sines: Expr, numbers: Expr | None = None
) -> Expr:
    is_flat = node.rank(data) == 3
    if is_flat:
        heads = node.required("num_heads")
        data = split_heads(node, data, heads)
    node.must_have_axes(data, 4, "the inputs")
    if numbers is not None:
        # the rows of the tables at the positions
        numbers = in_range(node, numbers, cosines)
        cosines, sines = (node.let(op.take(one, numbers, axis=0)) for one in (cosines, sines))
    width, interleaved = (
        node.attribute(name, 0) for name in ("rotary_embedding_dim", "interleaved")
    )
    found = rotated(node, data, cosines, sines, width=width, interleaved=bool(interleaved))
    return join_heads(node, found) if is_flat else found
