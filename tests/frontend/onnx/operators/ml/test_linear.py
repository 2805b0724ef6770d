"""Linear models and support vector machines against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import agree, main_type, model

RANDOM = np.random.default_rng(8)
X = RANDOM.normal(size=(6, 3)).astype("float32")
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]
LINEAR: dict[str, Any] = {"kernel_type": "LINEAR", "kernel_params": [0.0, 0.0, 3.0]}
KERNELS = ["LINEAR", "POLY", "RBF", "SIGMOID"]


def ml(operator: str, data: np.ndarray, **more: Any) -> onnx.ModelProto:
    return model(operator, data, opset=17, domain="ai.onnx.ml", **more)


def some(*shape: int, low: float = -1.0) -> list[float]:
    return [float(one) for one in RANDOM.uniform(low, 1, shape).astype("float32").reshape(-1)]


@pytest.mark.parametrize("targets", [1, 2])
def test_linear_regression(targets: int) -> None:
    attributes: dict[str, Any] = {"coefficients": some(targets, 3), "targets": targets}
    agree(ml("LinearRegressor", X, intercepts=some(targets), **attributes), X)
    given = ml("LinearRegressor", X, shapes={0: ("n", None)}, **attributes)
    assert main_type(from_onnx(given)[0]) == f"Tensor[(n, {targets}), float32]"
    agree(given, X)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_linear_classes(transform: str) -> None:
    for rows, labels in ((1, [5, 6]), (2, [5, 6]), (3, [9, 7, 8])):
        given = ml(
            "LinearClassifier",
            X,
            outputs=2,
            coefficients=some(rows, 3),
            intercepts=some(rows),
            classlabels_ints=labels,
            post_transform=transform,
        )
        agree(given, X)


def test_one_score_without_labels() -> None:
    given = ml("LinearClassifier", X, outputs=2, coefficients=some(3), intercepts=some(1))
    agree(given, X)


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_features_of_other_types(dtype: str) -> None:
    data = (4 * X).astype(dtype)
    given = ml(
        "LinearClassifier",
        data,
        outputs=2,
        coefficients=some(2, 3),
        intercepts=some(2),
        classlabels_ints=[0, 1],
    )
    agree(given, data)


@pytest.mark.parametrize("kernel", KERNELS)
def test_regression_by_support_vectors(kernel: str) -> None:
    attributes: dict[str, Any] = {
        "coefficients": some(4),
        "support_vectors": some(4, 3),
        "n_supports": 4,
        "rho": [0.1],
        "kernel_type": kernel,
        "kernel_params": [0.5, 1.0, 3.0],
    }
    agree(ml("SVMRegressor", X, **attributes), X)
    agree(ml("SVMRegressor", X, one_class=1, **attributes), X)


def test_regression_without_support_vectors() -> None:
    agree(ml("SVMRegressor", X, coefficients=some(3), rho=[0.1], **LINEAR), X)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("counts", [[2, 3], [1, 2, 2, 1]])
def test_classes_by_support_vectors(counts: list[int], transform: str) -> None:
    agree(ml("SVMClassifier", X, outputs=2, **machine(counts, post_transform=transform)), X)


@pytest.mark.parametrize("counts", [[2, 3], [1, 2, 2, 1]])
def test_probabilities_of_classes(counts: list[int]) -> None:
    pairs = len(counts) * (len(counts) - 1) // 2
    attributes = machine(counts, prob_a=[-2 * abs(one) for one in some(pairs)], prob_b=some(pairs))
    agree(ml("SVMClassifier", X, outputs=2, **attributes), X, rtol=1e-4, atol=1e-5)


def machine(counts: list[int], **more: Any) -> dict[str, Any]:
    """A machine with so many support vectors for each class."""
    classes, total = len(counts), sum(counts)
    return {
        "coefficients": some(classes - 1, total),
        "support_vectors": some(total, 3),
        "vectors_per_class": counts,
        "rho": some(classes * (classes - 1) // 2),
        "classlabels_ints": list(range(10, 10 + classes)),
        "kernel_type": "RBF",
        "kernel_params": [0.5, 0.0, 3.0],
    } | more


def test_classes_without_support_vectors() -> None:
    given = ml(
        "SVMClassifier",
        X,
        outputs=2,
        coefficients=some(3, 3),
        rho=[0.1, 0.2, 0.3],
        classlabels_ints=[4, 5, 6],
        **LINEAR,
    )
    agree(given, X)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(FrontendError, match="are no 2 rows"):
        from_onnx(ml("LinearRegressor", X, coefficients=some(5), targets=2))
    with pytest.raises(FrontendError, match="there is no such kernel"):
        attributes = machine([1, 1], kernel_type="CUBIC")
        from_onnx(ml("SVMClassifier", X, outputs=2, **attributes))
    with pytest.raises(FrontendError, match="strings cannot be computed with"):
        attributes = machine([1, 1]) | {"classlabels_strings": ["a", "b"]}
        from_onnx(ml("SVMClassifier", X, outputs=2, **attributes))
