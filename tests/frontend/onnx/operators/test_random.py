"""Random tensors of ONNX: how they are spread, and that a seed gives the same ones again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import main_type, model, ours

X = np.zeros((40, 50), "float32")


def drawn(operator: str, *inputs: np.ndarray, opset: int = 22, **attributes: Any) -> np.ndarray:
    return np.asarray(ours(model(operator, *inputs, opset=opset, **attributes), *inputs)[0])


def test_numbers_that_are_all_as_likely() -> None:
    found = drawn("RandomUniform", shape=[40, 50], low=2.0, high=6.0, seed=1.5)
    assert found.shape == (40, 50)
    assert found.dtype == np.float32
    assert found.min() >= 2
    assert found.max() < 6
    np.testing.assert_allclose(np.histogram(found, 4, (2, 6))[0] / 2000, 0.25, atol=0.04)


def test_numbers_about_a_mean() -> None:
    found = drawn("RandomNormalLike", X, mean=3.0, scale=2.0, dtype=TensorProto.DOUBLE)
    assert found.dtype == np.float64
    np.testing.assert_allclose([found.mean(), found.std()], [3, 2], atol=0.15)


def test_short_numbers() -> None:
    found = drawn("RandomNormal", shape=[500], dtype=TensorProto.FLOAT16)
    assert found.dtype == np.float16
    assert 0.85 < found.std() < 1.15


def test_a_seed_gives_the_same_numbers_and_another_one_others() -> None:
    first, again, other = (
        drawn("RandomUniformLike", X, seed=seed, outputs=[name])
        for seed, name in ((7.0, "a"), (7.0, "b"), (8.0, "a"))
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_nodes_without_a_seed_draw_by_their_names() -> None:
    first, again, other = (
        drawn("RandomNormal", shape=[9], outputs=[name]) for name in ("a", "a", "b")
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_a_run_may_say_how_many_there_are() -> None:
    given = model("RandomNormalLike", X, opset=22, shapes={0: ("n", None)})
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, ?), float32]"
    found = np.asarray(ours(given, X)[0])
    assert found.shape == X.shape
    assert 0.9 < found.std() < 1.1


def test_ones_as_often_as_asked_for() -> None:
    share = np.repeat(np.array([0.0, 0.3, 1.0]), 1000).reshape(3, 1000)
    found = drawn("Bernoulli", share, dtype=TensorProto.INT32)
    assert found.dtype == np.int32
    np.testing.assert_allclose(found.mean(1), [0, 0.3, 1], atol=0.06)


def test_classes_as_likely_as_the_exponentials_of_their_scores() -> None:
    scores = np.log(np.array([[1, 3, 4], [5, 0, 5]], "float32") + 1e-30).astype("float32") + 80
    found = drawn("Multinomial", scores, sample_size=2000, dtype=TensorProto.INT64)
    assert found.dtype == np.int64
    shares = [np.bincount(row, minlength=3) / 2000 for row in found]
    np.testing.assert_allclose(shares, [[0.125, 0.375, 0.5], [0.5, 0, 0.5]], atol=0.05)


def test_scores_have_two_axes() -> None:
    with pytest.raises(FrontendError, match="wrong number of axes"):
        from_onnx(model("Multinomial", X[0], opset=22))
