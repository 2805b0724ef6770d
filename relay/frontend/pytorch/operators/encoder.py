"""Layers that torch computes as one operator in inference: attention with projections, and the
layer of a transformer's encoder."""

from __future__ import annotations

from relay import op
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.operators.activations import gelu
from relay.frontend.pytorch.operators.attention import attention
from relay.frontend.pytorch.operators.normalization import layer_norm
from relay.frontend.pytorch.operators.products import linear
from relay.frontend.pytorch.shapes import dimensions, to_shape
from relay.ir.expr import Expr

table = Converters()

# what a mask is about: scores of all rows, positions of a batch, or both
BY_ROW, BY_POSITION = 0, 1


@table("_native_multi_head_attention")
def multi_head_attention(
    node: Node,
    query: Expr,
    key: Expr,
    value: Expr,
    embed_dim: int,
    num_head: int,
    qkv_weight: Expr,
    qkv_bias: Expr,
    proj_weight: Expr,
    proj_bias: Expr,
    mask: Expr | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> list[Expr | None]:
    """Attention between projections of queries, keys and values by one stacked weight."""
    if need_weights:
        raise node.refused("the weights of attention are not given", hint="need_weights=False")
    weights, biases = (
        [node.let(one) for one in op.split(stacked, 3, axis=0)]
        for stacked in (qkv_weight, qkv_bias)
    )
    queries, keys, values = (
        _in_heads(node, node.let(linear(node, data, weight, bias)), num_head)
        for data, weight, bias in zip((query, key, value), weights, biases, strict=True)
    )
    allowed = None if mask is None else _allowed(node, mask, mask_type)
    seen = attention(node, queries, keys, values, allowed)
    rows = node.let(op.transpose(node.let(seen), (0, 2, 1, 3)))
    whole = to_shape(node, rows, [*dimensions(node, rows, 0, 2), embed_dim])
    return [node.let(linear(node, whole, proj_weight, proj_bias)), None]


def _in_heads(node: Node, data: Expr, heads: int) -> Expr:
    """(batch, length, heads * width) as (batch, heads, length, width)"""
    width = node.static_extent(data, 2, "the width of a projection") // heads
    parted = to_shape(node, data, [*dimensions(node, data, 0, 2), heads, width])
    return node.let(op.transpose(parted, (0, 2, 1, 3)))


def _allowed(node: Node, mask: Expr, kind: int | None) -> Expr:
    """The mask of allowed positions; torch's are true, or not 0, elsewhere."""
    allowed = node.let(op.equal(mask, node.number(0, mask)))
    if kind == BY_POSITION:
        return node.let(op.expand_dims(allowed, 1, num_newaxis=2))
    return allowed


@table("_transformer_encoder_layer_fwd")
def encoder_layer(
    node: Node,
    src: Expr,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Expr,
    qkv_bias: Expr,
    proj_weight: Expr,
    proj_bias: Expr,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Expr,
    norm_bias_1: Expr,
    norm_weight_2: Expr,
    norm_bias_2: Expr,
    ffn_weight_1: Expr,
    ffn_bias_1: Expr,
    ffn_weight_2: Expr,
    ffn_bias_2: Expr,
    mask: Expr | None = None,
    mask_type: int | None = None,
) -> Expr:
    """A transformer encoder layer: attention and two dense layers, residuals, layer norms."""

    def attended(data: Expr) -> Expr:
        weights = (qkv_weight, qkv_bias, proj_weight, proj_bias)
        given = (data, data, data, embed_dim, num_heads, *weights, mask, False, True, mask_type)
        found = multi_head_attention(node, *given)[0]
        assert found is not None
        return found

    def dense(data: Expr) -> Expr:
        wide = node.let(linear(node, data, ffn_weight_1, ffn_bias_1))
        active = node.let(gelu(node, wide) if use_gelu else op.nn.relu(wide))
        return node.let(linear(node, active, ffn_weight_2, ffn_bias_2))

    def normed(data: Expr, weight: Expr, bias: Expr) -> Expr:
        return node.let(layer_norm(node, data, [embed_dim], weight, bias, eps))

    first, second = (norm_weight_1, norm_bias_1), (norm_weight_2, norm_bias_2)
    if norm_first:
        middle = node.let(op.add(src, attended(normed(src, *first))))
        return op.add(middle, dense(normed(middle, *second)))
    middle = normed(node.let(op.add(src, attended(src))), *first)
    return normed(node.let(op.add(middle, dense(middle))), *second)
