"""Object detection: what suppression promises, rows that are left, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import relay
from relay.check.infer import infer_expr
from relay.errors import TypeCheckError
from relay.ir.expr import Expr
from relay.ir.types import ShapeVar, TensorType
from relay.op.opdef import get
from relay.op.vision.boxes import best_boxes, by_score, corners, overlap

RANDOM = np.random.default_rng(11)


def run(name: str, *args: Any, **attrs: Any) -> Any:
    op = get(f"vision.{name}")
    return op.reference(*args, **dict(op.make_attrs(attrs).items()))


def tensor(*shape: Any, dtype: str = "float32") -> relay.Var:
    return relay.var("x", TensorType(shape, dtype))


def type_of(built: Any) -> Any:
    return infer_expr(built if isinstance(built, Expr) else built.astuple()).checked_type


# --- suppression -------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.7])
def test_kept_boxes_stay_apart_and_the_others_lie_on_a_better_one(threshold: float) -> None:
    boxes = corners(RANDOM.uniform(0, 10, (120, 4)))
    kept = best_boxes(boxes, -1, lambda overlaps: overlaps > threshold)
    for place in range(120):
        better = [k for k in kept if k < place]
        overlaps = overlap(boxes[place], boxes[better])
        assert (overlaps > threshold).any() == (place not in kept)


def test_of_equal_scores_the_first_box_wins() -> None:
    scores = np.array([0.5, 0.9, 0.5, 0.9, np.nan])
    assert list(by_score(scores)) == [1, 3, 0, 2, 4]


def test_the_corners_of_a_box_come_in_any_order() -> None:
    boxes = np.array([[4.0, 3.0, 1.0, 0.0], [1.0, 3.0, 4.0, 0.0]])
    np.testing.assert_array_equal(corners(boxes), [[1, 0, 4, 3]] * 2)


def test_boxes_without_area_do_not_overlap() -> None:
    point = np.array([1.0, 1.0, 1.0, 1.0])
    assert overlap(point, point[None]) == 0
    assert overlap(point, point[None], pixel=1.0) == 1


def test_the_overlap_of_a_third() -> None:
    a, b = np.array([0.0, 0.0, 2.0, 2.0]), np.array([[1.0, 0.0, 3.0, 2.0]])
    np.testing.assert_allclose(overlap(a, b), 1 / 3)


ROWS = np.array(
    [[[0, 0.6, 0, 0, 2, 2], [1, 0.9, 0, 0, 2, 2], [0, 0.7, 0, 0, 2, 2], [2, 0.2, 5, 5, 6, 6]]],
    "float32",
)
INDICES = np.arange(4, dtype="int32")[None] * 10


def suppressed(
    rows: np.ndarray = ROWS, count: int = 4, most: int = -1, threshold: float = 0.5, **attrs: Any
) -> list[int]:
    indices, found = run(
        "non_max_suppression",
        rows,
        np.array([count], "int32"),
        INDICES,
        np.array(most, "int32"),
        np.array(threshold, "float32"),
        **attrs,
    )
    assert (indices[0, found[0, 0] :] == -1).all()
    return list(indices[0, : found[0, 0]])


def test_boxes_suppress_those_of_their_class() -> None:
    assert suppressed() == [10, 20, 30]
    assert suppressed(force_suppress=True) == [10, 30]
    assert suppressed(id_index=-1) == [10, 30]


def test_limits_of_suppression() -> None:
    assert suppressed(most=1) == [10]
    assert suppressed(most=0) == []
    assert suppressed(top_k=2) == [10, 20]
    assert suppressed(count=3) == [10, 20]
    assert suppressed(count=99) == [10, 20, 30]
    assert suppressed(count=-5) == []
    assert suppressed(threshold=0) == [10, 20, 0, 30]


def test_boxes_of_the_background_are_dropped() -> None:
    rows = ROWS.copy()
    rows[0, 1, 0] = -1
    assert suppressed(rows) == [20, 30]
    assert suppressed(rows, id_index=-1) == [10, 30]


def test_counting_then_suppressing_in_a_program() -> None:
    data = relay.const(ROWS)
    counts, rows, indices = relay.vision.get_valid_counts(data, 0.3)
    kept, count = relay.vision.non_max_suppression(rows, counts, indices)
    values = relay.create_executor("debug").evaluate(relay.Tuple([kept, count]))
    np.testing.assert_array_equal(values[0].numpy(), [[1, 2, -1, -1]])
    np.testing.assert_array_equal(values[1].numpy(), [[2]])
    whole = relay.vision.non_max_suppression(rows, counts, indices, return_indices=False)
    assert type_of(whole) == TensorType((1, 4, 6))


def test_a_threshold_of_zero_suppresses_all_that_touch_in_the_way_of_onnx() -> None:
    boxes = np.array([[[0, 0, 2, 2], [1, 1, 3, 3], [2, 2, 4, 4]]], "float32")
    scores = np.array([[[0.9, 0.8, 0.7]]], "float32")
    rows, count = run(
        "all_class_non_max_suppression",
        boxes,
        scores,
        np.array(-1, "int32"),
        np.array(0, "float32"),
        np.array(0, "float32"),
    )
    assert count == [2]
    np.testing.assert_array_equal(rows, [[0, 0, 0], [0, 0, 2], [-1, -1, -1]])


# --- types -------------------------------------------------------------------------------------


def test_results_keep_symbolic_extents() -> None:
    n, boxes = ShapeVar("n"), ShapeVar("boxes")
    call = relay.vision.all_class_non_max_suppression(tensor(n, boxes, 4), tensor(n, 3, boxes))
    assert type_of(call).fields[0].shape == (3 * n * boxes, 3)
    h = ShapeVar("h")
    anchors = relay.vision.multibox_prior(tensor(n, 8, h, 5), (0.1, 0.2), (1.0, 2.0, 3.0))
    assert type_of(anchors).shape == (1, 20 * h, 4)
    regions = relay.vision.proposal(
        tensor(n, 6, h, 5),
        tensor(n, 12, h, 5),
        tensor(n, 3),
        scales=(1.0,),
        rpn_post_nms_top_n=7,
    )
    assert type_of(regions).shape == (7 * n, 5)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: relay.vision.get_valid_counts(tensor(1, 3, 6), 0.5, score_index=6),
            "`score_index` is outside of a row",
        ),
        (
            lambda: relay.vision.get_valid_counts(tensor(1, 3, 6, dtype="int32"), 0.5),
            "argument `data` has the wrong element type",
        ),
        (
            lambda: relay.vision.non_max_suppression(
                tensor(1, 3, 6),
                tensor(1, dtype="int32"),
                tensor(1, 3, dtype="int32"),
                coord_start=3,
            ),
            "`coord_start` is outside of a row",
        ),
        (
            lambda: relay.vision.non_max_suppression(
                tensor(1, 3, 6), tensor(1), tensor(1, 3, dtype="int32")
            ),
            "argument `valid_count` has the wrong type",
        ),
        (
            lambda: relay.vision.all_class_non_max_suppression(tensor(1, 3, 5), tensor(1, 2, 3)),
            "argument `boxes`",
        ),
        (
            lambda: relay.vision.regular_non_max_suppression(
                tensor(1, 3, 4), tensor(1, 3, 5), 1, 1, 3, 0.5, 0.5
            ),
            "scores are not of these classes",
        ),
        (lambda: relay.vision.multibox_prior(tensor(1, 1, 2, 2), ()), "`sizes` does not fit"),
        (
            lambda: relay.vision.multibox_transform_loc(
                tensor(1, 2, 3), tensor(1, 13), tensor(1, 3, 4)
            ),
            "argument `loc_pred`",
        ),
        (
            lambda: relay.vision.roi_align(tensor(1, 1, 4, 4), tensor(2, 4), (2, 2), 1.0),
            "argument `rois`",
        ),
        (
            lambda: relay.vision.roi_pool(tensor(1, 1, 4, 4), tensor(2, 5), (2,), 1.0),
            "`pooled_size` does not fit",
        ),
        (
            lambda: relay.vision.proposal(tensor(1, 24, 2, 2), tensor(1, 47, 2, 2), tensor(1, 3)),
            "argument `bbox_pred`",
        ),
        (lambda: relay.vision.yolo_reorg(tensor(1, 6, 4, 4), 2), "the channels cannot be divided"),
    ],
)
def test_what_does_not_fit_is_refused(build: Any, message: str) -> None:
    with pytest.raises(TypeCheckError, match=message):
        type_of(build())
