"""What follows a detector of objects: boxes decoded, and the best of those that overlap."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.tflite.converters import CUSTOM, Table
from relay.frontend.tflite.flexbuffer import numbers_of
from relay.frontend.tflite.node import Node
from relay.ir.expr import Expr, const

table = Table(CUSTOM)


@table("TFLite_Detection_PostProcess")
def detections(node: Node, codes: Expr, scores: Expr, anchors: Expr) -> Sequence[Expr]:
    """Boxes, classes, scores and the number of detections, the best ones first.

    Each anchor counts with its best class; boxes that overlap a better one are left out.
    """
    given = numbers_of(node.info.custom)
    if given.get("use_regular_nms", False) or given.get("max_classes_per_detection", 1) != 1:
        raise node.refused("it looks at each class alone", "use_regular_nms = False")
    if not all(abs(one) < 2**31 for one in given.values()):  # nor are they infinite, or no numbers
        raise node.refused("its options are no numbers of 32 bits")
    count = int(given.get("max_detections", 0))
    classes = int(given.get("num_classes", 0))
    if count < 1 or classes < 1:
        raise node.refused("it does not say how many detections and classes there are")
    codes, scores, anchors = (node.real(one, at) for at, one in enumerate((codes, scores, anchors)))
    if node.shape(codes)[0] != 1:
        raise node.refused("there are several images", "a batch of 1")
    boxes = _decoded(node, codes, anchors, given)
    width = node.static_extent(scores, -1, "how many classes there are")
    # a first class may be the background
    own = node.let(op.strided_slice(scores, [width - classes], [width], axes=(2,)))
    best = node.let(op.max(own, axis=(2,)))
    kind = node.let(op.cast(op.argmax(own, axis=(2,)), "float32"))
    rows = [op.expand_dims(kind, 2), op.expand_dims(best, 2), boxes]
    data = node.let(op.concatenate([node.let(one) for one in rows], axis=2))
    least = float(given.get("nms_score_threshold", 0.0))
    total = node.static_extent(boxes, 1, "how many anchors there are")
    kept = node.fields(
        op.vision.get_valid_counts(data, least, id_index=-1, score_index=1).astuple(), 3
    )
    found = node.let(
        op.vision.non_max_suppression(
            kept[1],
            kept[0],
            kept[2],
            const(count, "int32"),
            const(float(given.get("nms_iou_threshold", 0.5)), "float32"),
            force_suppress=True,
            coord_start=2,
            score_index=1,
            id_index=-1,
            return_indices=False,
            invalid_to_bottom=True,
        )
    )
    if total < count:
        pads = [(0, 0), (0, count - total), (0, 0)]
        found = node.let(op.nn.pad(found, pads, const(-1.0, "float32")))
    first = node.let(op.strided_slice(found, [0], [count], axes=(1,)))
    zero = const(0.0, "float32")
    score = node.let(op.take(first, int64(1), axis=2))
    held = node.let(op.greater(score, zero))
    corners = op.strided_slice(first, [2], [6], axes=(2,))
    number = op.sum(op.cast(held, "float32"), axis=(1,))
    return [
        op.where(node.let(op.expand_dims(held, 2)), corners, zero),
        op.where(held, op.take(first, int64(0), axis=2), zero),
        op.where(held, score, zero),
        number,
    ]


def _decoded(node: Node, codes: Expr, anchors: Expr, given: dict[str, int | float | bool]) -> Expr:
    """Corners (top, left, bottom, right) from centers and sizes beside those of anchors."""

    def parts(value: Expr, axis: int) -> list[Expr]:
        return [node.let(op.take(value, int64(at), axis=axis)) for at in range(4)]

    y, x, h, w = parts(codes, 2)
    center_y, center_x, height, width = parts(anchors, 1)
    scale = {name: const(float(given.get(f"{name}_scale", 1.0)), "float32") for name in "yxhw"}
    half = const(0.5, "float32")
    middle_y = node.let(y / scale["y"] * height + center_y)
    middle_x = node.let(x / scale["x"] * width + center_x)
    tall = node.let(half * op.exp(h / scale["h"]) * height)
    wide = node.let(half * op.exp(w / scale["w"]) * width)
    corners = [middle_y - tall, middle_x - wide, middle_y + tall, middle_x + wide]
    return node.let(op.stack([node.let(one) for one in corners], axis=2))
