"""Losses of ONNX against ONNX Runtime, and against its reference where that lacks them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model, reference

RANDOM = np.random.default_rng(4)
SCORES = RANDOM.normal(size=(4, 5, 2)).astype("float32")
TARGETS = RANDOM.integers(0, 5, (4, 2)).astype("int64")
WEIGHTS = RANDOM.uniform(0.5, 2, 5).astype("float32")


@pytest.mark.parametrize("operator", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses(operator: str, reduction: str) -> None:
    agree(model(operator, SCORES, TARGETS, opset=13, reduction=reduction), SCORES, TARGETS)
    given = model(
        operator, SCORES, TARGETS, Fixed(WEIGHTS), opset=12, reduction=reduction, ignore_index=1
    )
    agree(given, SCORES, TARGETS)


@pytest.mark.parametrize("operator", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
def test_a_target_that_is_ignored_need_not_be_a_class(operator: str) -> None:
    targets = TARGETS.copy()
    targets[0, 0] = -7
    given = model(operator, SCORES, targets, opset=13, ignore_index=-7)
    agree(given, SCORES, targets, oracle=reference)


def test_predictions_of_any_rank() -> None:
    for shape in ((3, 5), (3, 5, 2, 2, 2)):
        scores = RANDOM.normal(size=shape).astype("float32")
        targets = RANDOM.integers(0, 5, (shape[0], *shape[2:])).astype("int32")
        given = model("SoftmaxCrossEntropyLoss", scores, targets, opset=13)
        agree(given, scores, targets)


def test_the_logarithms_of_probabilities_too() -> None:
    given = model("SoftmaxCrossEntropyLoss", SCORES, TARGETS, opset=13, outputs=2)
    agree(given, SCORES, TARGETS)


def test_named_dimensions() -> None:
    shapes: dict[int, Any] = {0: ("n", "c", "d"), 1: ("n", "e")}
    given = model("SoftmaxCrossEntropyLoss", SCORES, TARGETS, opset=13, shapes=shapes)
    agree(given, SCORES, TARGETS)
    given = model(
        "NegativeLogLikelihoodLoss", SCORES, TARGETS, opset=13, shapes=shapes, reduction="none"
    )
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, d), float32]"
    agree(given, SCORES, TARGETS)


def test_dimensions_without_names() -> None:
    shapes: dict[int, Any] = {0: (None, None, None), 1: (None, None)}
    given = model("SoftmaxCrossEntropyLoss", SCORES, TARGETS, opset=13, shapes=shapes)
    agree(given, SCORES, TARGETS)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(FrontendError, match="there is no such reduction"):
        from_onnx(model("SoftmaxCrossEntropyLoss", SCORES, TARGETS, opset=13, reduction="most"))
    with pytest.raises(FrontendError, match="predictions need an axis of classes"):
        data = np.zeros(3, "float32")
        from_onnx(model("NegativeLogLikelihoodLoss", data, TARGETS[:, 0], opset=13))
