"""Scaled dot-product attention, in all the forms that torch has of it."""

from __future__ import annotations

from typing import Any

from relay import dtypes, op
from relay.frontend.common.attention import Attention, AttentionResult
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.shapes import dimensions, to_shape, volume
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Expr

table = Converters()


@table("scaled_dot_product_attention")
def attention(
    node: Node,
    query: Expr,
    key: Expr,
    value: Expr,
    attn_mask: Expr | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Expr:
    """softmax(scale * query @ key' + mask) @ value; masks are truth values, or added."""
    return _attention(node, query, key, value, attn_mask, dropout_p, is_causal, scale)[0]


def _attention(
    node: Node,
    query: Expr,
    key: Expr,
    value: Expr,
    mask: Expr | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
) -> tuple[Expr, AttentionResult]:
    """The values seen, with the axes of the queries, and attention over four axes."""
    if dropout_p:
        raise node.refused("it drops scores in training", hint="export the model in eval mode")
    rank = max(node.rank(one) for one in (query, key, value))
    shape = _batch(node, query, key, value, rank)
    parts = [_in_heads(node, one, rank) for one in (query, key, value)]
    query, key, value = _same_batch(node, parts)
    found = Attention.of(node, query, key, value)
    if is_causal:
        found = found.allow(op.less_equal(found.columns(), found.rows()), blind=False)
    if mask is not None:
        is_truth = node.dtype(mask) == "bool"
        mask = mask if node.rank(mask) <= rank else node.let(op.squeeze(mask, (0,)))
        mask = _in_heads(node, mask, rank) if node.rank(mask) == rank else mask
        found = found.mask(mask, pads=False, blind=is_truth)
    dtype = node.dtype(query)
    precision = "float32" if dtypes.bits(dtype) < 32 else dtype
    result = found.run(None if scale is None else float(scale), precision=precision)
    whole = result.value()
    return (whole if rank == 4 else to_shape(node, whole, shape)), result


def _batch(node: Node, query: Expr, key: Expr, value: Expr, rank: int) -> list[Any]:
    """The batch shape of the result."""
    widest = query if node.rank(query) == rank else key
    ahead = dimensions(node, widest, 0, -2)
    return [*ahead, node.dimension(query, -2), node.dimension(value, -1)]


def _in_heads(node: Node, data: Expr, rank: int) -> Expr:
    """Data with four axes, of tensors that have `rank` of them."""
    if missing := rank - node.rank(data):
        data = node.let(op.expand_dims(data, 0, num_newaxis=missing))
    if rank == 4:
        return data
    if rank < 4:
        return node.let(op.expand_dims(data, 0 if rank == 2 else 1, num_newaxis=4 - rank))
    ahead = dimensions(node, data, 0, -3)
    return to_shape(node, data, [volume(node, ahead), *dimensions(node, data, rank - 3)])


def _same_batch(node: Node, parts: list[Expr]) -> list[Expr]:
    """Queries, keys and values broadcast to one batch shape."""
    most: Dim = 1
    for one in parts:
        if node.shape(one)[0] != 1:
            most = node.shape(one)[0]
    longest = next((one for one in parts if node.shape(one)[0] != 1), parts[0])
    found = []
    for one in parts:
        if node.shape(one)[0] != 1 or dims.equal(most, 1) is True:
            found.append(one)
            continue
        shape = [node.dimension(longest, 0), *dimensions(node, one, 1)]
        wanted = op.broadcast_to(one, node.sizes(shape))
        known = [node.known(size) for size in shape]
        found.append(node.declare(wanted, known, node.dtype(one)))
    return found


def _logarithms(node: Node, result: AttentionResult) -> Expr:
    """The logarithm of the sum of the exponentials of the scores of each query."""
    scores = result.stage(len(result.stages) - 1)
    wide = node.as_dtype(scores, "float32") if node.dtype(scores) != "float64" else scores
    most = node.let(op.max(wide, axis=(3,), keepdims=True))
    total = op.log(op.sum(op.exp(wide - most), axis=(3,), keepdims=True))
    return node.let(op.squeeze(node.let(total + most), (3,)))


@table("_scaled_dot_product_flash_attention_for_cpu")
def for_cpu(
    node: Node,
    query: Expr,
    key: Expr,
    value: Expr,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Expr | None = None,
    scale: float | None = None,
) -> list[Expr]:
    given = (attn_mask, dropout_p, is_causal, scale)
    found, result = _attention(node, query, key, value, *given)
    return [found, _logarithms(node, result)]


@table("_scaled_dot_product_efficient_attention")
def efficient(
    node: Node,
    query: Expr,
    key: Expr,
    value: Expr,
    attn_bias: Expr | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> list[Expr]:
    found = for_cpu(node, query, key, value, dropout_p, is_causal, attn_mask=attn_bias, scale=scale)
    return [*found, *(op.zeros((), "int64") for _ in range(2))]


@table(
    "_scaled_dot_product_flash_attention.default",
    "_scaled_dot_product_fused_attention_overrideable",
    "_scaled_dot_product_cudnn_attention",
)
def flash(
    node: Node,
    query: Expr,
    key: Expr,
    value: Expr,
    *given: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    attn_bias: Expr | None = None,
    scale: float | None = None,
    **_: Any,
) -> list[Any]:
    """The attention of fused kernels of devices, without the results that only derivatives read."""
    if "flash" not in node.operator:
        attn_bias = given[0] if given else attn_bias
        given = given[2:] if "cudnn" in node.operator else given[1:]
    dropout_p, is_causal = (*given, *(dropout_p, is_causal)[len(given) :])[:2]
    found = for_cpu(node, query, key, value, dropout_p, is_causal, attn_mask=attn_bias, scale=scale)
    rows, columns = node.dimension(query, -2), node.dimension(key, -2)
    return [*found, None, None, rows, columns, None, None, None]


@table("_scaled_dot_product_attention_math", "_scaled_dot_product_attention_math_for_mps")
def by_math(
    node: Node,
    query: Expr,
    key: Expr,
    value: Expr,
    attn_mask: Expr | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    dropout_mask: Expr | None = None,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> list[Expr]:
    """The result, and the attention weights."""
    given = (attn_mask, dropout_p, is_causal, scale)
    found, result = _attention(node, query, key, value, *given)
    parts, rank = result.stage(3), max(node.rank(one) for one in (query, key, value))
    if rank != 4:
        shape = [*_batch(node, query, key, value, rank)[:-1], node.dimension(key, -2)]
        parts = to_shape(node, parts, shape)
    return [found, parts]
