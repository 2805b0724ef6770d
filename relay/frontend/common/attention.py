"""Attention: `softmax(scale * queries @ keys' + bias) @ values` for every head.

Several heads of queries may share one of keys and values. Their queries are then rows of one
matrix, so that keys and values are not copied:

    queries (batch, heads * group, rows, n)  ->  (batch * heads, group * rows, n)
    keys    (batch, heads, length, n)        ->  (batch * heads, length, n)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from relay import dtypes, op
from relay.frontend.common.broadcast import broadcastable, of_shape
from relay.frontend.common.builder import Builder, int64, static
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.expr import Expr, Tuple
from relay.ir.types import TensorType

# (node, data, axis) -> softmax along the axis
Softmax = Callable[[Builder, Expr, int], Expr]


def plain_softmax(node: Builder, data: Expr, axis: int) -> Expr:
    return op.nn.softmax(data, axis=axis)


def split_heads(node: Builder, data: Expr, heads: int) -> Expr:
    """(batch, rows, heads * n) to (batch, heads, rows, n)."""
    width = node.shape(data)[2]
    if heads <= 0 or (isinstance(width, int) and width % heads):
        raise node.refused("the last axis is not shared evenly by heads", f"{heads}", str(width))
    apart = op.reshape(data, (0, 0, -4, heads, -1))
    return node.let(op.transpose(apart, (0, 2, 1, 3)))


def join_heads(node: Builder, data: Expr) -> Expr:
    """(batch, heads, rows, n) to (batch, rows, heads * n)."""
    return node.let(op.reshape(op.transpose(data, (0, 2, 1, 3)), (0, 0, -3)))


def with_past(node: Builder, past: Expr | None, data: Expr) -> Expr:
    """Keys or values concatenated to those of the past."""
    if past is None:
        return data
    batch, heads, _, width = node.shape(data)
    past = of_shape(node, past, (batch, heads, node.shape(past)[2], width))
    return node.let(op.concatenate([past, data], axis=2))


def stretched(node: Builder, data: Expr, wanted: Sequence[int | tuple[Expr, int]]) -> Expr:
    """Data broadcast to static extents, or to those of tensors at axes."""
    shape = tuple(one if isinstance(one, int) else node.shape(one[0])[one[1]] for one in wanted)
    if shape == node.shape(data):
        return data
    if (numbers := static(shape)) is not None:
        return node.let(op.broadcast_to(data, numbers))
    sizes = [int64(one) if isinstance(one, int) else node.size(*one) for one in wanted]
    found = op.broadcast_to(data, op.stack(Tuple(tuple(sizes)), 0))
    return node.declare(found, shape, node.dtype(data))


@frozen
class Attention:
    """Queries, keys and values of heads, (batch, heads, rows or length, n), and their masks."""

    node: Builder
    queries: Expr
    keys: Expr
    values: Expr
    heads: int  # of keys and values
    group: int  # heads of queries per head of keys
    # the mask, and the bias of the scores: (batch, heads, group * rows, length), or 1
    allowed: Expr | None = None
    bias: Expr | None = None
    may_be_blind: bool = False  # a query may have no visible key
    softmax: Softmax = plain_softmax

    @classmethod
    def of(
        cls,
        node: Builder,
        queries: Expr,
        keys: Expr,
        values: Expr,
        softmax: Softmax = plain_softmax,
    ) -> Attention:
        """Attention of tensors of rank 4, whose shapes are checked."""
        batch, count, _, width = node.shape(queries)
        _, heads, length, _ = node.shape(keys)
        if not isinstance(count, int) or not isinstance(heads, int):
            message = "how many heads there are must be known before the model runs"
            found = f"{node.type_of(queries)} and {node.type_of(keys)}"
            raise node.refused(message, found=found, hint=node.give_sizes)
        if heads <= 0 or count % heads:
            message = "the heads of queries do not share those of keys evenly"
            raise node.refused(message, f"a multiple of {heads}", str(count))
        keys = of_shape(node, keys, (batch, heads, length, width))
        values = of_shape(node, values, (batch, heads, length, node.shape(values)[3]))
        return cls(node, queries, keys, values, heads, count // heads, softmax=softmax)

    # --- rows of matrices

    def folded(self, data: Expr) -> Expr:
        """(batch, heads * group, rows, n) to (batch * heads, group * rows, n)."""
        if self.group == 1:
            return op.reshape(data, (-3, 0, 0))
        apart = op.reshape(data, (0, -4, self.heads, self.group, 0, 0))
        return op.reshape(apart, (-3, -3, 0))

    def unfolded(self, data: Expr) -> Expr:
        """(batch * heads, group * rows, n) to (batch, heads * group, rows, n)."""
        data = self._flat(data)
        if self.group == 1:
            return self.node.let(op.reshape(data, (-4, -1, self.heads, 0, 0)))
        apart = op.reshape(data, (-4, -1, self.heads, -4, self.group, -1, 0))
        return self.node.let(op.reshape(apart, (0, -3, 0, 0)))

    def _flat(self, data: Expr) -> Expr:
        """(batch, heads, group * rows, n) to (batch * heads, group * rows, n)."""
        return op.reshape(data, (-3, 0, 0)) if self.node.rank(data) == 4 else data

    # --- masks

    def rows(self) -> Expr:
        """The positions of queries: (1, 1, group * rows, 1)."""
        numbers = self.node.positions(self.queries, 2)
        if self.group > 1:
            numbers = op.tile(numbers, (self.group,))
        return self.node.let(op.reshape(numbers, (1, 1, -1, 1)))

    def columns(self) -> Expr:
        """The positions of keys: (1, 1, 1, length)."""
        return self.node.let(op.reshape(self.node.positions(self.keys, 2), (1, 1, 1, -1)))

    def allow(self, seen: Expr, *, blind: bool) -> Attention:
        """With a boolean mask; `blind`: queries may have no visible key."""
        both = seen if self.allowed is None else op.logical_and(self.allowed, seen)
        blind = blind or self.may_be_blind
        return replace(self, allowed=self.node.let(both), may_be_blind=blind)

    def add(self, bias: Expr) -> Attention:
        """With a bias added to the scores."""
        both = bias if self.bias is None else self.bias + bias
        return replace(self, bias=self.node.let(both))

    def mask(self, mask: Expr, *, pads: bool, blind: bool = True) -> Attention:
        """With a mask that broadcasts to (batch, heads * group, rows, length), boolean or a bias;
        `pads`: a shorter mask hides the last keys; `blind`: queries may have no visible key."""
        node = self.node
        if node.rank(mask) > 4:
            raise node.refused("the mask has too many axes", "4", str(node.type_of(mask)))
        if node.rank(mask) == 0:
            mask = node.let(op.reshape(mask, (1,)))
        is_truth = node.dtype(mask) == "bool"
        if not is_truth:
            mask = node.let(op.cast(mask, node.dtype(self.queries)))
        if pads:
            mask = self._padded(mask)
        for _ in range(4 - node.rank(mask)):
            mask = node.let(op.expand_dims(mask, 0))
        mask = self._by_rows(mask)
        if is_truth:
            return self.allow(mask, blind=blind)
        return replace(self.add(mask), may_be_blind=blind or self.may_be_blind)

    def _padded(self, mask: Expr) -> Expr:
        """A mask padded to the length of the keys."""
        node = self.node
        own, length = node.shape(mask)[-1], node.shape(self.keys)[2]
        if dims.equal(own, length) is True:
            return mask
        filling = node.number(False if node.dtype(mask) == "bool" else -math.inf, mask)
        before = [(0, 0)] * (node.rank(mask) - 1)
        if isinstance(own, int) and isinstance(length, int):
            if own > length:
                raise node.refused("the mask is longer than the keys", str(length), str(own))
            return node.let(op.nn.pad(mask, [*before, (0, length - own)], filling))
        missing = node.size(self.keys, 2) - node.size(mask, -1)
        widths = op.reshape(op.stack([int64(0), missing], axis=0), (1, 2))
        if before:
            widths = op.concatenate([int64(before), widths], axis=0)
        declared = TensorType((*node.shape(mask)[:-1], length), node.dtype(mask))
        return node.let(op.nn.pad(mask, node.let(widths), filling), declared=declared)

    def _by_rows(self, mask: Expr) -> Expr:
        """(…, heads * group or 1, rows or 1, …) to (…, heads or 1, group * rows or 1, …)."""
        node, group = self.node, self.group
        _, heads, rows, _ = node.shape(mask)
        if group == 1 or (heads == 1 and rows == 1):
            return mask
        if heads == 1:
            apart = node.let(op.expand_dims(mask, 2))
        else:
            if not isinstance(heads, int):
                whole = ((mask, 0), self.heads * group, (mask, 2), (mask, 3))
                mask = stretched(node, mask, whole)
            apart = node.let(op.reshape(mask, (0, -4, self.heads, group, 0, 0)))
        shape = ((apart, 0), (apart, 1), group, (self.queries, 2), (apart, 4))
        return node.let(op.reshape(stretched(node, apart, shape), (0, 0, -3, 0)))

    # --- the computation

    def run(
        self,
        scale: float | None = None,
        softcap: float = 0.0,
        precision: str = "",
        sinks: Expr | None = None,
    ) -> AttentionResult:
        """Attention under the masks; `sinks` are scores of a key without a value, one per head of
        queries."""
        node = self.node
        dtype = node.dtype(self.queries)
        precision = precision or dtype
        products = node.let(self.scores(scale))
        capped = products
        if softcap:
            limit = node.number(softcap, products)
            capped = node.let(op.tanh(products / limit) * limit)
        scores = self._masked(capped)
        wide = scores if precision == dtype else op.cast(scores, precision)
        parts = self._softmax(wide, sinks)
        parts = node.let(parts if precision == dtype else op.cast(parts, dtype))
        seen = self._seen()
        found = node.let(self.weighted(parts))
        if seen is not None:
            # softmax of a query without visible keys is NaN
            found = self.or_zero(seen, found)
        return AttentionResult(self, found, (products, capped, scores), parts, seen)

    def _softmax(self, scores: Expr, sinks: Expr | None) -> Expr:
        """Softmax of scores."""
        if sinks is None:
            return self.softmax(self.node, self.node.let(scores), -1)
        node = self.node
        scores = node.let(scores)
        if node.rank(scores) == 3:
            scores = node.let(op.reshape(scores, (-4, -1, self.heads, 0, 0)))
        apart = node.let(op.reshape(sinks, (1, self.heads, self.group, 1, 1)))
        shape = (1, self.heads, self.group, (self.queries, 2), 1)
        rows = node.let(op.reshape(stretched(node, apart, shape), (0, 0, -3, 0)))
        first = op.strided_slice(scores, (0,), (1,), axes=(3,))
        column = op.zeros_like(first) + op.cast(rows, node.dtype(scores))
        both = op.nn.softmax(op.concatenate([node.let(column), scores], axis=3), axis=-1)
        end = 2**31 - 1
        found = op.strided_slice(node.let(both), (1,), (end,), axes=(3,))
        return node.let(found, declared=node.type_of(scores))

    def scores(self, scale: float | None = None) -> Expr:
        """The scaled products of queries and keys: (batch * heads, group * rows, length)."""
        node = self.node
        queries, keys = self.queries, self.keys
        if scale is None:
            scale = self._usual_scale()
        if dtypes.bits(node.dtype(queries)) < 32 and scale > 0:
            # its root for each factor, so that no product overflows
            root = node.number(math.sqrt(scale), queries)
            queries, keys = queries * root, keys * root
        elif scale != 1:
            queries = queries * node.number(scale, queries)
        right = op.reshape(keys, (-3, 0, 0))
        return op.nn.batch_matmul(self.folded(queries), right, transpose_b=True)

    def _usual_scale(self) -> float:
        width = self.node.static_extent(self.queries, 3, "how wide a head is")
        return 1 / math.sqrt(width) if width else 1.0

    def weighted(self, parts: Expr) -> Expr:
        """The values weighted by softmax: (batch * heads, group * rows, n)."""
        values = op.reshape(self.values, (-3, 0, 0))
        return op.nn.batch_matmul(self._flat(parts), values, transpose_b=False)

    def _masked(self, scores: Expr) -> Expr:
        lowest = self.node.number(-math.inf, scores)
        if self.bias is not None:
            scores = self._combined(op.add, scores, self.bias)
        if self.allowed is not None:
            scores = self._combined(lambda s, m: op.where(m, s, lowest), scores, self.allowed)
        return scores

    def or_zero(self, seen: Expr, data: Expr) -> Expr:
        """Rows with a visible key, and zeros elsewhere."""
        zero = self.node.number(0, data)
        return self._combined(lambda d, m: op.where(m, d, zero), data, seen)

    def _combined(self, by: Callable[[Expr, Expr], Expr], data: Expr, mask: Expr) -> Expr:
        """Scores or rows combined with a mask, with its axes where it differs by heads."""
        node = self.node
        if node.shape(mask)[:2] == (1, 1):
            mask = node.let(op.squeeze(mask, (0, 1)))
        elif node.rank(data) == 3:
            data = node.let(op.reshape(data, (-4, -1, self.heads, 0, 0)))
        left, right = broadcastable(node, data, mask)
        return node.let(by(left, right), declared=node.type_of(data) if left is not data else None)

    def _seen(self) -> Expr | None:
        """Which queries have a visible key; None where all have."""
        if not self.may_be_blind:
            return None
        node = self.node
        if self.bias is None:
            assert self.allowed is not None
            seen = node.let(op.any(self.allowed, axis=-1, keepdims=True))
        else:
            lowest = node.number(-math.inf, self.bias)
            bias = self.bias if self.allowed is None else op.where(self.allowed, self.bias, lowest)
            seen = node.let(op.not_equal(op.max(bias, axis=-1, keepdims=True), lowest))
        known = node.constant(seen)
        return None if known is not None and known.all() else seen


@frozen
class AttentionResult:
    """The result of attention, with intermediate values."""

    attention: Attention
    found: Expr  # (batch * heads, group * rows, n)
    stages: tuple[Expr, ...]  # the scores, capped, masked
    probabilities: Expr  # after softmax
    seen: Expr | None

    def value(self) -> Expr:
        """(batch, heads * group, rows, n)"""
        return self.attention.unfolded(self.found)

    def stage(self, number: int) -> Expr:
        """One of the stages, or 3 for softmax: (batch, heads * group, rows, length)."""
        if number < len(self.stages):
            return self.attention.unfolded(self.stages[number])
        found = self.probabilities
        if self.seen is not None:
            found = self.attention.or_zero(self.seen, found)
        return self.attention.unfolded(found)
