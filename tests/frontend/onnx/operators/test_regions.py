"""Regions, boxes and blocks against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay import create_executor
from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model, reference

CHANCE = np.random.default_rng(11)


def drawn(*shape: int, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    return CHANCE.uniform(low, high, shape).astype("float32")


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, "int64")


MAPS = drawn(2, 3, 8, 9)
# some lie outside, one has no extent and one ends before it starts
BOXES = np.array(
    [[0, 0, 9, 9], [5, 5, 9, 9], [3, 3, 2, 1], [-4, -4, 20, 30], [2, 2, 2.2, 2.2]], "float32"
)
IMAGES = ints(0, 1, 0, 1, 0)
POOL: dict[str, Any] = {"output_height": 3, "output_width": 2, "spatial_scale": 0.5}

# --- regions of interest


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("samples", [0, 2])
def test_regions_between_elements(mode: str, samples: int) -> None:
    inputs = (MAPS, BOXES, IMAGES)
    for coordinates in ("half_pixel", "output_half_pixel"):
        given = model(
            "RoiAlign", *inputs, opset=16, mode=mode, sampling_ratio=samples, **POOL,
            coordinate_transformation_mode=coordinates,
        )  # fmt: skip
        agree(given, *inputs, atol=1e-5)


def test_version_10_knows_one_transformation() -> None:
    agree(model("RoiAlign", MAPS, BOXES, IMAGES, opset=10, **POOL), MAPS, BOXES, IMAGES, atol=1e-5)


def test_any_number_of_regions() -> None:
    shapes: Any = {0: ("n", 3, "h", "w"), 1: ("k", 4), 2: ("k",)}
    given = model("RoiAlign", MAPS, BOXES, IMAGES, opset=22, shapes=shapes, **POOL)
    assert main_type(from_onnx(given)[0]) == "Tensor[(k, 3, 3, 2), float32]"
    agree(given, MAPS, BOXES, IMAGES, oracle=reference, atol=1e-5)


def test_the_greatest_elements_of_regions() -> None:
    regions = np.concatenate([IMAGES[:, None].astype("float32"), BOXES], 1)
    given = model("MaxRoiPool", MAPS, regions, opset=1, pooled_shape=[3, 2], spatial_scale=0.7)
    agree(given, MAPS, regions)


# --- boxes


@pytest.mark.parametrize("centered", [0, 1])
def test_boxes_that_stay(centered: int) -> None:
    boxes, scores = drawn(2, 20, 4, low=0), drawn(2, 3, 20, low=0)
    limits = [ints(5), np.array([0.3], "float32"), np.array([0.2], "float32")]
    given = model("NonMaxSuppression", boxes, scores, *limits, opset=11, center_point_box=centered)
    agree(given, boxes, scores, *limits)
    fixed = [Fixed(one) for one in limits[:2]]
    given = model("NonMaxSuppression", boxes, scores, *fixed, opset=10, center_point_box=centered)
    agree(given, boxes, scores)


def test_no_box_stays_if_nobody_says_how_many() -> None:
    boxes, scores = drawn(1, 4, 4, low=0), drawn(1, 1, 4, low=0)
    agree(model("NonMaxSuppression", boxes, scores, opset=11), boxes, scores)


def test_any_number_of_boxes() -> None:
    boxes, scores = drawn(1, 9, 4, low=0), drawn(1, 2, 9, low=0)
    shapes: Any = {0: ("n", "k", 4), 1: ("n", 2, "k")}
    most, overlap = Fixed(ints(3)), Fixed(np.array(0.4, "float32"))
    given = model("NonMaxSuppression", boxes, scores, most, overlap, opset=11, shapes=shapes)
    assert main_type(from_onnx(given)[0]) == "Tensor[(?, 3), int64]"
    agree(given, boxes, scores)


# --- blocks


def test_blocks_are_put_back() -> None:
    data, size, block = drawn(2, 18, 16), ints(5, 6), ints(2, 3)
    agree(model("Col2Im", data, Fixed(size), Fixed(block), opset=18), data)
    agree(model("Col2Im", data, size, block, opset=18), data, size, block)


def test_blocks_with_steps_of_any_number_of_images() -> None:
    data, size, block = drawn(2, 18, 9), Fixed(ints(5, 6)), Fixed(ints(2, 3))
    steps: dict[str, Any] = {"pads": [1, 1, 1, 1], "strides": [2, 2]}
    given = model("Col2Im", data, size, block, opset=18, shapes={0: ("n", 18, 9)}, **steps)
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 3, 5, 6), float32]"
    agree(given, data)


def test_blocks_of_volumes_with_gaps() -> None:
    data, size, block = drawn(1, 16, 6), Fixed(ints(4, 3, 3)), Fixed(ints(2, 2, 1))
    given = model("Col2Im", data, size, block, opset=18, dilations=[2, 2, 1], pads=[0] * 6)
    agree(given, data, oracle=reference)  # ONNX Runtime puts them elsewhere


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: model("RoiAlign", MAPS, BOXES, IMAGES, opset=16, mode="odd"), "no such mode"),
        (
            lambda: model(
                "RoiAlign", MAPS, BOXES, IMAGES, opset=16, coordinate_transformation_mode="odd"
            ),
            "no such transformation",
        ),
        (lambda: model("RoiAlign", MAPS[0], BOXES, IMAGES, opset=16), "wrong number of axes"),
        (
            lambda: model("Col2Im", drawn(1, 4, 4), Fixed(ints(4, 4)), Fixed(ints(2)), opset=18),
            "different axes",
        ),
        (
            lambda: model(
                "Col2Im", drawn(1, 4, 4), Fixed(ints(3, 3)), Fixed(ints(2, 2)), opset=18, pads=[1]
            ),
            "`pads` has the wrong length",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        from_onnx(given())


@pytest.mark.parametrize("mode", ["avg", "max"])
def test_a_region_may_be_far_larger_than_what_is_read(mode: str) -> None:
    data = np.random.default_rng(0).standard_normal((2, 3, 6, 7), "float32")
    regions = np.array([[-200, -150, 220, 90], [1, 2, 300, 5]], "float32")
    images, sizes = np.array([1, 0]), {"output_height": 2, "output_width": 3}
    given = model("RoiAlign", data, regions, images, opset=16, mode=mode, **sizes)
    agree(given, data, regions, images)
    huge = np.array([[-1e9, -1e9, 1e9, 1e9], [-1e30, 0, 5, 5]], "float32")
    wanted = create_executor("debug", from_onnx(given)[0]).evaluate()(data, huge, images)
    agree(given, data, huge, images, wanted=[wanted.numpy()])


def test_a_cell_is_not_read_at_any_number_of_places() -> None:
    data, regions = np.zeros((1, 1, 4, 4), "float32"), np.zeros((1, 4), "float32")
    given = model("RoiAlign", data, regions, np.array([0]), opset=16, sampling_ratio=2**31 - 1)
    with pytest.raises(FrontendError, match="`sample_ratio` is too large"):
        from_onnx(given)
