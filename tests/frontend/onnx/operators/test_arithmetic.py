"""Arithmetic of ONNX, where its meaning changed and where element types meet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model, ours

X = np.random.default_rng(0).uniform(-3, 3, (2, 3, 4)).astype("float32")
ROWS = np.random.default_rng(1).uniform(1, 2, (3,)).astype("float32")


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div"])
def test_before_version_7_an_attribute_says_where_the_right_operand_stands(operator: str) -> None:
    given = model(operator, X, ROWS, opset=6, broadcast=1, axis=1)
    function = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[operator]
    agree(given, X, ROWS, wanted=[function(X, ROWS[:, None])])


def test_from_version_7_on_operands_are_broadcast_from_the_back() -> None:
    agree(model("Add", X, ROWS[:, None], opset=7), X, ROWS[:, None])
    agree(model("Sub", ROWS[:1], X, opset=14), ROWS[:1], X)


def test_division_of_integers_rounds_towards_zero() -> None:
    left, right = np.array([7, -7, 7, -7], "int32"), np.array([2, 2, -2, -2], "int32")
    agree(model("Div", left, right, opset=14), left, right)


@pytest.mark.parametrize("fmod", [0, 1])
def test_the_remainder_has_the_sign_of_the_divisor_or_of_the_dividend(fmod: int) -> None:
    left, right = np.array([7, -7, 7, -7], "int64"), np.array([3, 3, -3, -3], "int64")
    agree(model("Mod", left, right, opset=13, fmod=fmod), left, right)


def test_the_remainder_of_floats() -> None:
    left, right = np.array([7.5, -7.5, 7.5], "float32"), np.array([3, 3, -3], "float32")
    agree(model("Mod", left, right, opset=13, fmod=1), left, right)


@pytest.mark.parametrize(
    ("base", "exponent"),
    [("float32", "int64"), ("int32", "float32"), ("float64", "float32")],
)
def test_a_power_has_the_type_of_its_base(base: str, exponent: str) -> None:
    left, right = np.array([1, 2, 3], base), np.array([4, 5, 6], exponent)
    agree(model("Pow", left, right, opset=15), left, right)


@pytest.mark.parametrize("exponent", [1, 2, 3.0, 13, 2.5])
def test_a_power_of_integers_that_is_known(exponent: float) -> None:
    base = np.array([0, 1, -2, 3], "int64") if exponent != 2.5 else np.array([0, 1, 4, 9], "int64")
    agree(model("Pow", base, Fixed(np.array([exponent])), opset=15), base)
    given = model("Pow", base, Fixed(np.array(exponent, "float32")), opset=15)
    agree(given, base, wanted=[(base**exponent).astype("int64")])


def test_a_power_before_version_7_is_aligned_too() -> None:
    base = np.abs(X)
    given = model("Pow", base, ROWS, opset=1, broadcast=1, axis=1)
    agree(given, base, ROWS, wanted=[base ** ROWS[:, None]])


@pytest.mark.parametrize("operator", ["Sum", "Mean", "Max", "Min"])
@pytest.mark.parametrize("opset", [8, 13])
def test_many_operands(operator: str, opset: int) -> None:
    agree(model(operator, X, X[:1] * 2, ROWS[:, None], opset=opset), X, X[:1] * 2, ROWS[:, None])
    agree(model(operator, X, opset=opset), X)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint16"])
def test_extremes_of_other_element_types(dtype: str) -> None:
    left, right = np.array([1, 5, 3], dtype), np.array([4, 2, 3], dtype)
    if dtype in ("float16", "float64"):
        agree(model("Max", left, right, opset=13), left, right)
        return
    agree(model("Max", left, right, opset=13), left, right, wanted=[np.maximum(left, right)])


_DOMAINS: dict[str, tuple[float, float]] = {
    "Abs": (-3, 3),
    "Acos": (-1, 1),
    "Acosh": (1, 9),
    "Asin": (-1, 1),
    "Asinh": (-3, 3),
    "Atan": (-3, 3),
    "Atanh": (-0.9, 0.9),
    "Ceil": (-3, 3),
    "Cos": (-3, 3),
    "Cosh": (-3, 3),
    "Erf": (-3, 3),
    "Exp": (-3, 3),
    "Floor": (-3, 3),
    "Log": (0.1, 9),
    "Neg": (-3, 3),
    "Reciprocal": (1, 3),
    "Round": (-3, 3),
    "Sigmoid": (-9, 9),
    "Sign": (-3, 3),
    "Sin": (-3, 3),
    "Sinh": (-3, 3),
    "Sqrt": (0, 9),
    "Tan": (-1, 1),
    "Tanh": (-3, 3),
}


@pytest.mark.parametrize("operator", _DOMAINS)
def test_functions_of_one_number(operator: str) -> None:
    data = np.random.default_rng(2).uniform(*_DOMAINS[operator], (3, 5)).astype("float32")
    agree(model(operator, data, opset=14), data)


def test_halves_are_rounded_to_even_numbers() -> None:
    data = np.array([0.5, 1.5, 2.5, -0.5, -1.5], "float64")
    agree(model("Round", data, opset=11), data)


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts(direction: str) -> None:
    left, right = np.array([16, 4, 255], "uint8"), np.array([1, 2, 3], "uint8")
    agree(model("BitShift", left, right, opset=11, direction=direction), left, right)


@pytest.mark.parametrize("operator", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
def test_bits(operator: str) -> None:
    left, right = np.array([[12, -7], [3, 8]], "int32"), np.array([10, 5], "int32")
    agree(model(operator, left, right, opset=18), left, right)


def test_bits_turned_over() -> None:
    data = np.array([0, 5, 255], "uint8")
    agree(model("BitwiseNot", data, opset=18), data)


def test_named_dimensions_stay() -> None:
    given = model("Add", X, X[:1], opset=14, shapes={0: ("n", 3, 4), 1: (1, 3, 4)})
    mod, _ = from_onnx(given)
    assert main_type(mod) == "Tensor[(n, 3, 4), float32]"
    agree(given, X, X[:1])


def test_a_scalar_goes_with_names_that_differ() -> None:
    given = model(
        "Sum", X, X, np.array(2, "float32"), opset=13, shapes={0: ("n", 3, 4), 1: (2, 3, "k")}
    )
    agree(given, X, X, np.array(2, "float32"))


@pytest.mark.parametrize("extent", [1, 2])
def test_names_that_differ_may_stand_for_one_number_or_for_1(extent: int) -> None:
    given = model("Add", X, X[:1], opset=14, shapes={0: ("n", 3, 4), 1: ("m", 3, "k")})
    agree(given, X, X[:extent])
    agree(given, X, X[:extent, :, :1])


def test_constants_are_computed_at_once() -> None:
    given = model("Mul", Fixed(ROWS), Fixed(ROWS), opset=14)
    assert "multiply" not in str(from_onnx(given)[0]["main"])
    np.testing.assert_allclose(ours(given)[0], ROWS * ROWS)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: model("BitShift", X, X, opset=11, direction="UP"), "no such direction"),
        (lambda: model("BitShift", X, X, opset=11), "`direction` is missing"),
        (lambda: model("Add", X, X[:, :2], opset=14), "do not broadcast"),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        from_onnx(given())
