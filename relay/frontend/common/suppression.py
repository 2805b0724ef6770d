"""Boxes of one class that do not overlap better ones."""

from __future__ import annotations

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.known_elements import SizedBuilder
from relay.ir.expr import Expr, const


def chosen_boxes(
    node: SizedBuilder, boxes: Expr, scores: Expr, most: Expr, overlap: Expr, least: Expr
) -> tuple[Expr, Expr]:
    """The numbers of chosen boxes, with others behind them, and how many are chosen."""
    limits_of = [node.let(op.reshape(one, ())) for one in (overlap, least)]
    found = op.vision.all_class_non_max_suppression(
        op.expand_dims(boxes, 0),
        op.expand_dims(scores, 0, num_newaxis=2),
        node.let(op.reshape(op.cast(most, "int64"), ())),
        *limits_of,
    )
    rows, total = node.fields(found.astuple(), 2)
    column = node.let(op.cast(op.take(rows, int64(2), axis=1), "int32"))
    return column, node.let(op.cast(op.reshape(total, ()), "int32"))


def suppressed(
    node: SizedBuilder, boxes: Expr, scores: Expr, most: Expr, overlap: Expr, least: Expr
) -> tuple[Expr, Expr, Expr]:
    """Chosen boxes, their number, and which of a row of `most` are chosen; the others are 0."""
    (number,) = node.numbers(most, "how many boxes are wanted")
    column, count = chosen_boxes(node, boxes, scores, most, overlap, least)
    padded = op.concatenate([column, op.zeros((number,), "int32")], axis=0)
    first = node.let(op.strided_slice(node.let(padded), [0], [number]))
    kept = node.let(op.arange(const(number, "int32"), dtype="int32") < count)
    return node.let(op.where(kept, first, const(0, "int32"))), count, kept
