"""Non-maximum suppression as loops: the computes of `relay.op.vision.nms`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relay import te
from relay.op.building import scalars
from relay.op.loop_nest import nest, spread
from relay.op.tensor.sort_loops import sort_key, sort_positions
from relay.op.vision.box_loops import At, Box, best_boxes, by_score, corners


def exact(value: te.Expr) -> te.Expr:
    """A float converted for comparison with one of another type."""
    return te.cast(value, "float64")


def valid_counts(
    data: te.Tensor,
    threshold: te.Tensor,
    id_index: int,
    score_index: int,
    out: tuple[te.Spec, ...],
    **_: Any,
) -> tuple[te.Tensor, ...]:
    """`vision.get_valid_counts`"""
    batch, boxes, width = data.shape

    def write(b: te.Builder, counts: te.Buffer, rows: te.Buffer, indices: te.Buffer) -> None:
        with spread(b, (batch,)) as (image,):
            count = b.variable("int64", 0, "count")
            with b.loop(boxes) as box:
                valid = exact(data[image, box, score_index]) > exact(threshold[()])
                if id_index >= 0:
                    valid = valid & (data[image, box, id_index] >= 0.0)
                with b.if_(valid):
                    with b.loop(width) as i:
                        b.store(rows, (image, count[()], i), data[image, box, i])
                    b.store(indices, (image, count[()]), te.cast(box, "int32"))
                    b.store(count, (), count[()] + 1)
            b.store(counts, image, te.cast(count[()], "int32"))
            with b.loop(boxes - count[()]) as left:
                place = b.let(count[()] + left)
                b.store(indices, (image, place), -1)
                with b.loop(width) as i:
                    b.store(rows, (image, place, i), -1)

    outputs = [(spec.shape, spec.dtype) for spec in out]
    return te.procedure([data, threshold], outputs, write, "get_valid_counts")


def suppression(
    data: te.Tensor,
    valid_count: te.Tensor,
    indices: te.Tensor,
    max_output_size: te.Tensor,
    iou_threshold: te.Tensor,
    out: Any,
    known: Any,
) -> te.Tensor | tuple[te.Tensor, ...]:
    """`vision.non_max_suppression`"""
    batch, boxes, width = data.shape
    limit, id_index = exact(iou_threshold[()]), known.id_index

    def write(b: te.Builder, result: te.Buffer, *counts: te.Buffer) -> None:
        with spread(b, (batch,)) as (image,):

            def value(box: te.Expr, column: int) -> te.Expr:
                return scalars.widened(data[image, box, column])

            def has_class(box: te.Expr) -> te.Expr:
                return value(box, id_index) >= 0.0 if id_index >= 0 else te.const(True, "bool")

            valid = te.minimum(te.maximum(te.cast(valid_count[image], "int64"), 0), boxes)
            ranking = by_score(
                b, b.let(valid), boxes, has_class, lambda box: value(box, known.score_index)
            )

            def sides(rank: te.Expr) -> Box:
                box = ranking.at(rank)
                return corners([value(box, known.coord_start + i) for i in range(4)])

            def group(rank: te.Expr) -> te.Expr:
                return value(ranking.at(rank), id_index)

            kept = best_boxes(
                b,
                te.minimum(ranking.count, known.top_k) if known.top_k > 0 else ranking.count,
                boxes,
                te.cast(max_output_size[()], "int64"),
                sides,
                lambda shared: (exact(shared) >= limit) & (limit > 0.0),
                None if known.force_suppress or id_index < 0 else group,
            )
            with nest(b, result.shape[1:]) as place:
                b.store(result, (image, *place), -1)
            with b.loop(kept.count) as i:
                box = b.let(ranking.at(kept[i]))
                if known.return_indices:
                    b.store(result, (image, i), indices[image, box])
                else:
                    row = i if known.invalid_to_bottom else b.let(kept[i])
                    with b.loop(width) as column:
                        b.store(result, (image, row, column), data[image, box, column])
            for count in counts:
                b.store(count, (image, 0), te.cast(kept.count, "int32"))

    inputs = [data, valid_count, indices, max_output_size, iou_threshold]
    outputs = [(spec.shape, spec.dtype) for spec in (out if known.return_indices else (out,))]
    found = te.procedure(inputs, outputs, write, "non_max_suppression")
    return found if known.return_indices else found[0]


# --- in each class -----------------------------------------------------------------------------


def _kept_in_classes(
    b: te.Builder,
    boxes: te.Tensor,
    classes: te.Expr,
    score: Callable[[te.Expr, te.Expr], At],
    good: At,
    suppresses: At,
    most: te.Expr,
) -> tuple[te.Buffer, te.Buffer]:
    """The kept boxes of each class and image in descending order of score, and their numbers.

    `score(image, class)(box)` is a score, `good(score)` whether it passes the threshold.
    """
    batch, count, _ = boxes.shape
    kept = b.local("int64", (batch, classes, count), "kept")
    counts = b.local("int64", (batch, classes), "counts")
    with spread(b, (batch, classes)) as (image, number):
        of = score(image, number)
        ranking = by_score(b, count, count, lambda box: good(of(box)), of)

        def sides(rank: te.Expr) -> Box:
            box = ranking.at(rank)
            return corners([scalars.widened(boxes[image, box, i]) for i in range(4)])

        best = best_boxes(b, ranking.count, count, most, sides, suppresses)
        b.store(counts, (image, number), best.count)
        with b.loop(best.count) as i:
            b.store(kept, (image, number, i), ranking.at(best[i]))
    return kept, counts


def all_classes(
    boxes: te.Tensor,
    scores: te.Tensor,
    max_output_boxes_per_class: te.Tensor,
    iou_threshold: te.Tensor,
    score_threshold: te.Tensor,
    output_format: str,
    out: tuple[te.Spec, ...],
) -> tuple[te.Tensor, ...]:
    """`vision.all_class_non_max_suppression`"""
    batch, classes, _ = scores.shape
    limit, least = exact(iou_threshold[()]), exact(score_threshold[()])

    def found(b: te.Builder) -> tuple[te.Buffer, te.Buffer]:
        return _kept_in_classes(
            b,
            boxes,
            classes,
            lambda image, number: lambda box: scalars.widened(scores[image, number, box]),
            lambda score: exact(score) > least,
            lambda shared: (exact(shared) > limit) & (limit >= 0.0),
            te.cast(max_output_boxes_per_class[()], "int64"),
        )

    def write_list(b: te.Builder, rows: te.Buffer, length: te.Buffer) -> None:
        kept, counts = found(b)
        with nest(b, rows.shape) as place:
            b.store(rows, place, -1)
        total = b.variable("int64", 0, "total")
        with nest(b, counts.shape) as (image, number), b.loop(counts[image, number]) as i:
            for column, value in enumerate((image, number, kept[image, number, i])):
                b.store(rows, (total[()], column), value)
            b.store(total, (), total[()] + 1)
        b.store(length, 0, total[()])

    def write_lists(
        b: te.Builder, chosen: te.Buffer, values: te.Buffer, lengths: te.Buffer
    ) -> None:
        kept, counts = found(b)
        with spread(b, (batch,)) as (image,):
            with b.loop(values.shape[1]) as i:
                b.store(values, (image, i), 0.0)
                for column in range(2):
                    b.store(chosen, (image, i, column), 0)
            total = b.variable("int64", 0, "total")
            with b.loop(classes) as number, b.loop(counts[image, number]) as i:
                box = b.let(kept[image, number, i])
                b.store(chosen, (image, total[()], 0), number)
                b.store(chosen, (image, total[()], 1), box)
                b.store(values, (image, total[()]), scores[image, number, box])
                b.store(total, (), total[()] + 1)
            b.store(lengths, image, total[()])

    inputs = [boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold]
    outputs = [(spec.shape, spec.dtype) for spec in out]
    write = write_list if output_format == "onnx" else write_lists
    return te.procedure(inputs, outputs, write, "all_class_non_max_suppression")


def best_of_classes(
    boxes: te.Tensor, scores: te.Tensor, out: tuple[te.Spec, ...], known: Any
) -> tuple[te.Tensor, ...]:
    """`vision.regular_non_max_suppression`"""
    batch, count, width = scores.shape
    background = width - known.num_classes

    def write(
        b: te.Builder,
        places: te.Buffer,
        classes: te.Buffer,
        values: te.Buffer,
        lengths: te.Buffer,
    ) -> None:
        def score(image: te.Expr, number: te.Expr) -> At:
            return lambda box: scalars.widened(scores[image, box, number + background])

        kept, counts = _kept_in_classes(
            b,
            boxes,
            te.index(known.num_classes),
            score,
            lambda value: value >= known.score_threshold,
            lambda shared: shared > known.iou_threshold,
            te.index(known.max_detections_per_class),
        )
        with spread(b, (batch,)) as (image,):
            capacity = count * known.num_classes
            pairs = b.local("int64", (capacity, 2), "pairs")
            total = b.variable("int64", 0, "total")
            with b.loop(known.num_classes) as number, b.loop(counts[image, number]) as i:
                b.store(pairs, (total[()], 0), kept[image, number, i])
                b.store(pairs, (total[()], 1), number)
                b.store(total, (), total[()] + 1)
            order = sort_positions(
                b,
                total[()],
                lambda pair: sort_key(-score(image, pairs[pair, 1])(pairs[pair, 0])),
                capacity,
            )
            length = b.let(te.minimum(total[()], known.max_detections))
            b.store(lengths, image, te.cast(length, "int32"))
            with b.loop(length) as i:
                pair = b.let(order[i])
                box, number = b.let(pairs[pair, 0]), b.let(pairs[pair, 1])
                for side in range(4):
                    b.store(places, (image, i, side), boxes[image, box, side])
                b.store(classes, (image, i), te.cast(number, classes.dtype))
                b.store(values, (image, i), scores[image, box, number + background])
            with b.loop(known.max_detections - length) as left:
                i = b.let(length + left)
                for side in range(4):
                    b.store(places, (image, i, side), 0.0)
                b.store(classes, (image, i), 0.0)
                b.store(values, (image, i), 0.0)

    outputs = [(spec.shape, spec.dtype) for spec in out]
    return te.procedure([boxes, scores], outputs, write, "regular_non_max_suppression")
