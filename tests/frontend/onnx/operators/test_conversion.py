"""Constants of ONNX in all their forms, and conversion between element types."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import agree, model, ours

X = np.array([[-300.7, -1.5, 0.0], [1.5, 70.2, 1e6]], "float32")

_SPARSE = helper.make_sparse_tensor(
    numpy_helper.from_array(np.array([3.0, 4.0], "float32"), "values"),
    numpy_helper.from_array(np.array([1, 5], "int64"), "places"),
    [2, 3],
)


@pytest.mark.parametrize(
    ("attribute", "wanted"),
    [
        ({"value": numpy_helper.from_array(X)}, X),
        ({"value_int": 7}, np.array(7, "int64")),
        ({"value_ints": [1, 2]}, np.array([1, 2], "int64")),
        ({"value_float": 0.5}, np.array(0.5, "float32")),
        ({"value_floats": [0.5, 2.0]}, np.array([0.5, 2.0], "float32")),
        ({"sparse_value": _SPARSE}, np.array([[0, 3, 0], [0, 0, 4]], "float32")),
    ],
)
def test_constants(attribute: dict[str, Any], wanted: np.ndarray) -> None:
    agree(model("Constant", opset=13, **attribute), wanted=[wanted])


def test_constants_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(FrontendError, match="tensors of string"):
        from_onnx(model("Constant", opset=13, value_string="word"))


def test_the_same_again() -> None:
    agree(model("Identity", X, opset=13), X)


@pytest.mark.parametrize("to", ["INT8", "UINT8", "INT32", "BOOL", "FLOAT16", "DOUBLE"])
def test_conversion(to: str) -> None:
    data = np.array([-3.7, 0.0, 1.5, 100.2], "float32")
    if to == "UINT8":
        data = np.abs(data)
    agree(model("Cast", data, opset=13, to=TensorProto.DataType.Value(to)), data)


def test_version_1_names_the_element_type() -> None:
    agree(model("Cast", X, opset=1, to="INT32"), X, wanted=[X.astype("int32")])
    agree(model("Cast", X, opset=1, to="DOUBLE"), X, wanted=[X.astype("float64")])


def test_integers_keep_their_low_bits() -> None:
    data = np.array([200, -200, 256], "int16")
    agree(model("Cast", data, opset=13, to=TensorProto.INT8), data)


def test_conversion_to_the_type_of_another() -> None:
    like = np.array([1], "int64")
    agree(model("CastLike", X, like, opset=15), X, like)


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_floats_of_eight_bits_saturate_or_do_not(name: str, saturate: int) -> None:
    data = np.array([0.47, 1e6, -1e6, np.inf, np.nan, 17.2], "float32")
    kind = {"float8_e4m3fn": TensorProto.FLOAT8E4M3FN, "float8_e5m2": TensorProto.FLOAT8E5M2}
    given = model("Cast", data, opset=19, to=kind[name], saturate=saturate)
    dtype = np.dtype(getattr(ml_dtypes, name))
    largest = float(ml_dtypes.finfo(dtype).max)
    with np.errstate(over="ignore", invalid="ignore"):
        wanted = (np.clip(data, -largest, largest) if saturate else data).astype(dtype)
    (found,) = ours(given, data)
    np.testing.assert_array_equal(np.asarray(found).astype("float32"), wanted.astype("float32"))


def test_floats_become_integers_of_four_bits_by_their_low_bits() -> None:
    data = np.array([-9.0, -1.7, 3.2, 8.0], "float32")
    (found,) = ours(model("Cast", data, opset=21, to=TensorProto.INT4), data)
    np.testing.assert_array_equal(np.asarray(found).astype("int32"), [7, -1, 3, -8])


def test_bits_are_read_as_another_type() -> None:
    data = np.array([1.0, -2.5], "float32")
    agree(model("BitCast", data, opset=26, to=TensorProto.INT32), data, wanted=[data.view("int32")])
    flags = np.array([True, False])
    given = model("BitCast", flags, opset=26, to=TensorProto.UINT8)
    agree(given, flags, wanted=[np.array([1, 0], "uint8")])


def test_bits_of_another_width_are_refused() -> None:
    with pytest.raises(FrontendError, match="element types differ in width"):
        from_onnx(model("BitCast", X, opset=26, to=TensorProto.INT64))


def test_text_is_no_element_type() -> None:
    with pytest.raises(FrontendError, match="tensors of string"):
        from_onnx(model("Cast", X, opset=13, to=onnx.TensorProto.STRING))
