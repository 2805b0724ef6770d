"""Features before models, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model, reference

X = np.array([[1, -2, 3], [0, 0, 0], [4, 5, -7.5]], "float32")


def ml(operator: str, *inputs: Any, version: int = 1, **more: Any) -> onnx.ModelProto:
    return model(operator, *inputs, opset=17, domain="ai.onnx.ml", version=version, **more)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int32"])
def test_scales(dtype: str) -> None:
    data = X.astype(dtype)
    agree(ml("Scaler", data, offset=[1.0, 2.0, 3.0], scale=[0.5, 2.0, 1.0]), data)
    agree(ml("Scaler", data, offset=[1.0], scale=[0.25], shapes={0: ("n", "m")}), data)


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_norms(norm: str, dtype: str) -> None:
    data = np.abs(X).astype(dtype)
    agree(ml("Normalizer", data, norm=norm), data)


def test_norms_of_what_is_negative() -> None:
    agree(ml("Normalizer", X, norm="L1"), X)
    agree(ml("Normalizer", X, norm="L2", shapes={0: ("n", 3)}), X)


def test_thresholds() -> None:
    agree(ml("Binarizer", X, threshold=1.0), X)


def test_what_is_missing_is_replaced() -> None:
    data = X.copy()
    data[1, 1] = np.nan
    nan = float("nan")
    values = [7.0, 8.0, 9.0]
    agree(ml("Imputer", data, imputed_value_floats=values, replaced_value_float=nan), data)
    agree(ml("Imputer", data, imputed_value_floats=[5.0], replaced_value_float=0.0), data)
    whole = X.astype("int64")
    agree(ml("Imputer", whole, imputed_value_int64s=[9], replaced_value_int64=4), whole)


def test_numbers_are_looked_up() -> None:
    whole = np.array([[3, 1, 2], [9, 3, -4]], "int64")
    given = ml(
        "LabelEncoder",
        whole,
        version=2,
        keys_int64s=[3, -4, 1],
        values_floats=[0.5, 1.5, 2.5],
        default_float=-1.0,
    )
    agree(given, whole)
    given = ml("LabelEncoder", X, version=2, keys_floats=[4.0, -2.0], values_int64s=[10, 20])
    agree(given, X)


def test_keys_that_are_no_numbers_and_keys_in_tensors() -> None:
    data = np.array([1, np.nan, 2], "float32")
    given = ml(
        "LabelEncoder",
        data,
        version=4,
        keys_floats=[1.0, float("nan")],
        values_floats=[5.0, 6.0],
        default_float=7.0,
    )
    agree(given, data)
    keys = numpy_helper.from_array(np.array([1, 2], "int32"))
    values = numpy_helper.from_array(np.array([10, 20], "int16"))
    default = numpy_helper.from_array(np.array([-3], "int16"))
    whole = np.array([2, 5, 1], "int32")
    given = ml(
        "LabelEncoder",
        whole,
        version=4,
        keys_tensor=keys,
        values_tensor=values,
        default_tensor=default,
    )
    agree(given, whole, wanted=[np.array([20, -3, 10], "int16")])


def test_categories() -> None:
    whole = np.array([[3, 1], [9, 3]], "int64")
    agree(ml("OneHotEncoder", whole, cats_int64s=[1, 3, 4], zeros=1), whole)
    given = ml("OneHotEncoder", X, cats_int64s=[1, 3, 4], zeros=1, shapes={0: ("n", 3)})
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 3, 3), float32]"
    agree(given, X)


def test_features_side_by_side() -> None:
    other = np.arange(6, dtype="float32").reshape(3, 2)
    agree(ml("FeatureVectorizer", X, other, inputdimensions=[3, 2]), X, other)
    given = ml("FeatureVectorizer", X, other, inputdimensions=[2, 2])
    agree(given, X, other, wanted=[np.concatenate([X[:, :2], other], 1)])


def test_some_features() -> None:
    places = np.array([[2, 0]], "int64")
    agree(ml("ArrayFeatureExtractor", X, Fixed(places)), X)
    row = X[0].copy()
    agree(ml("ArrayFeatureExtractor", row, places), row, places, oracle=reference)


def test_strings_are_refused() -> None:
    with pytest.raises(FrontendError, match="strings cannot be computed with"):
        whole = np.array([1], "int64")
        from_onnx(ml("LabelEncoder", whole, version=2, keys_int64s=[1], values_strings=["a"]))
    with pytest.raises(FrontendError, match="ZipMap"):
        from_onnx(ml("ZipMap", X, classlabels_int64s=[1, 2, 3]))
