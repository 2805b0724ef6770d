"""Dropout of ONNX, in use and in training."""

from __future__ import annotations

import numpy as np
import pytest

from tests.frontend.onnx.oracle import Fixed, agree, model, ours, reference

X = np.random.default_rng(0).normal(size=(20, 30)).astype("float32")
ON, OFF = np.array(True), np.array(False)


@pytest.mark.parametrize(("opset", "mask"), [(6, "float32"), (7, "float32"), (10, "bool")])
def test_nothing_is_dropped_in_use(opset: int, mask: str) -> None:
    agree(model("Dropout", X, opset=opset, outputs=2), X, wanted=[X, np.ones_like(X, mask)])


def test_training_is_an_input_from_version_12_on() -> None:
    ratio = np.array(0.3, "float32")
    agree(model("Dropout", X, Fixed(ratio), opset=13, outputs=2), X)
    agree(model("Dropout", X, ratio, OFF, opset=13, outputs=2), X, ratio, OFF)


def test_a_seed_drops_what_the_reference_drops() -> None:
    ratio = np.array(0.3, "float32")
    given = model("Dropout", X, ratio, ON, opset=13, outputs=2, seed=5)
    agree(given, X, ratio, ON, oracle=reference)
    given = model("Dropout", X, Fixed(ratio), Fixed(ON), opset=13, outputs=2, seed=5)
    agree(given, X, oracle=reference)


def test_without_a_seed_about_as_many_are_dropped_as_asked_for() -> None:
    ratio = np.array(0.3, "float32")
    given = model("Dropout", X, Fixed(ratio), Fixed(ON), opset=13, outputs=2)
    data, mask = map(np.asarray, ours(given, X))
    assert 0.2 < 1 - mask.mean() < 0.4
    np.testing.assert_allclose(data, np.where(mask, X / np.float32(0.7), 0), rtol=1e-5)


def test_training_with_any_number_of_rows() -> None:
    given = model("Dropout", X, None, Fixed(ON), opset=13, outputs=2, shapes={0: ("n", 30)})
    data, mask = map(np.asarray, ours(given, X))
    assert 0.4 < mask.mean() < 0.6
    np.testing.assert_allclose(data, np.where(mask, 2 * X, 0), rtol=1e-5)
