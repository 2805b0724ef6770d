"""Attention: of given queries, keys and values, and of heads with projections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from relay import op
from relay.frontend.common import attention as common
from relay.frontend.common.builder import int64, static
from relay.frontend.keras.converters import Table
from relay.frontend.keras.layers.activation import pushed_down
from relay.frontend.keras.layers.core import as_before, product
from relay.frontend.keras.node import Node
from relay.frontend.keras.slots import Slot, Variables
from relay.ir.expr import Expr

table = Table()


@table("Attention", variables=lambda config: _dot_slots(config))
def attention(node: Node, inputs: Any, mask: Any = None, **more: Any) -> Any:
    """Softmax of scores of keys (batch, length, n) for queries (batch, rows, n)."""
    queries, values, keys = _given(node, inputs)
    if node.option("score_mode", "dot") == "concat":
        sums = node.let(op.expand_dims(queries, 2) + op.expand_dims(keys, 1))
        scale = node.weight("scale")
        if scale is not None:
            sums = node.let(scale * sums)
        scores: Expr = op.sum(op.tanh(sums), axis=(-1,))
        scores = scores * node.needed("concat_score_weight")
    else:
        scores = op.nn.batch_matmul(queries, keys, transpose_b=True)
        if (scale := node.weight("scale")) is not None:
            scores = scores * scale
    return _applied(node, node.let(scores), queries, values, inputs, mask, **more)


def _dot_slots(config: Mapping[str, Any]) -> Sequence[Slot]:
    found = (Slot("scale"),) if config.get("use_scale") else ()
    if config.get("score_mode", "dot") == "concat":
        return (*found, Slot("concat_score_weight"))
    return found


@table("AdditiveAttention", variables=lambda config: (
    (Slot("scale"),) if config.get("use_scale", True) else ()
))  # fmt: skip
def additive_attention(node: Node, inputs: Any, mask: Any = None, **more: Any) -> Any:
    queries, values, keys = _given(node, inputs)
    sums = node.let(op.tanh(op.expand_dims(queries, 2) + op.expand_dims(keys, 1)))
    scale = node.weight("scale")
    scores = op.sum(sums if scale is None else sums * scale, axis=(-1,))
    return _applied(node, node.let(scores), queries, values, inputs, mask, **more)


def _given(node: Node, inputs: Any) -> tuple[Expr, Expr, Expr]:
    if not isinstance(inputs, list) or len(inputs) not in (2, 3):
        raise node.refused("it takes a list of queries, values and perhaps keys")
    return inputs[0], inputs[1], inputs[-1] if len(inputs) == 3 else inputs[1]


def _applied(
    node: Node,
    scores: Expr,
    queries: Expr,
    values: Expr,
    inputs: Sequence[Expr],
    mask: Any,
    return_attention_scores: bool = False,
    use_causal_mask: bool = False,
    **_: Any,
) -> Any:
    """Values weighted by softmax of masked scores."""
    masks = mask if isinstance(mask, list) else [node.mask(one) for one in inputs]
    of_queries, of_values = (masks[place] if place < len(masks) else None for place in (0, 1))
    seen = None if of_values is None else node.let(op.expand_dims(of_values, -2))
    if use_causal_mask:
        rows, columns = (node.positions(scores, axis) for axis in (-2, -1))
        causal = node.let(op.greater_equal(op.expand_dims(rows, 1), columns))
        causal = node.let(op.expand_dims(causal, 0))
        seen = causal if seen is None else node.let(op.logical_and(seen, causal))
    if seen is not None:
        hidden = op.cast(op.logical_not(seen), node.dtype(scores))
        most = 65504.0 if node.dtype(scores) == "float16" else 1e9
        scores = node.let(scores - hidden * node.number(most, scores))
    weights = node.let(op.nn.softmax(scores, axis=-1))
    found = node.let(op.nn.batch_matmul(weights, values, transpose_b=False))
    if of_queries is not None:
        found = node.let(op.where(op.expand_dims(of_queries, -1), found, node.number(0, found)))
    found = node.with_mask(found, of_queries)
    return [found, weights] if return_attention_scores else found


# --- heads ---------------------------------------------------------------------------------------


# the layers of projections, in the order in which they are built, as files call them
_HEADS = {"query": "query_dense", "key": "key_dense", "gate": "_gate_dense",
          "value": "value_dense", "output": "output_dense"}  # fmt: skip
_GROUPS = {name: f"_{attribute.strip('_')}" for name, attribute in _HEADS.items()}


def _projections(attributes: Mapping[str, str]) -> Variables:
    def slots(config: Mapping[str, Any]) -> Sequence[Slot]:
        kinds = ("kernel", "bias") if config.get("use_bias", True) else ("kernel",)
        return [
            Slot(f"{name}/{kind}", (attribute,))
            for name, attribute in attributes.items()
            if name != "gate" or config.get("use_gate")
            for kind in kinds
        ]

    return slots


@table("MultiHeadAttention", variables=_projections(_HEADS))
@table("GroupQueryAttention", "GroupedQueryAttention", variables=_projections(_GROUPS))
def multi_head(
    node: Node,
    query: Expr,
    value: Expr,
    key: Expr | None = None,
    query_mask: Expr | None = None,
    value_mask: Expr | None = None,
    key_mask: Expr | None = None,
    attention_mask: Expr | None = None,
    return_attention_scores: bool = False,
    use_causal_mask: bool = False,
    **_: Any,
) -> Any:
    """Multi-head attention along one axis or several, with an output projection."""
    own_mask = query_mask if query_mask is not None else node.mask(query)
    masks = [own_mask, value_mask if value_mask is not None else node.mask(value)]
    if key is not None and key is not value:
        masks.append(key_mask if key_mask is not None else node.mask(key))
    else:
        masks.append(None)
    key = value if key is None else key
    axes = _attention_axes(node, query)
    before = query
    query, order, extents = _folded(node, query, axes)
    value, key = (_folded(node, one, axes)[0] for one in (value, key))
    q, k, v = (_projected(node, one, name) for one, name in
               ((query, "query"), (key, "key"), (value, "value")))  # fmt: skip
    heads = [node.let(op.transpose(one, (0, 2, 1, 3))) for one in (q, k, v)]
    run = common.Attention.of(node, heads[0], heads[1], heads[2])
    seen = _seen(node, query, value, masks, use_causal_mask, attention_mask)
    if seen is not None:
        run = run.mask(node.let(pushed_down(node, seen, heads[0])), pads=False, blind=False)
    width = node.static_extent(heads[0], 3, "how wide a head is")
    result = run.run(scale=1 / float(node.option("key_dim", node.option("head_dim", width))) ** 0.5)
    joined = node.let(op.transpose(result.value(), (0, 2, 1, 3)))
    if node.option("use_gate", False):
        joined = node.let(joined * op.sigmoid(_projected(node, query, "gate")))
    rows = node.let(op.reshape(joined, (0, 0, -3)))
    kernel = node.needed("output/kernel")
    shape = node.static_shape(kernel, "the kernel of the output")
    flat = node.let(op.reshape(kernel, (prod(shape[:2]), -1)))
    found = product(node, rows, flat)
    if len(shape) > 3:
        found = node.let(as_before(node, found, rows, shape[2:]))
    bias = node.weight("output/bias")
    found = found if bias is None else node.let(found + bias)
    found = node.with_mask(_unfolded(node, found, before, order, extents), own_mask)
    if not return_attention_scores:
        return found
    return [found, result.stage(3)]


def _attention_axes(node: Node, query: Expr) -> list[int]:
    rank = node.rank(query)
    given: Any = node.config.get("attention_axes")
    if given is None:
        return [*range(1, rank - 1)]
    given = given if isinstance(given, list | tuple) else [given]
    return node.axes_of(given, rank, distinct=True)


def _folded(
    node: Node, data: Expr, axes: Sequence[int]
) -> tuple[Expr, Sequence[int] | None, Sequence[int]]:
    """(batch…, attended…, n) to (batch, attended, n); the order of axes and their extents."""
    rank = node.rank(data)
    if list(axes) == [1] and rank == 3:
        return data, None, ()
    others = [axis for axis in range(1, rank - 1) if axis not in axes]
    order = (0, *others, *axes, rank - 1)
    extents = static([node.shape(data)[axis] for axis in (*others, *axes)])
    if extents is None:
        raise node.refused(
            "the sizes of all axes but the batch must be known", hint=node.give_sizes
        )
    moved = node.let(op.transpose(data, order))
    for _ in others:
        moved = node.let(op.reshape(moved, (-3, *[0] * (node.rank(moved) - 2))))
    for _ in axes[1:]:
        moved = node.let(op.reshape(moved, (0, -3, *[0] * (node.rank(moved) - 3))))
    return moved, order, extents


def _unfolded(
    node: Node, data: Expr, like: Expr, order: Sequence[int] | None, extents: Sequence[int]
) -> Expr:
    """The reverse of `_folded`."""
    if order is None:
        return data
    width = node.static_extent(data, -1, "the width of the result")
    apart = node.let(op.reshape(data, (-1, *extents, width)))
    back = sorted(range(len(order)), key=lambda place: order[place])
    return node.let(op.transpose(apart, tuple(back)))


def _projected(node: Node, data: Expr, name: str) -> Expr:
    """(batch, rows, n) to (batch, rows, heads, width)."""
    kernel, bias = node.needed(f"{name}/kernel"), node.weight(f"{name}/bias")
    width, heads, each = node.static_shape(kernel, "the kernel")
    found = product(node, data, node.let(op.reshape(kernel, (width, heads * each))))
    apart = node.let(op.reshape(found, (0, 0, -4, heads, each)))
    return apart if bias is None else node.let(apart + bias)


def _seen(
    node: Node,
    query: Expr,
    value: Expr,
    masks: Sequence[Expr | None],
    causal: bool,
    given: Expr | None,
) -> Expr | None:
    """Which keys a query sees: (batch, 1 or heads, rows, length)."""
    found: list[Expr] = []
    for mask, axis in zip(masks, (-1, -2, -2), strict=True):
        if mask is not None:
            found.append(op.expand_dims(node.as_dtype(mask, "bool"), axis))
    window = node.config.get("sliding_window")
    if causal or window is not None:
        rows = op.expand_dims(node.positions(query, 1), 1)
        columns = op.expand_dims(node.positions(value, 1), 0)
        if causal:
            found.append(op.expand_dims(op.greater_equal(rows, columns), 0))
        if window is not None:
            near = op.less(op.abs(rows - columns), int64(int(window)))
            found.append(op.expand_dims(near, 0))
    if given is not None:
        found.append(node.as_dtype(given, "bool"))
    whole: Expr | None = None
    for one in found:
        own = node.let(one)
        if node.rank(own) == 3:
            own = node.let(op.expand_dims(own, 1))
        whole = own if whole is None else node.let(op.logical_and(whole, own))
    return whole
