"""Running totals of ONNX against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model, reference

X = np.random.default_rng(3).uniform(0.5, 2, (2, 3, 4)).astype("float32")


def axis(number: int) -> np.ndarray:
    return np.array(number, "int32")


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_totals_from_either_end(exclusive: int, reverse: int) -> None:
    attributes: dict[str, Any] = {"exclusive": exclusive, "reverse": reverse}
    agree(model("CumSum", X, Fixed(axis(-2)), opset=14, **attributes), X)
    agree(model("CumProd", X, Fixed(axis(1)), opset=26, **attributes), X, oracle=reference)


def test_an_axis_that_a_run_finds() -> None:
    given = model("CumSum", X, axis(0), opset=14, shapes={0: ("n", 3, "m")})
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 3, m), float32]"
    for number in (0, 1, 2, -1, -2, -3):
        agree(given, X, axis(number))
    row = np.arange(5)
    agree(model("CumSum", row, axis(0), opset=11, reverse=1), row, axis(-1))


def test_axes_of_one_element() -> None:
    agree(model("CumSum", X, Fixed(np.array([1], "int64")), opset=11), X)


def test_integers() -> None:
    data = np.arange(6, dtype="int32").reshape(2, 3)
    agree(model("CumSum", data, Fixed(axis(1)), opset=14, exclusive=1), data)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(FrontendError, match="the axis is out of range"):
        from_onnx(model("CumSum", X, Fixed(axis(3)), opset=14))
    with pytest.raises(FrontendError, match="the axis is not one number"):
        from_onnx(model("CumSum", X, Fixed(np.zeros(2, "int64")), opset=14))
    with pytest.raises(FrontendError, match="a scalar has no axis"):
        from_onnx(model("CumSum", np.array(1, "float32"), Fixed(axis(0)), opset=14))
