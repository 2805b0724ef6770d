"""Resizing, and regions of images."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.frontend.tensorflow.cases.arrays import RANDOM, numbers, reals, scalar, whole
from tests.frontend.tensorflow.models import Case, case, held, opened


def resizing() -> Iterator[Case]:
    data = reals(2, 4, 5, 3)
    for name in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic"):
        for size in ((8, 10), (3, 4), (7, 3)):
            for more in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
                # the table of weights of TensorFlow has 1024 steps
                rtol = 2e-3 if name == "ResizeBicubic" else 1e-5
                yield case(name, {"images": data, "size": numbers(*size)}, rtol=rtol, **more)
        if name != "ResizeBicubic":
            given = {"images": opened(data, 0, 1, 2), "size": numbers(8, 10)}
            yield case(name, given, half_pixel_centers=True)
            given = {"images": data, "size": np.array([8, 10], "int32")}
            yield case(name, given, half_pixel_centers=True)
    given = {"images": whole(1, 4, 5, 3, dtype="uint8", low=0, high=255), "size": numbers(8, 10)}
    yield case("ResizeBilinear", given)
    yield case("ResizeNearestNeighbor", given)
    yield case("ResizeArea", {"images": reals(2, 4, 6, 3), "size": numbers(2, 3)})
    for kernel in ("triangle", "keyscubic"):
        for antialias in (True, False):
            for size in ((8, 10), (3, 4)):
                given = {
                    "images": data,
                    "size": numbers(*size),
                    "scale": held(np.array([size[0] / 4, size[1] / 5], "float32")),
                    "translation": held(np.zeros(2, "float32")),
                }
                more = {"kernel_type": kernel, "antialias": antialias}
                yield case("ScaleAndTranslate", given, rtol=1e-4, **more)
    for method in ("bilinear", "nearest"):
        given = {
            "image": data,
            "boxes": np.array([[0, 0, 1, 1], [0.2, 0.9, 0.8, 0.1], [-0.5, 0, 1.5, 1]], "float32"),
            "box_ind": np.array([0, 1, 0], "int32"),
            "crop_size": numbers(3, 4),
        }
        yield case("CropAndResize", given, rtol=1e-4, method=method, extrapolation_value=0.5)
    factor = {"contrast_factor": scalar(1.5, "float32")}
    yield case("AdjustContrastv2", {"images": reals(2, 4, 5, 3), **factor})
    colors = reals(2, 4, 3, low=0, high=1)
    colors[0, 0] = 0.5
    yield case("RGBToHSV", {"images": colors})
    yield case("HSVToRGB", {"images": colors})


def regions() -> Iterator[Case]:
    corners = np.sort(RANDOM.uniform(0, 1, (12, 2, 2)), axis=1).reshape(12, 4).astype("float32")
    scores = reals(12, low=0, high=1)
    limits = {"iou_threshold": scalar(0.3, "float32"), "score_threshold": scalar(0.2, "float32")}
    for most in (3, 20):
        given = {"boxes": corners, "scores": scores, "max_output_size": scalar(most)}
        yield case("NonMaxSuppression", given, iou_threshold=0.3)
        v2 = {**given, "iou_threshold": limits["iou_threshold"]}
        yield case("NonMaxSuppressionV2", v2)
        yield case("NonMaxSuppressionV3", {**given, **limits})
        for pads in (False, True):
            yield case("NonMaxSuppressionV4", {**given, **limits}, pad_to_max_output_size=pads)
            more = {**given, **limits, "soft_nms_sigma": scalar(0.0, "float32")}
            yield case("NonMaxSuppressionV5", more, pad_to_max_output_size=pads)
    given = {"boxes": corners, "scores": scores, "max_output_size": np.array(5, "int32")}
    yield case("NonMaxSuppressionV3", {**given, **limits})
    for kinds in (1, 2):
        given = {
            "boxes": np.stack(
                [np.stack([corners] * kinds, 1), np.stack([corners[::-1]] * kinds, 1)]
            ),
            "scores": reals(2, 12, 2, low=0, high=1),
            "max_output_size_per_class": scalar(4),
            "max_total_size": scalar(6),
        }
        for per_class in (False, True):
            yield case("CombinedNonMaxSuppression", {**given, **limits}, pad_per_class=per_class)
