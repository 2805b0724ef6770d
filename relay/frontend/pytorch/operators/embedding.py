"""Embeddings, and embedding bags (sums, means or maxima)."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from relay import op
from relay.frontend.common.broadcast import of_shape
from relay.frontend.common.builder import int64
from relay.frontend.common.checking import within
from relay.frontend.common.indices import in_range
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Size
from relay.frontend.pytorch.shapes import dimensions, to_shape
from relay.ir.expr import Expr

table = Converters()

SUM, MEAN, MAX = range(3)


@table("embedding")
def embedding(node: Node, weight: Expr, indices: Expr, *_: Any) -> Expr:
    return op.take(weight, in_range(node, indices, weight), axis=0)


@table("one_hot")
def one_hot(node: Node, self: Expr, num_classes: Size = -1) -> Expr:
    if isinstance(num_classes, int) and num_classes >= 0:
        message, most = "a class is out of range", num_classes - 1
        classes = within(node, self, 0, most, message, f"0 to {most}")
        return op.one_hot(classes, int64(1), int64(0), num_classes, -1, "int64")
    classes = within(node, self, 0, None, "a class is negative", "0 or more")
    if isinstance(num_classes, int):
        largest = node.let(op.max(op.reshape(classes, (-1,)), axis=(0,)))
        depth = node.let(largest + int64(1))
    else:
        depth = node.scalar(num_classes, "int64")
    found = op.dyn.one_hot(classes, int64(1), int64(0), depth, -1, "int64")
    return node.declare(found, (*node.shape(self), None), "int64")


@table("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(
    node: Node,
    weight: Expr,
    indices: Expr,
    offsets: Expr,
    scale_grad_by_freq: bool = False,
    mode: int = SUM,
    sparse: bool = False,
    per_sample_weights: Expr | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> list[Expr]:
    """The bags, the bag of each index, the size of each bag, and where maxima come from."""
    if include_last_offset:
        offsets = node.let(op.strided_slice(offsets, [0], [-1], axes=(0,)))
    starts = node.as_dtype(offsets, "int64")
    rows = node.let(op.take(weight, in_range(node, indices, weight), axis=0))
    if per_sample_weights is not None:
        shares = node.as_dtype(per_sample_weights, node.dtype(rows))
        rows = node.let(rows * op.expand_dims(shares, 1))
    keeps: Expr | None = None
    if padding_idx is not None and padding_idx != -1:
        row = node.let(int64(padding_idx))
        if padding_idx < 0:
            row = node.let(node.size(weight, 0) + row)
        keeps = node.let(op.not_equal(node.as_dtype(indices, "int64"), row))
        hidden = node.number(-inf if mode == MAX else 0, rows)
        rows = node.let(op.where(op.expand_dims(keeps, 1), rows, hidden))
    positions = node.positions(indices, 0)
    after = op.cast(op.searchsorted(starts, positions, right=True, dtype="int64"), "int64")
    bags = node.let(after - int64(1))
    ones = node.let(op.ones_like(positions) if keeps is None else op.cast(keeps, "int64"))
    counts = node.let(_added(node, node.let(op.zeros_like(starts)), bags, ones, "add"))
    found: Expr
    length = _even(node, starts, indices)
    if length is not None:
        shape = [*dimensions(node, starts), length, *dimensions(node, rows, 1)]
        apart = to_shape(node, rows, shape)
        found = op.max(apart, axis=(1,)) if mode == MAX else op.sum(apart, axis=(1,))
    else:
        begin = node.number(-inf if mode == MAX else 0, rows)
        shape = [*dimensions(node, starts), *dimensions(node, rows, 1)]
        empty = node.declare(
            op.broadcast_to(begin, node.sizes(shape)),
            [node.known(one) for one in shape],
            node.dtype(rows),
        )
        found = _added(node, empty, bags, rows, "max" if mode == MAX else "add")
    whole = node.let(found)
    if mode != SUM:
        column = node.let(op.expand_dims(counts, 1))
        if mode == MEAN:
            sizes = op.cast(op.maximum(column, int64(1)), node.dtype(whole))
            whole = node.let(op.divide(whole, sizes))
        else:
            whole = node.let(op.where(op.equal(column, int64(0)), node.number(0, whole), whole))
    return [whole, bags, counts, node.let(op.zeros_like(counts))]


def _added(node: Node, begin: Expr, bags: Expr, rows: Expr, mode: str) -> Expr:
    """Rows reduced by bag."""
    rows = of_shape(node, rows, (node.shape(bags)[0], *node.shape(rows)[1:]))
    return op.scatter_nd(begin, op.expand_dims(bags, 0), rows, mode=mode)


def _even(node: Node, starts: Expr, indices: Expr) -> int | None:
    """The size of all bags, where it is known and the same."""
    known, total = node.constant(starts), node.shape(indices)[0]
    if known is None or not isinstance(total, int) or not len(known) or total % len(known):
        return None
    length = total // len(known)
    return length if length and np.array_equal(known, np.arange(len(known)) * length) else None
