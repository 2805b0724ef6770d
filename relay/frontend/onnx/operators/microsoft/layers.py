"""Fused layers of com.microsoft."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.common.indices import in_range
from relay.frontend.common.products import product
from relay.frontend.onnx.computations.standard import activated, standard
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.microsoft.activations import fast_gelu_of
from relay.ir.expr import Expr

table = Converters("com.microsoft")


@table("FusedMatMul", "TransposeMatMul")
def fused_matmul(node: Node, left: Expr, right: Expr) -> Expr:
    """A product of transposed matrices, times a number."""
    left, right = _transposed(node, left, "A"), _transposed(node, right, "B")
    factor = node.attribute("alpha", 1.0)
    if factor != 1:
        left = node.let(left * node.number(factor, left))
    return product(node, left, right)


def _transposed(node: Node, data: Expr, which: str) -> Expr:
    """`transBatch` moves the first axis after the other batch axes, `trans` swaps the last two."""
    rank = node.rank(data)
    if rank < 2:
        return data
    axes = list(range(rank))
    if node.attribute(f"transBatch{which}", 0):
        axes = [*axes[1 : rank - 1], 0, rank - 1]
    if node.attribute(f"trans{which}", 0):
        axes[-2:] = [axes[-1], axes[-2]]
    return data if axes == sorted(axes) else node.let(op.transpose(data, tuple(axes)))


@table("FusedMatMulActivation")
def fused_matmul_activation(node: Node, left: Expr, right: Expr) -> Expr:
    return _activated(node, node.let(fused_matmul(node, left, right)))


@table("FusedGemm")
def fused_gemm(node: Node, left: Expr, right: Expr, addend: Expr | None = None) -> Expr:
    return _activated(node, standard(node, "Gemm", left, right, addend)[0])


def _activated(node: Node, data: Expr) -> Expr:
    """The activation that attributes name."""
    given = [node.attribute(f"activation_{name}") for name in ("alpha", "beta", "gamma")]
    numbers = [one for one in given if one is not None]
    return activated(node, data, node.attribute("activation", ""), numbers)


@table("GemmFastGelu")
def gemm_fast_gelu(node: Node, data: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    found = node.let(product(node, data, weight))
    if bias is not None:
        found = node.let(op.add(*broadcastable(node, found, bias)))
    return fast_gelu_of(node, found)


@table("FusedConv")
def fused_conv(
    node: Node, data: Expr, weight: Expr, bias: Expr | None = None, addend: Expr | None = None
) -> Expr:
    (found,) = standard(node, "Conv", data, weight, bias)
    if addend is not None:
        found = node.let(op.add(*broadcastable(node, found, addend)))
    numbers = node.attribute("activation_params") or []
    return activated(node, found, node.attribute("activation", ""), numbers)


@table("NhwcConv", "NhwcFusedConv")
def nhwc_conv(
    node: Node, data: Expr, weight: Expr, bias: Expr | None = None, addend: Expr | None = None
) -> Expr:
    """A convolution with channels last; the weight is as in the standard."""
    moved = None if addend is None else channels_first(node, addend)
    found = fused_conv(node, channels_first(node, data), weight, bias, moved)
    return channels_last(node, node.let(found))


@table("NhwcMaxPool")
def nhwc_max_pool(node: Node, data: Expr) -> Expr:
    return channels_last(node, standard(node, "MaxPool", channels_first(node, data))[0])


def channels_first(node: Node, data: Expr) -> Expr:
    rank = node.rank(data)
    return node.let(op.transpose(data, (0, rank - 1, *range(1, rank - 1))))


def channels_last(node: Node, data: Expr) -> Expr:
    rank = node.rank(data)
    return node.let(op.transpose(data, (0, *range(2, rank), 1)))


EPSILON = 1e-12  # the default of `epsilon`


def _skipped(node: Node, data: Expr, skip: Expr, bias: Expr | None) -> Expr:
    """Data with a skip connection and a bias added."""
    total = node.let(op.add(*broadcastable(node, data, skip)))
    return total if bias is None else node.let(op.add(*broadcastable(node, total, bias)))


@table("SkipLayerNormalization")
def skip_layer_normalization(
    node: Node,
    data: Expr,
    skip: Expr,
    scale: Expr,
    offset: Expr | None = None,
    bias: Expr | None = None,
) -> Sequence[Expr]:
    """Normalized data, its mean and inverse standard deviation, and the sum before it."""
    total = _skipped(node, data, skip, bias)
    found = _layer_norm(node, total, scale, offset, node.outputs[:3])
    return [*found, *[total] * (4 - len(found))]


def _layer_norm(
    node: Node, data: Expr, scale: Expr, offset: Expr | None, outputs: Sequence[str]
) -> list[Expr]:
    attributes = {"axis": -1, "epsilon": node.attribute("epsilon", EPSILON)}
    given = (data, scale, offset)
    return standard(node, "LayerNormalization", *given, attributes=attributes, outputs=outputs)


@table("SkipSimplifiedLayerNormalization")
def skip_simplified_layer_normalization(
    node: Node, data: Expr, skip: Expr, scale: Expr, bias: Expr | None = None
) -> Sequence[Expr]:
    total = _skipped(node, data, skip, bias)
    attributes = {"axis": -1, "epsilon": node.attribute("epsilon", EPSILON)}
    found = standard(node, "RMSNormalization", total, scale, attributes=attributes, version=23)[0]
    return [found, *[total] * 3]


@table("EmbedLayerNormalization")
def embed_layer_normalization(
    node: Node,
    words: Expr,
    segments: Expr | None,
    word_rows: Expr,
    place_rows: Expr,
    segment_rows: Expr | None,
    scale: Expr,
    offset: Expr,
    mask: Expr | None = None,
    numbers: Expr | None = None,
) -> Sequence[Expr]:
    """The normalized sum of word, position and segment embeddings; the number of words;
    and the sum."""
    total = node.let(op.take(word_rows, in_range(node, words, word_rows), axis=0))
    at = node.positions(words, 1) if numbers is None else numbers
    total = node.let(total + op.take(place_rows, in_range(node, at, place_rows), axis=0))
    if segments is not None and segment_rows is not None:
        chosen = in_range(node, segments, segment_rows)
        total = node.let(total + op.take(segment_rows, chosen, axis=0))
    (found,) = _layer_norm(node, total, scale, offset, node.outputs[:1])
    counted = op.zeros_like(words) if mask is None else op.cast(mask, "int32")
    return [found, op.sum(op.cast(counted, "int32"), axis=1), total]


@table("GroupNorm")
def group_norm(node: Node, data: Expr, scale: Expr, offset: Expr) -> Expr:
    return _in_groups(node, data, scale, offset)


@table("SkipGroupNorm")
def skip_group_norm(
    node: Node, data: Expr, scale: Expr, offset: Expr, skip: Expr, bias: Expr | None = None
) -> Sequence[Expr]:
    if node.rank(skip) == 2:
        skip = node.let(op.expand_dims(skip, axis=1, num_newaxis=2))
    total = _skipped(node, data, skip, bias)
    return [_in_groups(node, total, scale, offset), total]


def _in_groups(node: Node, data: Expr, scale: Expr, offset: Expr) -> Expr:
    """Group normalization in float32, with SiLU if asked for."""
    last = bool(node.attribute("channels_last", 1))
    values = node.let(op.cast(data, "float32"))
    scale, offset = (node.let(op.cast(one, "float32")) for one in (scale, offset))
    axis, groups = node.rank(data) - 1 if last else 1, node.required("groups")
    epsilon = node.attribute("epsilon", 1e-5)
    found = node.let(op.nn.group_norm(values, scale, offset, groups, axis, epsilon))
    if node.attribute("activation", 0):
        found = found * op.sigmoid(found)
    return node.let(op.cast(found, node.dtype(data)))
