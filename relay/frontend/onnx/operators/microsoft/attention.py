"""Attention of com.microsoft, as written by transformer optimizers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from relay import op
from relay.frontend.common.attention import Attention, join_heads, split_heads, with_past
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.common.builder import int64
from relay.frontend.common.products import product
from relay.frontend.onnx.computations.rotation import rotated
from relay.frontend.onnx.computations.softmax import softmax
from relay.frontend.onnx.computations.standard import standard
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir import dims
from relay.ir.expr import Expr
from relay.ir.types import TensorType

table = Converters("com.microsoft")

MASKED = -10000.0  # the default of `mask_filter_value`


def _parts(node: Node, data: Expr, sizes: Sequence[int], axis: int) -> list[Expr]:
    """Data split into parts of these sizes."""
    ends = tuple(accumulate(sizes[:-1]))
    return node.fields(op.split(data, ends, axis=axis).astuple(), len(sizes))


def _causal(node: Node, found: Attention, before: Expr | None) -> Attention:
    """No query attends to later keys."""
    rows = found.rows() if before is None else node.let(found.rows() + before)
    return found.allow(found.columns() <= rows, blind=False)


# --- packed projections ------------------------------------------------------------------------


@table("Attention")
def attention(
    node: Node,
    data: Expr,
    weights: Expr,
    bias: Expr | None = None,
    mask: Expr | None = None,
    past: Expr | None = None,
    more: Expr | None = None,
    past_length: Expr | None = None,
) -> Sequence[Expr]:
    """The weights of queries, keys and values are concatenated."""
    del past_length  # of a buffer that is shared
    whole = node.let(product(node, data, weights))
    if bias is not None:
        whole = node.let(op.add(*broadcastable(node, whole, bias)))
    return attended(node, whole, mask, past, more)


def attended(
    node: Node,
    whole: Expr,
    mask: Expr | None = None,
    past: Expr | None = None,
    more: Expr | None = None,
) -> Sequence[Expr]:
    """Attention of concatenated queries, keys and values."""
    if node.attribute("past_present_share_buffer", 0) or node.attribute("do_rotary", 0):
        raise node.refused("buffers are not shared, and nothing is turned", "0 for both", "1")
    heads = node.required("num_heads")
    width = node.static_extent(whole, 2, "how wide the weights are")
    sizes = node.attribute("qkv_hidden_sizes") or [width // 3] * 3
    if len(sizes) != 3 or sum(sizes) != width:
        raise node.refused("the weights have another width", str(sum(sizes)), str(width))
    queries, keys, values = (
        split_heads(node, part, heads) for part in _parts(node, whole, sizes, 2)
    )
    before = None
    if past is not None:
        node.must_have_axes(past, 5, "keys and values of the past")
        old = [node.let(op.take(past, int64(place), axis=0)) for place in range(2)]
        before = node.size(past, 3)
        keys, values = with_past(node, old[0], keys), with_past(node, old[1], values)
    found = _masked(node, Attention.of(node, queries, keys, values, softmax), mask, more, before)
    result = found.run(node.attribute("scale"))
    outputs = [join_heads(node, result.value())]
    if len(node.outputs) > 1:
        outputs.append(op.stack([keys, values], axis=0))
    return outputs


def _masked(
    node: Node, found: Attention, mask: Expr | None, more: Expr | None, before: Expr | None
) -> Attention:
    """Attention with an integer mask, a causal mask if `unidirectional`, and a bias; `before` is
    the number of past keys."""
    if mask is not None:
        found = _with_mask(node, found, mask)
    if node.attribute("unidirectional", 0):
        found = _causal(node, found, before)
    if more is not None:
        found = found.mask(more, pads=False)
    return found


def _with_mask(node: Node, found: Attention, mask: Expr) -> Attention:
    """Attention with an integer mask: the number of keys per sequence, (batch); their ends and
    then their starts, (2 * batch); or 1 for visible keys, (batch, length), (batch, rows, length) or
    (batch, 1, more rows, more length)."""
    rank = node.rank(mask)
    if rank == 1:
        seen = _inside(node, found, mask)
    elif rank == 2:
        seen = op.expand_dims(op.not_equal(mask, node.number(0, mask)), axis=1, num_newaxis=2)
    elif rank == 3:
        seen = op.expand_dims(op.not_equal(mask, node.number(0, mask)), 1)
    elif rank == 4:
        seen = _of_longest(node, found, mask)
    else:
        raise node.refused("the mask has too many axes", "4 at most", str(node.type_of(mask)))
    low = node.number(node.attribute("mask_filter_value", MASKED), found.queries)
    zero = node.number(0, found.queries)
    # finite, so a query without visible keys attends to all of them alike
    return found.mask(node.let(op.where(node.let(seen), zero, low)), pads=False, blind=False)


def _inside(node: Node, found: Attention, mask: Expr) -> Expr:
    """The keys between the starts and ends of sequences."""
    count, batch = node.shape(mask)[0], node.shape(found.queries)[0]
    numbers = op.cast(op.reshape(mask, (-1, 1, 1, 1)), "int64")
    if dims.equal(count, batch) is True:
        return found.columns() < node.let(numbers)
    if not isinstance(count, int) or not isinstance(batch, int) or count != 2 * batch:
        raise node.refused("the mask has another length", f"{batch}", f"{count}")
    ends, begins = _parts(node, node.let(numbers), [batch, batch], 0)
    return op.logical_and(found.columns() < ends, found.columns() >= begins)


def _of_longest(node: Node, found: Attention, mask: Expr) -> Expr:
    """The part of a mask for the maximal length that is about these queries and keys."""
    total, rows = node.size(found.keys, 2), node.size(found.queries, 2)
    first = node.let(total - rows)
    wanted = node.positions(found.queries, 2) + first
    some = node.let(op.take(mask, node.let(wanted), axis=2))
    some = node.let(op.take(some, node.positions(found.keys, 2), axis=3))
    return op.not_equal(some, node.number(0, some))


# --- separate queries, keys and values ---------------------------------------------------------


@table("MultiHeadAttention")
def multi_head_attention(
    node: Node,
    queries: Expr,
    keys: Expr | None = None,
    values: Expr | None = None,
    bias: Expr | None = None,
    mask: Expr | None = None,
    more: Expr | None = None,
    past_keys: Expr | None = None,
    past_values: Expr | None = None,
    *buffers: Expr | None,
) -> Sequence[Expr]:
    if any(one is not None for one in buffers):
        raise node.refused("buffers are not shared", "8 inputs at most", str(len(node.inputs)))
    heads = node.required("num_heads")
    queries, keys, values = _unpacked(node, queries, keys, values)
    apart = node.rank(keys) == 4  # split into heads, with bias
    if bias is not None:
        widths = [
            node.static_extent(one, -1, "how wide heads are") for one in (queries, keys, values)
        ]
        sizes = [*widths[:1], *(one * heads if apart else one for one in widths[1:])]
        queries, keys, values = (
            one if node.rank(one) == 4 else node.let(one + part)
            for one, part in zip((queries, keys, values), _parts(node, bias, sizes, 0), strict=True)
        )
    queries, keys, values = (
        one if node.rank(one) == 4 else split_heads(node, one, heads)
        for one in (queries, keys, values)
    )
    before = None if past_keys is None else node.size(past_keys, 2)
    keys, values = with_past(node, past_keys, keys), with_past(node, past_values, values)
    found = _masked(node, Attention.of(node, queries, keys, values, softmax), mask, more, before)
    result = found.run(node.attribute("scale"))
    outputs = [join_heads(node, result.value()), keys, values]
    if len(node.outputs) > 3:
        outputs.append(result.stage(3))
    return outputs[: len(node.outputs)]


def _unpacked(
    node: Node, queries: Expr, keys: Expr | None, values: Expr | None
) -> tuple[Expr, Expr, Expr]:
    """Queries, keys and values, which may be packed in one tensor, (batch, rows, heads, 3, n), or
    keys with values."""
    if keys is None:
        node.must_have_axes(queries, 5, "queries with keys and values")
        queries, keys, values = _flat_parts(node, queries, 3)
        return queries, keys, values
    if values is None:
        node.must_have_axes(keys, 5, "keys with values")
        keys, values = _flat_parts(node, keys, 2)
    return queries, keys, values


def _flat_parts(node: Node, data: Expr, count: int) -> list[Expr]:
    return [
        node.let(op.reshape(op.squeeze(part, (3,)), (0, 0, -3)))
        for part in _parts(node, data, [1] * count, 3)
    ]


# --- grouped queries with a key-value cache ----------------------------------------------------


@table("GroupQueryAttention")
def group_query_attention(
    node: Node,
    queries: Expr,
    keys: Expr | None,
    values: Expr | None,
    past_keys: Expr | None,
    past_values: Expr | None,
    lasts: Expr,
    longest: Expr,
    cosines: Expr | None = None,
    sines: Expr | None = None,
    numbers: Expr | None = None,
    more: Expr | None = None,
    sinks: Expr | None = None,
    key_scale: Expr | None = None,
    value_scale: Expr | None = None,
    query_weight: Expr | None = None,
    key_weight: Expr | None = None,
) -> Sequence[Expr]:
    """New keys and values are written to the cache after those of each sequence;
    `lasts` are the positions of the last ones. Where all keys are new, sequences start at 0."""
    _check_cache(node, key_scale, value_scale)
    heads, shared = node.required("num_heads"), node.required("kv_num_heads")
    if keys is None or values is None:
        width = node.static_extent(queries, 2, "how wide queries, keys and values are")
        each = width // (heads + 2 * shared)
        sizes = [each * heads, each * shared, each * shared]
        queries, keys, values = _parts(node, queries, sizes, 2)
    queries = split_heads(node, queries, heads)
    keys, values = (split_heads(node, one, shared) for one in (keys, values))
    if query_weight is not None and key_weight is not None:
        epsilon = {"axis": -1, "epsilon": node.attribute("qk_norm_epsilon", 1e-6)}
        queries, keys = (
            standard(node, "RMSNormalization", one, weight, attributes=epsilon, version=23)[0]
            for one, weight in ((queries, query_weight), (keys, key_weight))
        )
    before = _before(node, queries, lasts, longest)
    if node.attribute("do_rotary", 0):
        if cosines is None or sines is None:
            raise node.refused("there are no angles to turn by", "tables of cosines and sines")
        at = numbers
        if at is None:
            at = node.let(before + op.expand_dims(node.positions(queries, 2), 0))
        queries, keys = (_turned(node, one, cosines, sines, at) for one in (queries, keys))
    if past_keys is not None and past_values is not None:
        total = op.cast(op.reshape(longest, ()), "int64")
        length = node.let(op.maximum(total, node.size(past_keys, 2)))
        keys = _cached(node, past_keys, keys, before, length)
        values = _cached(node, past_values, values, before, length)
    found = Attention.of(node, queries, keys, values, softmax)
    found = _in_window(node, found, node.let(op.reshape(before, (-1, 1, 1, 1))))
    if more is not None:
        found = found.mask(more, pads=True)
    if node.attribute("smooth_softmax", 0) and sinks is None:
        sinks = node.let(op.zeros((heads,), node.dtype(queries)))
    result = found.run(node.attribute("scale"), node.attribute("softcap", 0.0), sinks=sinks)
    return [join_heads(node, result.value()), keys, values][: len(node.outputs)]


def _check_cache(node: Node, *scales: Expr | None) -> None:
    kinds = [node.attribute(f"{one}_quant_type", "NONE") for one in ("k", "v")]
    if any(one is not None for one in scales) or set(kinds) != {"NONE"}:
        raise node.refused("caches have numbers as they are", "NONE", ", ".join(kinds))
    if node.attribute("sliding_window_cache", 0):
        raise node.refused("caches have all keys", "sliding_window_cache = 0", "1")
    if len(node.outputs) > 3 and node.outputs[3]:
        raise node.refused("scores are not given out", "3 outputs at most", str(len(node.outputs)))


def _before(node: Node, queries: Expr, lasts: Expr, longest: Expr) -> Expr:
    """The number of past keys per sequence: (batch, 1)."""
    rows = node.size(queries, 2)
    total = op.cast(op.reshape(longest, ()), "int64")
    behind = op.cast(op.reshape(lasts, (-1, 1)), "int64") + int64(1)
    old = node.let(behind - rows)
    return node.let(op.where(op.equal(total, rows), op.zeros_like(old), old))


def _turned(node: Node, data: Expr, cosines: Expr, sines: Expr, at: Expr) -> Expr:
    angles = [node.let(op.take(one, op.cast(at, "int64"), axis=0)) for one in (cosines, sines)]
    half = node.static_extent(cosines, 1, "how many angles there are")
    interleaved = bool(node.attribute("rotary_interleaved", 0))
    return rotated(node, data, *angles, width=2 * half, interleaved=interleaved)


def _cached(node: Node, past: Expr, new: Expr, before: Expr, length: Expr) -> Expr:
    """The cache with the new entries: at position j the old one, or the new one of j - before."""
    batch, heads, _, width = node.shape(new)
    at = node.let(op.arange(length, dtype="int64"))
    count = length - node.size(past, 2)
    grown = op.reshape(op.stack([int64(0), count], axis=0), (1, 2))
    widths = op.concatenate([int64([[0, 0]] * 2), grown, int64([[0, 0]])], axis=0)
    declared = TensorType((batch, heads, node.shape(at)[0], width), node.dtype(new))
    old = node.let(op.nn.pad(past, node.let(widths), node.number(0, past)), declared=declared)
    place = node.let(op.expand_dims(at, 0) - before)
    zero = int64(0)
    last = node.size(new, 2) - int64(1)
    inside = node.let(op.minimum(op.maximum(place, zero), last))
    by_rows = node.let(op.transpose(new, (0, 2, 1, 3)))
    taken = op.transpose(op.take(by_rows, inside, axis=1, batch_dims=1), (0, 2, 1, 3))
    moved = node.let(taken, declared=declared)
    is_old, is_new = (
        node.let(op.expand_dims(op.expand_dims(one, 1), 3)) for one in (place < zero, place <= last)
    )
    # zeros after the new entries
    rest = op.where(is_new, moved, node.number(0, new))
    return node.let(op.where(is_old, old, rest), declared=declared)


def _in_window(node: Node, found: Attention, before: Expr) -> Attention:
    """The keys up to the query, in a local window."""
    if not node.attribute("causal", 1):
        end = before + node.size(found.queries, 2)
        return found.allow(found.columns() < end, blind=True)
    rows = node.let(found.rows() + before)
    found = found.allow(found.columns() <= rows, blind=False)
    window = node.attribute("local_window_size", -1)
    if window <= 0:
        return found
    first = rows - int64(window)
    return found.allow(found.columns() > first, blind=False)


# --- rotary embeddings -------------------------------------------------------------------------


@table("RotaryEmbedding")
def rotary_embedding(node: Node, data: Expr, numbers: Expr, cosines: Expr, sines: Expr) -> Expr:
    """As in the standard; a single position is that of the first row."""
    half = node.static_extent(cosines, 1, "how many angles there are")
    heads = node.attribute("num_heads", 0) if node.attribute("rotary_embedding_dim", 0) else 0
    if node.rank(data) == 3:
        heads = heads or node.static_extent(data, 2, "how wide all heads are") // (2 * half)
    if node.rank(numbers) == 1:
        numbers = node.let(op.expand_dims(numbers + node.positions(data, -2), 0))
    given, attributes = (data, cosines, sines, numbers), {**node.attributes, "num_heads": heads}
    (found,) = standard(node, "RotaryEmbedding", *given, attributes=attributes, version=23)
    scale = node.attribute("scale", 1.0)
    return found if scale == 1 else found * node.number(scale, found)
