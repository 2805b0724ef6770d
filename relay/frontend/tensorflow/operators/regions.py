"""Non-maximum suppression."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.suppression import chosen_boxes, suppressed
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.ir.expr import Expr, const

table = Table()


@table("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3")
def non_max_suppression(node: Node, boxes: Expr, scores: Expr, most: Expr, *rest: Expr) -> Expr:
    """NonMaxSuppression: the selected indices, without padding."""
    overlap = rest[0] if rest else const(node.real("iou_threshold", 0.5), "float32")
    least = rest[1] if len(rest) > 1 else const(float("-inf"), "float32")
    floats = _floats(node, boxes, scores)
    chosen, count = chosen_boxes(node, *floats, most, *_thresholds(node, overlap, least))
    return _first(node, chosen, count)


def _floats(node: Node, boxes: Expr, scores: Expr) -> tuple[Expr, Expr]:
    return node.as_dtype(boxes, "float32"), node.as_dtype(scores, "float32")


def _thresholds(node: Node, overlap: Expr, least: Expr) -> tuple[Expr, Expr]:
    return node.as_dtype(overlap, "float32"), node.as_dtype(least, "float32")


def _first(node: Node, values: Expr, count: Expr) -> Expr:
    """The first elements."""
    end = node.let(op.reshape(op.cast(count, "int64"), (1,)))
    values = node.let(values)
    kept = op.strided_slice(values, int64([0]), end, axes=(0,))
    return node.declare(kept, (None,), node.dtype(values))


@table("NonMaxSuppressionV4")
def non_max_suppression_v4(
    node: Node, boxes: Expr, scores: Expr, most: Expr, overlap: Expr, least: Expr
) -> Sequence[Expr]:
    floats, limits = _floats(node, boxes, scores), _thresholds(node, overlap, least)
    if node.flag("pad_to_max_output_size"):
        chosen, count, _ = suppressed(node, *floats, most, *limits)
        return [chosen, count]
    chosen, count = chosen_boxes(node, *floats, most, *limits)
    return [_first(node, chosen, count), count]


@table("NonMaxSuppressionV5")
def non_max_suppression_v5(
    node: Node, boxes: Expr, scores: Expr, most: Expr, overlap: Expr, least: Expr, sigma: Expr
) -> Sequence[Expr]:
    if any(node.numbers(sigma, "`soft_nms_sigma`")):
        raise node.refused("scores that overlap lowers are not translated", "a sigma of 0")
    floats, limits = _floats(node, boxes, scores), _thresholds(node, overlap, least)
    if node.flag("pad_to_max_output_size"):
        chosen, count, kept = suppressed(node, *floats, most, *limits)
        values = op.where(kept, op.take(scores, chosen, axis=0), node.number(0, scores))
        return [chosen, values, count]
    column, count = chosen_boxes(node, *floats, most, *limits)
    chosen = _first(node, column, count)
    return [chosen, op.take(scores, chosen, axis=0), count]


@table("CombinedNonMaxSuppression")
def combined_non_max_suppression(
    node: Node,
    boxes: Expr,
    scores: Expr,
    most_of_class: Expr,
    most: Expr,
    overlap: Expr,
    least: Expr,
) -> Sequence[Expr]:
    """CombinedNonMaxSuppression: the best boxes of all classes per image, padded to one length."""
    batch, count, kinds, _ = node.static_shape(boxes, "boxes")
    _, _, classes = node.static_shape(scores, "scores")
    (per_class,) = (int(one) for one in node.numbers(most_of_class, "how many boxes are wanted"))
    (total,) = (int(one) for one in node.numbers(most, "how many boxes are wanted"))
    size = total
    if node.flag("pad_per_class"):
        size = min(total, per_class * classes)
    limits = _thresholds(node, overlap, least)
    found: list[list[Expr]] = [[], [], [], []]
    for image in range(batch):
        parts: list[tuple[Expr, Expr, Expr]] = []
        for kind in range(classes):
            own = node.let(op.take(boxes, int64(image), axis=0))
            own = node.let(op.take(own, int64(kind if kinds > 1 else 0), axis=1))
            marks = node.let(op.take(scores, int64(image), axis=0))
            marks = node.let(op.take(marks, int64(kind), axis=1))
            row = node.let(int64(min(per_class, count)))
            chosen, _, kept = suppressed(node, own, marks, row, *limits)
            values = op.where(kept, op.take(marks, chosen, axis=0), const(float("-inf"), "float32"))
            parts.append(
                (
                    op.take(own, chosen, axis=0),
                    node.let(values),
                    node.let(
                        op.full(const(float(kind), "float32"), (min(per_class, count),), "float32")
                    ),
                )
            )
        whole = [node.let(op.concatenate([one[k] for one in parts], axis=0)) for k in range(3)]
        _image(node, found, whole, size)
    stacked = [op.stack(one, axis=0) for one in found[:3]]
    return [*stacked, op.stack(found[3], axis=0)]


def _image(node: Node, found: list[list[Expr]], whole: list[Expr], size: int) -> None:
    """The best boxes of an image."""
    corners, values, kinds = whole
    order = node.let(op.argsort(values, axis=0, is_ascend=False, dtype="int32"))
    rows = node.static_extent(order, 0, "how many boxes there are")
    padding = const([0] * max(size - rows, 0), "int32")
    order = node.let(op.strided_slice(op.concatenate([order, padding], axis=0), [0], [size]))
    marks = node.let(op.take(values, order, axis=0))
    inside = op.arange(const(size, "int32"), dtype="int32") < const(rows, "int32")
    kept = node.let(op.logical_and(op.isfinite(marks), inside))
    zero = const(0.0, "float32")
    own = node.let(op.take(corners, order, axis=0))
    if node.flag("clip_boxes", True):
        own = node.let(op.clip(own, 0.0, 1.0))
    found[0].append(node.let(op.where(op.expand_dims(kept, 1), own, zero)))
    found[1].append(node.let(op.where(kept, marks, zero)))
    found[2].append(node.let(op.where(kept, op.take(kinds, order, axis=0), zero)))
    found[3].append(node.let(op.sum(op.cast(kept, "int32"), axis=(0,))))
