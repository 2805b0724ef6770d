"""Operators of StableHLO and custom operators, with options away from their defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from tests.frontend.tflite.models import Case, Given, Out, fixed

RANDOM = np.random.default_rng(13)


def reals(*shape: int, low: float = -3.0, high: float = 3.0) -> np.ndarray:
    return RANDOM.uniform(low, high, shape).astype("float32")


def flexible(**values: Any) -> bytes:
    """Options of a custom operator."""
    builder = flexbuffers.Builder()
    with builder.Map():
        for name, value in values.items():
            builder.Key(name)
            builder.Add(value)
    return bytes(builder.Finish())


def further() -> Iterator[Case]:
    for name in ("ADD", "MULTIPLY", "MAXIMUM", "MINIMUM"):
        yield Case(f"STABLEHLO_{name}", [reals(2, 3), reals(2, 3)])
    numbers = RANDOM.integers(0, 9, (2, 3)).astype("int32")
    yield Case("STABLEHLO_SHIFT_LEFT", [numbers, numbers % 4], [Out("int32")])
    yield Case("ATAN2", [reals(3, 4), reals(3, 4)])
    for low, high, between in (
        ([1, 0], [0, 2], [0, 0]),
        ([-1, 1], [2, -1], [0, 0]),
        ([0, 1], [1, 0], [2, 1]),
    ):
        values = {"edgePaddingLow": low, "edgePaddingHigh": high, "interiorPadding": between}
        given = [reals(3, 4), fixed(0.5, "float32")]
        yield Case("STABLEHLO_PAD", given, [Out()], "StablehloPadOptions", values)
    for classes, most, background in ((3, 5, 1), (4, 12, 0)):
        options = flexible(
            max_detections=most,
            max_classes_per_detection=1,
            num_classes=classes,
            nms_score_threshold=0.1,
            nms_iou_threshold=0.4,
            use_regular_nms=False,
            y_scale=10.0,
            x_scale=10.0,
            h_scale=5.0,
            w_scale=5.0,
        )
        anchors = np.concatenate([reals(20, 2, low=0, high=1), reals(20, 2, low=0.2, high=0.6)], 1)
        given = [reals(1, 20, 4), reals(1, 20, classes + background, low=0, high=1)]
        yield Case(
            "TFLite_Detection_PostProcess",
            [*given, Given(anchors, fixed=True)],
            [Out(), Out(), Out(), Out()],
            custom=options,
        )
