"""Non-maximum suppression (NMS) of overlapping boxes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr, TupleWrapper, as_expr, const
from relay.ir.types import TensorType, TupleType, Type
from relay.op.attributes import with_attrs
from relay.op.building.helper import helper, unpacked
from relay.op.building.numerics import widened
from relay.op.gradient_rules import SELECTS
from relay.op.opdef import define, sample
from relay.op.site import FLOATING, INTEGER, Site
from relay.op.vision import nms_loops
from relay.op.vision.boxes import best_boxes, by_score, corners


def _require_scalars(site: Site, first: int, *kinds: Any) -> None:
    """Arguments from `first` on must be scalars of these kinds."""
    for index, kind in enumerate(kinds, first):
        site.tensor(index, rank=0)
        site.require_elements(index, kind)


def _require_place(site: Site, name: str, width: Dim, count: int = 1) -> None:
    """Attribute `name` must be the position of `count` values in a row of that width."""
    first = site.attrs[name]
    room = dims.subtract(width, count)
    for rest in (first, dims.subtract(room, first)):
        site.require_natural(
            rest, f"`{name}` is outside of a row", f"0 to {room}", f"{name} = {first}"
        )


def _scalar(value: Expr | float, dtype: str) -> Expr:
    return const(value, dtype) if isinstance(value, int | float) else as_expr(value)


_as_int32, _as_float32 = partial(_scalar, dtype="int32"), partial(_scalar, dtype="float32")


# --- valid boxes -----------------------------------------------------------------------------


@attrs
class GetValidCountsAttrs(Attrs):
    """score_threshold: not used; the threshold is an argument
    id_index: the column of the class; negative if there is none
    score_index: the column of the score
    """

    score_threshold: float | None = None
    id_index: int = 0
    score_index: int = 1


def _get_valid_counts_type(site: Site) -> Type | None:
    """((n, boxes, width), ()) -> ((n,), same, (n, boxes))"""
    site.require_elements(0, FLOATING)
    _require_scalars(site, 1, FLOATING)
    if (data := site.tensor(0, rank=3)) is None:
        return None
    _require_place(site, "score_index", data.shape[2])
    if site.attrs.id_index >= 0:
        _require_place(site, "id_index", data.shape[2])
    counts = TensorType(data.shape[:1], "int32")
    return TupleType((counts, data, TensorType(data.shape[:2], "int32")))


def _get_valid_counts(
    data: np.ndarray, threshold: np.ndarray, id_index: int, score_index: int, **_: Any
) -> tuple[np.ndarray, ...]:
    valid = widened(data[..., score_index]) > threshold
    if id_index >= 0:
        valid &= data[..., id_index] >= 0
    rows = np.full(data.shape, -1, data.dtype)
    indices = np.full(data.shape[:2], -1, np.int32)
    for image, mask in enumerate(valid):
        found = np.flatnonzero(mask)
        rows[image, : len(found)] = data[image, found]
        indices[image, : len(found)] = found
    return valid.sum(1, dtype=np.int32), rows, indices


def get_valid_counts(
    data: Expr, score_threshold: Expr | float, id_index: int = 0, score_index: int = 1
) -> TupleWrapper:
    """The number of boxes of each image above the threshold, these boxes, and their indices."""
    threshold = _scalar(score_threshold, "float32")
    return TupleWrapper(
        GET_VALID_COUNTS(data, threshold, id_index=id_index, score_index=score_index), 3
    )


GET_VALID_COUNTS = define(
    "vision.get_valid_counts",
    doc="The number of boxes of each image with a score above the threshold and a nonnegative "
    "class; these boxes, in order, and their indices, both padded with -1.",
    arguments=[
        ("data", "a row for each box of each image"),
        ("score_threshold", "the score threshold, a scalar"),
    ],
    attrs=GetValidCountsAttrs,
    relation=_get_valid_counts_type,
    reference=_get_valid_counts,
    compute=nms_loops.valid_counts,
    helper=get_valid_counts,
    samples=[
        sample((2, 5, 6), np.array(0.5, "float32"), low=-0.5),
        sample(
            (2, 4, 5),
            np.array(0.1, "float32"),
            id_index=-1,
            score_index=4,
            dtype="float16",
            attrs={"score_threshold": 0.1},
        ),
        sample((1, 3, 6), np.array(9, "float64"), id_index=2, score_index=0, dtype="float64"),
        sample((2, 0, 6), np.array(0, "float32")),
    ],
    gradient=SELECTS,
)

# --- suppression -------------------------------------------------------------------------------


@attrs
class NonMaximumSuppressionAttrs(Attrs):
    """force_suppress: suppress boxes of other classes too
    top_k: the number of best boxes that take part; 0 or less is all
    coord_start: the first of the four columns of two opposite corners
    score_index: the column of the score
    id_index: the column of the class; negative if all are of one class
    return_indices: return the indices of the kept boxes instead of their rows
    invalid_to_bottom: move kept rows to the front
    """

    force_suppress: bool = False
    top_k: int = -1
    coord_start: int = 2
    score_index: int = 1
    id_index: int = 0
    return_indices: bool = True
    invalid_to_bottom: bool = False


def _non_max_suppression_type(site: Site) -> Type | None:
    """((n, boxes, width), (n,), (n, boxes), (), ()) -> ((n, boxes), (n, 1)), or the rows"""
    site.require_elements(0, FLOATING)
    _require_scalars(site, 3, INTEGER, FLOATING)
    if (data := site.tensor(0, rank=3)) is None:
        return None
    batch, boxes, width = data.shape
    _require_place(site, "coord_start", width, 4)
    _require_place(site, "score_index", width)
    if site.attrs.id_index >= 0:
        _require_place(site, "id_index", width)
    (batch,) = site.expect(1, (batch,), "int32").shape
    batch, boxes = site.expect(2, (batch, boxes), "int32").shape
    if not site.attrs.return_indices:
        return TensorType((batch, boxes, width), data.dtype)
    return TupleType((TensorType((batch, boxes), "int32"), TensorType((batch, 1), "int32")))


def _non_max_suppression(
    data: np.ndarray,
    valid_count: np.ndarray,
    indices: np.ndarray,
    max_output_size: np.ndarray,
    iou_threshold: np.ndarray,
    known: NonMaximumSuppressionAttrs,
) -> Any:
    batch, boxes, _ = data.shape
    rows = np.full(data.shape, -1, data.dtype)
    found = np.full((batch, boxes), -1, np.int32)
    counts = np.zeros((batch, 1), np.int32)
    for image, valid in enumerate(np.clip(valid_count, 0, boxes)):
        wide = widened(data[image, :valid])
        order = by_score(wide[:, known.score_index])
        if known.id_index >= 0:
            order = order[wide[order, known.id_index] >= 0]
        if known.top_k > 0:
            order = order[: known.top_k]
        ranked = wide[order]
        kept = best_boxes(
            corners(ranked[:, known.coord_start : known.coord_start + 4]),
            int(max_output_size),
            lambda overlaps: (overlaps >= iou_threshold) & (iou_threshold > 0),
            None if known.force_suppress or known.id_index < 0 else ranked[:, known.id_index],
        )
        places = np.arange(len(kept)) if known.invalid_to_bottom else np.array(kept, np.int64)
        rows[image, places] = data[image, order[kept]]
        found[image, : len(kept)] = indices[image, order[kept]]
        counts[image] = len(kept)
    return (found, counts) if known.return_indices else rows


def _limits(count: int, *thresholds: float, dtype: str = "int32") -> list[np.ndarray]:
    """The scalar arguments of samples: the most boxes, and thresholds in float32."""
    return [np.array(count, dtype), *(np.array(value, "float32") for value in thresholds)]


# class, score, left, top, right, bottom
_ROWS = np.array(
    [
        [0, 0.5, 0, 0, 4, 4],
        [0, 0.9, 1, 0, 5, 4],
        [1, 0.8, 4, 4, 0, 0],
        [-1, 0.7, 9, 9, 8, 8],
        [1, 0.6, 3, 2, 7, 6],
        [0, 0.4, 0, 1, 4, 5],
    ],
    "float32",
)
_BATCH = np.stack((_ROWS, np.roll(_ROWS, 2, 0)))
_COUNTS = np.array([5, 3], "int32")
_INDICES = np.array([[9, 8, 7, 6, 5, 4], [0, 2, 4, 6, 8, 10]], "int32")

NON_MAX_SUPPRESSION = define(
    "vision.non_max_suppression",
    doc="In descending order of score, a box is kept unless its intersection over union (IoU) with "
    "a kept box of its class is at least the threshold. A threshold of 0 or less suppresses "
    "nothing. Boxes of a negative class are dropped. The result is padded with -1.",
    arguments=[
        ("data", "a row for each box of each image"),
        ("valid_count", "the number of valid rows of each image, int32"),
        ("indices", "the index of each row in the result, int32"),
        ("max_output_size", "the most boxes kept per image, negative for all"),
        ("iou_threshold", "the IoU at which a box is suppressed, a scalar"),
    ],
    attrs=NonMaximumSuppressionAttrs,
    relation=_non_max_suppression_type,
    reference=with_attrs(NonMaximumSuppressionAttrs, _non_max_suppression),
    compute=with_attrs(NonMaximumSuppressionAttrs, nms_loops.suppression),
    samples=[
        sample(_BATCH, _COUNTS, _INDICES, *_limits(-1, 0.2)),
        sample(
            _BATCH, _COUNTS, _INDICES, *_limits(2, 0.1), force_suppress=True, return_indices=False
        ),
        sample(
            _BATCH[..., 1:],
            _COUNTS,
            _INDICES,
            *_limits(-1, 0.3),
            top_k=3,
            coord_start=1,
            score_index=0,
            id_index=-1,
            return_indices=False,
            invalid_to_bottom=True,
        ),
        sample(
            np.roll(_BATCH, -1, -1).astype("float16"),
            _COUNTS,
            _INDICES,
            *_limits(-1, 0, dtype="int64"),
            coord_start=1,
            score_index=0,
            id_index=5,
            invalid_to_bottom=True,
        ),
    ],
    gradient=SELECTS,
)


def _suppressed(*args: Any, return_indices: bool, **known: Any) -> Call | TupleWrapper:
    call = NON_MAX_SUPPRESSION(*args, return_indices=return_indices, **known)
    return TupleWrapper(call, 2) if return_indices else call


non_max_suppression: Callable[..., Any] = helper(
    NON_MAX_SUPPRESSION,
    "Non-maximum suppression per class: the indices of the kept boxes and their number, or their "
    "rows.",
    convert={"max_output_size": _as_int32, "iou_threshold": _as_float32},
    build=_suppressed,
    max_output_size=-1,
    iou_threshold=0.5,
)

# --- suppression per class --------------------------------------------------------------------


@attrs
class AllClassNMSAttrs(Attrs):
    """output_format: "onnx" lists (image, class, box) for all images, "tensorflow" (class, box)
    for each image, with the scores
    """

    output_format: Literal["onnx", "tensorflow"] = "onnx"


def _all_class_type(site: Site) -> Type | None:
    """((n, boxes, 4), (n, classes, boxes), (), (), ()) -> the kept boxes, padded"""
    site.require_elements(0, FLOATING)
    _require_scalars(site, 2, INTEGER, FLOATING, FLOATING)
    boxes, scores = site.tensor(0, rank=3), site.tensor(1, rank=3)
    if boxes is None or scores is None:
        return None
    batch, count, _ = site.expect(0, (scores.shape[0], scores.shape[2], 4), boxes.dtype).shape
    batch, classes, count = site.expect(1, (batch, scores.shape[1], count), boxes.dtype).shape
    most = dims.multiply(classes, count)
    if site.attrs.output_format == "onnx":
        rows = TensorType((dims.multiply(batch, most), 3), "int64")
        return TupleType((rows, TensorType((1,), "int64")))
    return TupleType(
        (
            TensorType((batch, most, 2), "int64"),
            TensorType((batch, most), boxes.dtype),
            TensorType((batch,), "int64"),
        )
    )


def _all_class(
    boxes: np.ndarray,
    scores: np.ndarray,
    max_output_boxes_per_class: np.ndarray,
    iou_threshold: np.ndarray,
    score_threshold: np.ndarray,
    output_format: str,
) -> tuple[np.ndarray, ...]:
    batch, classes, count = scores.shape
    wide = widened(scores)
    kept: list[list[tuple[int, int]]] = [[] for _ in range(batch)]
    for image, places in enumerate(corners(widened(boxes))):
        for number in range(classes):
            order = by_score(wide[image, number])
            order = order[wide[image, number, order] > score_threshold]
            best = best_boxes(
                places[order],
                int(max_output_boxes_per_class),
                lambda overlaps: (overlaps > iou_threshold) & (iou_threshold >= 0),
            )
            kept[image] += [(number, int(place)) for place in order[best]]
    if output_format == "onnx":
        listed = [(image, *pair) for image, pairs in enumerate(kept) for pair in pairs]
        rows = np.full((batch * classes * count, 3), -1, np.int64)
        rows[: len(listed)] = np.array(listed, np.int64).reshape(-1, 3)
        return rows, np.array([len(listed)], np.int64)
    chosen = np.zeros((batch, classes * count, 2), np.int64)
    values = np.zeros((batch, classes * count), scores.dtype)
    for image, pairs in enumerate(kept):
        numbers, places = np.array(pairs, np.int64).reshape(-1, 2).T
        chosen[image, : len(pairs)] = np.stack((numbers, places), 1)
        values[image, : len(pairs)] = scores[image, numbers, places]
    return chosen, values, np.array([len(pairs) for pairs in kept], np.int64)


ALL_CLASS_NON_MAX_SUPPRESSION = define(
    "vision.all_class_non_max_suppression",
    doc="Non-maximum suppression of the boxes with a score above the threshold, in each class of "
    "each image; a negative IoU threshold suppresses nothing. The list of (image, class, box), "
    "padded with -1, and its length; or for each image lists of (class, box) and of scores, padded "
    "with 0, and their lengths.",
    arguments=[
        ("boxes", "two opposite corners for each box of each image"),
        ("scores", "the score of each box in each class"),
        ("max_output_boxes_per_class", "the most kept boxes, negative for all; a scalar"),
        ("iou_threshold", "the IoU above which a box is suppressed, a scalar"),
        ("score_threshold", "the score threshold, a scalar"),
    ],
    attrs=AllClassNMSAttrs,
    relation=_all_class_type,
    reference=_all_class,
    compute=nms_loops.all_classes,
    samples=[
        sample((2, 6, 4), (2, 3, 6), *_limits(-1, 0.1, 0)),
        sample(
            (2, 6, 4),
            (2, 2, 6),
            *_limits(2, 0, -1, dtype="int64"),
            output_format="tensorflow",
            dtype="float64",
        ),
        sample((1, 4, 4), (1, 2, 4), *_limits(-1, -1, -9), dtype="float16"),
        sample((1, 3, 4), (1, 1, 3), *_limits(0, 0.5, 0), output_format="tensorflow"),
    ],
    gradient=SELECTS,
)


def _in_format(*args: Any, output_format: str) -> TupleWrapper:
    call = ALL_CLASS_NON_MAX_SUPPRESSION(*args, output_format)
    return TupleWrapper(call, 2 if output_format == "onnx" else 3)


all_class_non_max_suppression: Callable[..., Any] = helper(
    ALL_CLASS_NON_MAX_SUPPRESSION,
    "Non-maximum suppression per class, in the output format of ONNX or TensorFlow.",
    convert={
        "max_output_boxes_per_class": _as_int32,
        "iou_threshold": _as_float32,
        "score_threshold": _as_float32,
    },
    build=_in_format,
    max_output_boxes_per_class=-1,
    iou_threshold=-1.0,
    score_threshold=-1.0,
)


@attrs
class RegularNMSAttrs(Attrs):
    """max_detections_per_class: the most boxes kept per class
    max_detections: the most boxes kept per image
    num_classes: the number of classes, without the optional background in front
    iou_threshold: the IoU above which a box is suppressed
    score_threshold: the lowest score that counts
    """

    max_detections_per_class: int
    max_detections: int
    num_classes: int
    iou_threshold: float
    score_threshold: float


def _regular_type(site: Site) -> Type | None:
    """((n, boxes, 4), (n, boxes, classes)) -> ((n, most, 4), (n, most), (n, most), (n,))"""
    known: RegularNMSAttrs = site.attrs
    site.require_elements(0, FLOATING)
    for name in ("max_detections_per_class", "max_detections", "num_classes"):
        site.require(known[name] >= 0, f"`{name}` is negative", "0 or more", str(known[name]))
    boxes, scores = site.tensor(0, rank=3), site.tensor(1, rank=3)
    if boxes is None or scores is None:
        return None
    width = scores.shape[2]
    more = dims.subtract(width, known.num_classes)
    for rest in (more, dims.subtract(1, more)):
        site.require_natural(
            rest,
            "scores are not of these classes",
            f"{known.num_classes} classes, or one more for the background",
            str(scores),
        )
    batch, count, _ = site.expect(0, (*scores.shape[:2], 4), boxes.dtype).shape
    batch, count, _ = site.expect(1, (batch, count, width), boxes.dtype).shape
    values = TensorType((batch, known.max_detections), boxes.dtype)
    places = TensorType((*values.shape, 4), boxes.dtype)
    return TupleType((places, values, values, TensorType((batch,), "int32")))


def _regular(
    boxes: np.ndarray, scores: np.ndarray, known: RegularNMSAttrs
) -> tuple[np.ndarray, ...]:
    batch, _, width = scores.shape
    wide = widened(scores)
    limit = wide.dtype.type(known.iou_threshold)
    results = [
        np.zeros((batch, known.max_detections, *more), boxes.dtype) for more in ((4,), (), ())
    ]
    counts = np.zeros(batch, np.int32)
    for image, places in enumerate(corners(widened(boxes))):
        kept: list[tuple[int, int]] = []
        for number in range(known.num_classes):
            values = wide[image, :, number + width - known.num_classes]
            order = by_score(values)
            order = order[values[order] >= wide.dtype.type(known.score_threshold)]
            best = best_boxes(
                places[order], known.max_detections_per_class, lambda overlaps: overlaps > limit
            )
            kept += [(int(place), number) for place in order[best]]
        chosen, numbers = np.array(kept, np.int64).reshape(-1, 2).T
        values = scores[image, chosen, numbers + width - known.num_classes]
        ranked = by_score(widened(values))[: known.max_detections]
        for result, part in zip(
            results, (boxes[image, chosen], numbers.astype(boxes.dtype), values), strict=True
        ):
            result[image, : len(ranked)] = part[ranked]
        counts[image] = len(ranked)
    return *results, counts


REGULAR_NON_MAX_SUPPRESSION = define(
    "vision.regular_non_max_suppression",
    doc="Non-maximum suppression in each class of each image, then the best boxes of all classes: "
    "boxes, classes and scores in descending order of score, padded with 0, and their number.",
    arguments=[
        ("boxes", "two opposite corners for each box of each image"),
        ("scores", "the scores of each box, by class"),
    ],
    attrs=RegularNMSAttrs,
    relation=_regular_type,
    reference=with_attrs(RegularNMSAttrs, _regular),
    compute=with_attrs(RegularNMSAttrs, nms_loops.best_of_classes),
    samples=[
        sample(
            (2, 6, 4),
            (2, 6, 4),
            max_detections_per_class=2,
            max_detections=5,
            num_classes=3,
            iou_threshold=0.1,
            score_threshold=0.2,
        ),
        sample(
            (1, 5, 4),
            (1, 5, 2),
            max_detections_per_class=9,
            max_detections=12,
            num_classes=2,
            iou_threshold=0.3,
            score_threshold=-1.0,
            dtype="float64",
        ),
        sample(
            (1, 4, 4),
            (1, 4, 2),
            max_detections_per_class=1,
            max_detections=1,
            num_classes=1,
            iou_threshold=0.5,
            score_threshold=0.0,
            dtype="float16",
        ),
    ],
    gradient=SELECTS,
)
regular_non_max_suppression = unpacked(
    REGULAR_NON_MAX_SUPPRESSION,
    "Non-maximum suppression per class: boxes, classes, scores, and their number.",
    4,
)
