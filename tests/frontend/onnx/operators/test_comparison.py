"""Comparison, logic, choice and bounds of ONNX."""

from __future__ import annotations

import numpy as np
import pytest

from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model

X = np.array([[1, 5, 3], [4, -2, 0]], "float32")
Y = np.array([[1, 4, 4], [4, 0, -1]], "float32")
YES = np.array([[True, False, True], [False, False, True]])


@pytest.mark.parametrize("operator", ["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"])
@pytest.mark.parametrize("dtype", ["float32", "int64", "float16"])
def test_comparison(operator: str, dtype: str) -> None:
    left, right = X.astype(dtype), Y.astype(dtype)
    agree(model(operator, left, right, opset=19), left, right)


@pytest.mark.parametrize("operator", ["And", "Or", "Xor"])
def test_logic(operator: str) -> None:
    agree(model(operator, YES, ~YES[:, :1], opset=7), YES, ~YES[:, :1])


def test_before_version_7_the_right_operand_starts_at_an_axis() -> None:
    column = np.array([3, 0], "float32")
    given = model("Greater", X, column, opset=1, broadcast=1, axis=0)
    agree(given, X, column, wanted=[column[:, None] < X])
    flags = np.array([True, False])
    given = model("And", YES, flags, opset=1, broadcast=1, axis=0)
    agree(given, YES, flags, wanted=[YES & flags[:, None]])


def test_not_and_where() -> None:
    agree(model("Not", YES, opset=1), YES)
    agree(model("Where", YES, X, Y[:1], opset=16), YES, X, Y[:1])


def test_truth_values_are_compared() -> None:
    agree(model("Equal", YES, ~YES, opset=13), YES, ~YES)


ODD = np.array([np.nan, np.inf, -np.inf, 1], "float32")


def test_what_is_no_number() -> None:
    agree(model("IsNaN", ODD, opset=13), ODD)


@pytest.mark.parametrize("above", [0, 1])
@pytest.mark.parametrize("below", [0, 1])
def test_infinities_of_either_sign(above: int, below: int) -> None:
    given = model("IsInf", ODD, opset=10, detect_positive=above, detect_negative=below)
    agree(given, ODD)


# --- bounds


def test_bounds_are_attributes_before_version_11() -> None:
    agree(model("Clip", X, opset=6, min=-1.0, max=3.0), X)
    agree(model("Clip", X, opset=6, max=3.0), X)
    agree(model("Clip", X, opset=6), X)


def test_bounds_are_constants_or_of_a_run_from_version_11_on() -> None:
    low, high = np.array(-1, "float32"), np.array(3, "float32")
    agree(model("Clip", X, Fixed(low), Fixed(high), opset=11), X)
    agree(model("Clip", X, low, high, opset=13), X, low, high)
    agree(model("Clip", X, None, Fixed(high), opset=13), X)
    agree(model("Clip", X, low, opset=13), X, low)


def test_bounds_of_integers_are_exact() -> None:
    data = np.array([2**62 + 1, -(2**62) - 1, 5], "int64")
    low, high = np.array(-(2**62) + 1, "int64"), np.array(2**62 - 1, "int64")
    agree(model("Clip", data, Fixed(low), Fixed(high), opset=13), data)


def test_an_upper_bound_below_the_lower_one_wins() -> None:
    low, high = np.array(3, "float32"), np.array(1, "float32")
    agree(model("Clip", X, Fixed(low), Fixed(high), opset=13), X)


def test_named_dimensions_stay() -> None:
    given = model("Where", YES, X, Y, opset=16, shapes={0: ("n", 3), 1: ("n", 3), 2: (1, 3)})
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 3), float32]"
