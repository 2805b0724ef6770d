"""Reductions of ONNX at every version, with axes from everywhere."""

from __future__ import annotations

import numpy as np
import pytest

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model, reference

X = np.random.default_rng(1).uniform(0.5, 3, (2, 3, 4)).astype("float32")
OPERATORS = [
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
]


def axes(*numbers: int) -> np.ndarray:
    return np.array(numbers, "int64")


@pytest.mark.parametrize("operator", OPERATORS)
def test_axes_are_an_attribute_and_then_an_input(operator: str) -> None:
    agree(model(operator, X, opset=11, axes=[-1, 0], keepdims=0), X)
    agree(model(operator, X, Fixed(axes(1)), opset=18), X)
    agree(model(operator, X, axes(-2), opset=18, keepdims=0), X, axes(-2))


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceLogSumExp"])
def test_without_axes_all_go(operator: str) -> None:
    agree(model(operator, X, opset=11), X)
    agree(model(operator, X, opset=18, keepdims=0), X)
    agree(model(operator, X, Fixed(axes()), opset=18), X)
    agree(model(operator, X, axes(), opset=18), X, axes())


def test_sums_have_their_axes_as_an_input_before_others() -> None:
    agree(model("ReduceSum", X, Fixed(axes(0, 2)), opset=13, keepdims=0), X)


def test_axes_that_a_run_finds() -> None:
    for chosen in (axes(1), axes(-1), axes(0)):
        agree(model("ReduceMean", X, axes(0), opset=18), X, chosen)
    given = model("ReduceMax", X, axes(0, 1), opset=18, keepdims=0, shapes={0: ("n", None, 4)})
    assert main_type(from_onnx(given)[0]) == "Tensor[(?), float32]"
    for chosen in (axes(0, 1), axes(-1, 1), axes(2, 0)):
        agree(given, X, chosen)
    agree(model("ReduceMin", X, axes(0, 1, 2), opset=18), X, axes(2, 0, 1))


@pytest.mark.parametrize("noop", [0, 1])
def test_how_many_axes_go_may_be_open_where_they_are_kept(noop: int) -> None:
    given = model("ReduceSum", X, axes(0), opset=13, shapes={1: (None,)}, noop_with_empty_axes=noop)
    agree(given, X, axes(1, 2))
    agree(given, X, axes(), wanted=[X if noop else X.sum(keepdims=True)])


def test_no_axes_leave_what_is_done_to_each_element() -> None:
    for operator, wanted in (
        ("ReduceSum", X),
        ("ReduceSumSquare", X * X),
        ("ReduceLogSum", np.log(X)),
    ):
        given = model(operator, X, Fixed(axes()), opset=18, noop_with_empty_axes=1)
        agree(given, X, wanted=[wanted])


def test_nothing_reduced_is_what_changes_nothing() -> None:
    none = np.zeros((2, 0, 4), "float32")
    for operator, value in (
        ("ReduceSum", 0.0),
        ("ReduceProd", 1.0),
        ("ReduceMax", -np.inf),
        ("ReduceMin", np.inf),
        ("ReduceL2", 0.0),
        ("ReduceLogSum", -np.inf),
        ("ReduceLogSumExp", -np.inf),
    ):
        wanted = np.full((2, 1, 4), value, "float32")
        agree(model(operator, none, axes(1), opset=20), none, axes(1), wanted=[wanted])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float64"])
def test_extrema_of_other_elements(dtype: str) -> None:
    data = np.array([[3, 100, 7], [0, 1, 2]], dtype)
    for operator in ("ReduceMax", "ReduceMin"):
        agree(model(operator, data, Fixed(axes(1)), opset=18), data)


def test_extrema_of_truth_values() -> None:
    data = np.array([[True, False], [False, False], [True, True]])
    agree(model("ReduceMax", data, Fixed(axes(1)), opset=20), data)
    agree(model("ReduceMin", data, axes(1), opset=20, keepdims=0), data, axes(1))


@pytest.mark.parametrize("operator", ["ReduceL1", "ReduceMean", "ReduceProd", "ReduceSumSquare"])
def test_integers(operator: str) -> None:
    data = np.array([[3, -4, 9], [0, 1, 2]], "int32")
    agree(model(operator, data, opset=13, axes=[1]), data)


def test_norms_of_integers_are_cut_off() -> None:
    data = np.array([[3, 4], [5, 6]], "int32")
    agree(
        model("ReduceL2", data, Fixed(axes(1)), opset=18),
        data,
        wanted=[np.array([[5], [7]], "int32")],
    )


def test_squares_of_narrow_floats_do_not_overflow_on_the_way() -> None:
    data = np.array([[300, 400]], "float16")
    agree(
        model("ReduceL2", data, Fixed(axes(1)), opset=18),
        data,
        wanted=[np.array([[500]], "float16")],
    )


def test_infinities_among_exponentials() -> None:
    inf = np.inf
    data = np.array([[1, -inf, 2], [-inf, -inf, -inf], [inf, 0, 1], [1000, 1000, 999]], "float32")
    wanted = np.logaddexp.reduce(data.astype("float64"), axis=1, keepdims=True).astype("float32")
    agree(model("ReduceLogSumExp", data, Fixed(axes(1)), opset=18), data, wanted=[wanted])


def test_named_dimensions_stay() -> None:
    given = model("ReduceSum", X, Fixed(axes(1)), opset=13, shapes={0: ("n", 3, "m")})
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 1, m), float32]"
    agree(given, X)


@pytest.mark.parametrize("power", [1, 2])
def test_norms_by_which_elements_are_divided(power: int) -> None:
    data = np.array([[3, -4, 0], [0, 0, 0]], "float32")
    agree(model("LpNormalization", data, opset=1, p=power), data)
    agree(model("LpNormalization", data, opset=22, p=power, axis=0), data)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(FrontendError, match="an axis is out of range"):
        from_onnx(model("ReduceSum", X, Fixed(axes(3)), opset=13))
    with pytest.raises(FrontendError, match="how many axes go must be known"):
        from_onnx(model("ReduceSum", X, axes(0), opset=13, shapes={1: (None,)}, keepdims=0))
    with pytest.raises(FrontendError, match="axes have the wrong number of axes"):
        from_onnx(model("ReduceSum", X, np.zeros((1, 1), "int64"), opset=13))
    with pytest.raises(FrontendError, match="there is no such norm"):
        from_onnx(model("LpNormalization", X, opset=1, p=3))


def test_narrow_floats() -> None:
    data = X.astype("float16")
    given = model("ReduceLogSumExp", data, Fixed(axes(1)), opset=18)
    agree(given, data, oracle=reference, rtol=2e-3, atol=1e-3)
