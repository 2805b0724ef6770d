"""Activations of ONNX against ONNX Runtime, and against its reference where that lacks them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model, reference

X = np.concatenate([np.linspace(-6, 6, 23), [-0.0]]).astype("float32").reshape(2, 3, 4)

CASES: list[tuple[str, int, dict[str, Any]]] = [
    ("Relu", 14, {}),
    ("LeakyRelu", 6, {}),
    ("LeakyRelu", 16, {"alpha": 0.3}),
    ("Elu", 6, {"alpha": 1.3}),
    ("Selu", 6, {}),
    ("Selu", 6, {"alpha": 2.0, "gamma": 3.0}),
    ("Celu", 12, {"alpha": 0.7}),
    ("Gelu", 20, {}),
    ("Gelu", 20, {"approximate": "tanh"}),
    ("HardSigmoid", 6, {"alpha": 0.3, "beta": 0.4}),
    ("HardSwish", 14, {}),
    ("Mish", 18, {}),
    ("Softplus", 1, {}),
    ("Softsign", 1, {}),
    ("ThresholdedRelu", 10, {"alpha": 0.5}),
    ("Shrink", 9, {"lambd": 1.5, "bias": 0.5}),
]


@pytest.mark.parametrize(("operator", "opset", "attributes"), CASES)
def test_activations(operator: str, opset: int, attributes: dict[str, Any]) -> None:
    agree(model(operator, X, opset=opset, **attributes), X)


def test_swish_and_the_gate_made_of_it() -> None:
    agree(model("Swish", X, opset=24, alpha=0.5), X, oracle=reference)
    other = X[::-1].copy()
    given = model("SwiGLU", X, other, opset=28)
    agree(given, X, other, wanted=[X / (1 + np.exp(-X)) * other])


def test_softplus_loses_nothing_far_from_zero() -> None:
    data = np.array([-80.0, -30.0, -20.0, 0.0, 80.0, 100.0], "float32")
    wanted = np.logaddexp(0, data.astype("float64")).astype("float32")
    agree(model("Softplus", data, opset=1), data, wanted=[wanted], rtol=1e-6, atol=0)


def test_version_1_of_selu_has_fewer_digits() -> None:
    wanted = np.where(X > 0, 1.0507 * X, 1.0507 * (1.6732 * np.exp(X) - 1.6732))
    agree(model("Selu", X, opset=1), X, wanted=[wanted.astype("float32")])


def test_integers_are_cut_off_and_shrunk() -> None:
    data = np.array([-3, 0, 5], "int32")
    agree(model("Relu", data, opset=14), data)
    agree(model("Shrink", data, opset=9, lambd=1.0, bias=1.0), data)


def test_slopes_of_channels_and_slopes_that_are_broadcast() -> None:
    slopes = np.array([0.1, 0.2, 0.3], "float32")
    wanted = np.where(X < 0, X * slopes[:, None], X)
    agree(model("PRelu", X, Fixed(slopes), opset=6), X, wanted=[wanted])
    one = np.array([0.5], "float32")
    agree(model("PRelu", X, Fixed(one), opset=6), X, wanted=[np.where(X < 0, X * 0.5, X)])
    agree(model("PRelu", X, Fixed(slopes[:, None]), opset=16), X)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_element_types(dtype: str) -> None:
    data = X.astype(dtype)
    agree(model("HardSigmoid", data, opset=6), data, oracle=reference, rtol=1e-3, atol=1e-3)


def test_named_dimensions_stay() -> None:
    given = model("Mish", X, opset=18, shapes={0: ("n", None, 4)})
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, ?, 4), float32]"
    agree(given, X)
