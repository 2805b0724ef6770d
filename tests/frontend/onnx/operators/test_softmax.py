"""Shares of a whole of ONNX, along one axis and along all from one on."""

from __future__ import annotations

import numpy as np
import pytest

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import agree, main_type, model, reference

X = np.random.default_rng(2).normal(size=(2, 3, 4)).astype("float32")
OPERATORS = ["Softmax", "LogSoftmax", "Hardmax"]


@pytest.mark.parametrize("operator", OPERATORS)
def test_along_one_axis(operator: str) -> None:
    agree(model(operator, X, opset=13), X)
    agree(model(operator, X, opset=13, axis=1), X)
    agree(model(operator, X, opset=13, axis=-3), X)


@pytest.mark.parametrize("operator", OPERATORS)
def test_along_all_axes_from_one_on(operator: str) -> None:
    agree(model(operator, X, opset=11), X)
    agree(model(operator, X, opset=1, axis=0), X)
    agree(model(operator, X, opset=11, axis=-1), X)
    agree(model(operator, X[:, :, :1], opset=11, axis=1), X[:, :, :1])


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("opset", [11, 13])
def test_named_dimensions_stay(operator: str, opset: int) -> None:
    given = model(operator, X, opset=opset, shapes={0: ("n", "m", 4)}, axis=1)
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, m, 4), float32]"
    agree(given, X)


def test_all_dimensions_have_names() -> None:
    agree(model("Softmax", X, opset=11, shapes={0: ("n", "m", "k")}, axis=1), X)


def test_the_first_of_the_greatest() -> None:
    data = np.array([[1, 3, 3], [2, 2, 2]], "float32")
    agree(model("Hardmax", data, opset=13), data)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_element_types(dtype: str) -> None:
    data = X.astype(dtype)
    agree(model("Softmax", data, opset=13), data, oracle=reference, rtol=2e-3, atol=1e-3)


def test_an_axis_that_is_not_there_is_refused() -> None:
    with pytest.raises(FrontendError, match="out of range"):
        from_onnx(model("Softmax", X, opset=13, axis=3))
