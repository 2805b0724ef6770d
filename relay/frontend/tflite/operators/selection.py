"""Selection, search and scatter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.indices import in_range
from relay.frontend.common.segments import MODES, segments_of
from relay.frontend.common.slices import updated
from relay.frontend.common.suppression import suppressed
from relay.frontend.tflite.converters import Table
from relay.frontend.tflite.node import Node
from relay.ir.expr import Expr, as_expr, const

table = Table()


@table.moving("TOPK_V2")
def topk(node: Node, data: Expr, count: Expr) -> list[Expr]:
    (number,) = node.numbers(count, "how many elements are wanted")
    if number < 1:
        raise node.refused("there is one element at least", "1 or more", str(number))
    found = op.topk(data, k=number, axis=-1, ret_type="both", dtype=node.result_type(1))
    return node.fields(as_expr(found), 2)


@table("ONE_HOT")
def one_hot(node: Node, positions: Expr, depth: Expr, on: Expr, off: Expr) -> Expr:
    (number,) = node.numbers(depth, "how many positions there are")
    high, low = (node.let(op.reshape(one, ())) for one in (on, off))
    axis = node.option("axis", -1)
    return op.one_hot(positions, high, low, number, axis=axis, dtype=node.result_type())


@table("WHERE")
def where(node: Node, condition: Expr) -> Expr:
    return node.as_dtype(node.let(op.argwhere(condition)), node.result_type())


@table("SCATTER_ND")
def scatter_nd(node: Node, positions: Expr, updates: Expr, shape: Expr) -> Expr:
    """SCATTER_ND: updates of the same element are added."""
    whole = node.filled(node.number(0, updates), shape)
    return op.scatter_nd(whole, _by_axis(node, positions), updates, mode="add")


def _by_axis(node: Node, positions: Expr) -> Expr:
    """Indices with their last axis, which runs over the axes of data, moved to the front."""
    last = node.rank(positions) - 1
    return node.let(op.transpose(positions, (last, *range(last))))


@table("SPARSE_TO_DENSE")
def sparse_to_dense(node: Node, positions: Expr, shape: Expr, values: Expr, default: Expr) -> Expr:
    numbers = [int(one) for one in node.numbers(shape, "the shape")]
    fill = node.let(op.reshape(default, ()))
    if node.rank(positions) == 0:
        positions = node.let(op.reshape(positions, (1, 1)))
    elif node.rank(positions) == 1:
        positions = node.let(op.expand_dims(positions, 1))
    return op.sparse_to_dense(positions, numbers, values, fill)


@table("EMBEDDING_LOOKUP")
def embedding_lookup(node: Node, positions: Expr, rows: Expr) -> Expr:
    rows = node.real(rows, 1) if node.result_affine() is None else rows
    return op.take(rows, in_range(node, positions, rows), axis=0)


@table(*(f"UNSORTED_SEGMENT_{name}" for name in MODES))
def unsorted_segment(node: Node, data: Expr, segments: Expr, count: Expr) -> Expr:
    """UNSORTED_SEGMENT reductions; rows with a negative segment are dropped."""
    (number,) = node.numbers(count, "how many segments there are")
    return segments_of(
        node, data, segments, node.let(int64([number])), node.operator.rpartition("_")[2]
    )


@table("SEGMENT_SUM")
def segment_sum(node: Node, data: Expr, segments: Expr) -> Expr:
    """Segments are in order: the last one says how many there are."""
    most = op.max(op.concatenate([int64([-1]), op.cast(segments, "int64")], axis=0), axis=0)
    return segments_of(node, data, segments, node.let(op.reshape(most + int64(1), (1,))), "SUM")


@table.moving("DYNAMIC_UPDATE_SLICE")
def dynamic_update_slice(node: Node, data: Expr, update: Expr, start: Expr) -> Expr:
    return updated(node, data, update, start)


@table.moving("REVERSE_SEQUENCE")
def reverse_sequence(node: Node, data: Expr, lengths: Expr) -> Expr:
    axes = (node.option("seq_dim", 0), node.option("batch_dim", 0))
    return op.reverse_sequence(data, lengths, seq_axis=axes[0], batch_axis=axes[1])


@table("MATRIX_DIAG")
def matrix_diag(node: Node, diagonal: Expr) -> Expr:
    shape = node.static_shape(diagonal, "diagonals")
    empty = node.let(op.zeros((*shape, shape[-1]), node.dtype(diagonal)))
    return op.matrix_set_diag(empty, diagonal)


@table("MATRIX_SET_DIAG")
def matrix_set_diag(node: Node, data: Expr, diagonal: Expr) -> Expr:
    return op.matrix_set_diag(data, diagonal)


@table("BUCKETIZE")
def bucketize(node: Node, data: Expr) -> Expr:
    bounds = const(np.array(node.option("boundaries", []), "float32"), "float32")
    return op.searchsorted(bounds, node.as_dtype(data, "float32"), right=True, dtype="int32")


@table("UNIQUE")
def unique(node: Node, data: Expr) -> Sequence[Expr]:
    """Values in the order in which they appear first, and where each element is among them."""
    values, _, inverse, count = node.fields(op.unique(data, is_sorted=False).astuple(), 4)
    last = node.let(op.reshape(op.cast(count, "int64"), (1,)))
    kept = op.strided_slice(values, int64([0]), last, axes=(0,))
    return [
        node.declare(kept, (None,), node.dtype(data)),
        op.cast(inverse, node.result_type(1)),
    ]


@table("DILATE")
def dilate(node: Node, data: Expr, steps: Expr, value: Expr) -> Expr:
    (filling,) = node.numbers(value, "the value between elements")
    return op.nn.dilate(data, tuple(node.numbers(steps, "the steps")), filling)


@table("NON_MAX_SUPPRESSION_V4")
def non_max_suppression(
    node: Node, boxes: Expr, scores: Expr, most: Expr, overlap: Expr, least: Expr
) -> Sequence[Expr]:
    chosen, count, _ = suppressed(node, boxes, scores, most, overlap, least)
    return [chosen, count]


@table("NON_MAX_SUPPRESSION_V5")
def non_max_suppression_with_scores(
    node: Node, boxes: Expr, scores: Expr, most: Expr, overlap: Expr, least: Expr, sigma: Expr
) -> Sequence[Expr]:
    if any(node.numbers(sigma, "`soft_nms_sigma`")):
        raise node.refused("scores that overlap lowers are not translated", "a sigma of 0")
    chosen, count, kept = suppressed(node, boxes, scores, most, overlap, least)
    values = op.take(scores, chosen, axis=0)
    return [chosen, op.where(kept, values, node.number(0, scores)), count]
