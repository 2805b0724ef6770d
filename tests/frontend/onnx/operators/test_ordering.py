"""Elements by their order in ONNX."""

from __future__ import annotations

import numpy as np
import pytest

from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model

X = np.array([[3, 1, 3, 2], [0, 5, -1, 5], [7, 7, 7, 0]], "float32")
TWO = np.array([2], "int64")


@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [0, 1])
def test_where_the_greatest_stands(operator: str, last: int) -> None:
    agree(model(operator, X, opset=13, axis=1, select_last_index=last), X)
    agree(model(operator, X, opset=13, axis=-1, keepdims=0, select_last_index=last), X)
    agree(model(operator, X, opset=11, axis=0, shapes={0: ("n", 4)}), X)


def test_the_greatest_by_attribute_by_constant_and_by_input() -> None:
    agree(model("TopK", X, opset=9, outputs=2, k=2, axis=1), X)
    agree(model("TopK", X, Fixed(TWO), opset=10, outputs=2), X)
    agree(model("TopK", X, TWO, opset=11, outputs=2, axis=0), X, TWO)


def test_the_smallest() -> None:
    agree(model("TopK", X, Fixed(TWO), opset=11, outputs=2, largest=0), X)
    data = X.astype("int64")
    agree(model("TopK", data, Fixed(TWO), opset=11, outputs=2, largest=0), data)


def test_none_of_them() -> None:
    given = model("TopK", X, Fixed(np.array([0], "int64")), opset=11, outputs=2)
    agree(given, X, wanted=[np.zeros((3, 0), "float32"), np.zeros((3, 0), "int64")])


def test_none_of_them_in_a_run() -> None:
    given = model("TopK", X, TWO, opset=11, outputs=2, axis=0)
    none = np.array([0], "int64")
    agree(given, X, none, wanted=[np.zeros((0, 4), "float32"), np.zeros((0, 4), "int64")])


def test_how_many_there_are_is_known_of_constants() -> None:
    given = model("TopK", X, Fixed(TWO), opset=11, outputs=2, shapes={0: ("n", 4)})
    wanted = "(Tensor[(n, 2), float32], Tensor[(n, 2), int64])"
    assert main_type(from_onnx(given)[0]) == wanted


@pytest.mark.parametrize("upper", [0, 1])
def test_triangles(upper: int) -> None:
    agree(model("Trilu", X, opset=14, upper=upper), X)
    diagonal = np.array(-1, "int64")
    agree(model("Trilu", X, diagonal, opset=14, upper=upper), X, diagonal)
    agree(model("Trilu", X, Fixed(diagonal), opset=14, upper=upper, shapes={0: ("n", "m")}), X)


def test_where_something_is_not_zero() -> None:
    agree(model("NonZero", X, opset=13), X)
    flags = X > 2
    agree(model("NonZero", flags, opset=13), flags)


@pytest.mark.parametrize("is_sorted", [0, 1])
def test_different_elements(is_sorted: int) -> None:
    agree(model("Unique", X, opset=11, outputs=4, sorted=is_sorted), X)
    data = X.astype("int64")
    agree(model("Unique", data, opset=11, outputs=["y", "", "inverse"], sorted=is_sorted), data)


@pytest.mark.parametrize("is_sorted", [0, 1])
@pytest.mark.parametrize("axis", [0, -1])
def test_different_slices(axis: int, is_sorted: int) -> None:
    data = np.array([[1, 0, 1, 0, 2], [3, 4, 3, 4, 0], [1, 0, 1, 0, 2]], "float32")
    given = model("Unique", data, opset=11, outputs=4, axis=axis, sorted=is_sorted)
    agree(given, data)


@pytest.mark.parametrize("dtype", ["int64", "float32", "int8"])
def test_different_slices_among_many(dtype: str) -> None:
    data = np.random.default_rng(0).integers(0, 3, (300, 2, 3)).astype(dtype)
    agree(model("Unique", data, opset=11, outputs=4, axis=0, shapes={0: ("n", 2, 3)}), data)
