"""Tensors of every element type in every form a file has them in; sparse ones; other files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import SparseTensorProto, TensorProto, helper, numpy_helper

import relay.onnx_backend as backend
from relay import dtypes
from relay.driver import compile as compile_model
from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from relay.frontend.onnx.tensors import Files, array_of, dense
from relay.frontend.onnx.types import ELEMENT_TYPES
from tests.frontend.onnx.oracle import of_graph, ours, value

NARROW = [dtype for dtype in dtypes.NAMES if 1 < dtypes.bits(dtype) <= 8]


def every(dtype: str) -> np.ndarray:
    """All numbers of a narrow type."""
    bits = dtypes.bits(dtype)
    codes = np.arange(1 << bits, dtype="uint8")
    if dtype in dtypes.SIGNED:
        return codes.astype("int8").astype(dtypes.to_numpy(dtype)) if bits == 8 else _signed(dtype)
    return codes.view(dtypes.to_numpy(dtype)) if dtypes.is_float(dtype) else _unsigned(dtype)


def _signed(dtype: str) -> np.ndarray:
    half = 1 << dtypes.bits(dtype) - 1
    return np.arange(-half, half).astype(dtypes.to_numpy(dtype))


def _unsigned(dtype: str) -> np.ndarray:
    return np.arange(1 << dtypes.bits(dtype)).astype(dtypes.to_numpy(dtype))


def same_bits(found: np.ndarray, wanted: np.ndarray) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert found.tobytes() == wanted.tobytes()


# --- forms -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NARROW)
def test_every_number_of_a_narrow_type_comes_out_of_raw_bytes(dtype: str) -> None:
    for array in (every(dtype), every(dtype)[:-1], every(dtype)[:3].reshape(3, 1)):
        same_bits(array_of(numpy_helper.from_array(array, "x"), Files()), array)


@pytest.mark.parametrize("dtype", NARROW)
def test_every_number_of_a_narrow_type_comes_out_of_a_list_of_integers(dtype: str) -> None:
    array = every(dtype)
    packed = numpy_helper.from_array(array, "x")
    bits = dtypes.bits(dtype)
    listed = np.frombuffer(packed.raw_data, "uint8") if bits in (2, 4) else array.view("uint8")
    given = TensorProto(data_type=packed.data_type, dims=array.shape, int32_data=listed.tolist())
    same_bits(array_of(given, Files()), array)


@pytest.mark.parametrize("number", sorted(ELEMENT_TYPES))
@pytest.mark.parametrize("raw", [False, True])
def test_tensors_of_every_element_type(number: int, raw: bool) -> None:
    dtype = dtypes.to_numpy(ELEMENT_TYPES[number])
    array = np.array([[1, 0, 1], [1, 1, 0]]).astype(dtype)
    given = numpy_helper.from_array(array, "x")
    if not raw:
        given = helper.make_tensor("x", number, array.shape, array.astype(np.float32).reshape(-1))
    same_bits(array_of(given, Files()), numpy_helper.to_array(given))
    np.testing.assert_array_equal(array_of(given, Files()).astype(float), array.astype(float))


@pytest.mark.parametrize("dtype", ["uint2", "int4", "float6_e3m2fn", "float4_e2m1fn"])
def test_packed_tensors_of_another_size_are_refused(dtype: str) -> None:
    given = numpy_helper.from_array(every(dtype), "x")
    given.raw_data += b"\0"
    with pytest.raises(FrontendError, match="tensor `x` is broken"):
        array_of(given, Files())
    given.ClearField("raw_data")
    given.int32_data.extend([0] * 99)
    with pytest.raises(FrontendError, match="tensor `x` is broken"):
        array_of(given, Files())


def test_no_elements_at_all() -> None:
    for dtype in ("uint2", "int4", "float6_e2m3fn", "float32"):
        array = np.zeros((0, 3), dtypes.to_numpy(dtype))
        same_bits(array_of(numpy_helper.from_array(array, "x"), Files()), array)


# --- sparse ones -------------------------------------------------------------------------------


def sparse(values: Any, places: Any, shape: Any, name: str = "w") -> SparseTensorProto:
    return helper.make_sparse_tensor(
        numpy_helper.from_array(np.asarray(values), name),
        numpy_helper.from_array(np.asarray(places, "int64"), f"{name} places"),
        list(shape),
    )


VALUES = np.array([1.5, -2.0, 3.0], "float32")
DENSE = np.array([[0, 1.5, 0, 0], [0, 0, 0, -2.0], [3.0, 0, 0, 0]], "float32")


@pytest.mark.parametrize("places", [[1, 7, 8], [[0, 1], [1, 3], [2, 0]]], ids=["numbers", "places"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bfloat16", "float8_e4m3fn"])
def test_sparse_tensors_have_their_elements_by_number_or_by_place(places: Any, dtype: str) -> None:
    stored = dtypes.to_numpy(dtype)
    found = dense(sparse(VALUES.astype(stored), places, (3, 4)), Files())
    same_bits(found, DENSE.astype(stored))


def test_a_sparse_tensor_without_elements_is_zero() -> None:
    found = dense(sparse(np.zeros(0, "float32"), np.zeros(0), (2, 3)), Files())
    same_bits(found, np.zeros((2, 3), "float32"))
    found = dense(sparse(np.zeros(0, "float32"), np.zeros((0, 2)), (2, 3)), Files())
    same_bits(found, np.zeros((2, 3), "float32"))


@pytest.mark.parametrize(
    ("values", "places", "shape"),
    [
        (VALUES, [1, 7, 12], (3, 4)),
        (VALUES, [1, 7, -1], (3, 4)),
        (VALUES, [1, 7], (3, 4)),
        (VALUES, [[0, 1], [1, 3], [3, 0]], (3, 4)),
        (VALUES, [[0, 1], [1, -1], [2, 0]], (3, 4)),
        (VALUES, [[0, 1, 0], [1, 3, 0], [2, 0, 0]], (3, 4)),
        (VALUES, [1, 7, 8], (3, -4)),
        (VALUES, [1, 7, 8], (1 << 20, 1 << 20)),
        (VALUES.reshape(3, 1), [1, 7, 8], (3, 4)),
    ],
)
def test_broken_sparse_tensors_are_refused(values: Any, places: Any, shape: Any) -> None:
    with pytest.raises(FrontendError, match="tensor `w` is broken"):
        dense(sparse(values, places, shape), Files())


@pytest.mark.parametrize("freeze", [True, False])
def test_sparse_weights_of_a_model(freeze: bool) -> None:
    x = np.arange(6, dtype="float32").reshape(2, 3)
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    given = of_graph([node], [value("x", "float32", (2, 3))], [onnx.ValueInfoProto(name="y")])
    given.graph.sparse_initializer.append(sparse(VALUES, [1, 7, 8], (3, 4)))
    mod, params = from_onnx(given, freeze_params=freeze)
    assert list(params) == ([] if freeze else ["w"])
    found = compile_model(mod, params)(x)
    np.testing.assert_allclose(found, x @ DENSE)


def test_a_backend_asks_for_no_sparse_weights() -> None:
    x = np.ones((2, 3), "float32")
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    described = [value("x", "float32", (2, 3)), value("w", "float32", (3, 4))]
    given = of_graph([node], described, [onnx.ValueInfoProto(name="y")])
    given.graph.sparse_initializer.append(sparse(VALUES, [1, 7, 8], (3, 4)))
    (found,) = backend.run_model(given, [x])
    np.testing.assert_allclose(found, x @ DENSE)


# --- other files -------------------------------------------------------------------------------


def saved(folder: Path, *arrays: np.ndarray, gap: int = 0) -> Path:
    """A model that adds up tensors, which are in a file beside it."""
    total, tensors, data = "x", [], b""
    nodes = []
    for number, array in enumerate(arrays):
        tensor = numpy_helper.from_array(array, f"w{number}")
        data += b"\xff" * gap
        helper_entries = {"location": "weights.bin", "offset": len(data)}
        data += tensor.raw_data
        helper_entries["length"] = len(tensor.raw_data)
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, entry in helper_entries.items():
            tensor.external_data.add(key=key, value=str(entry))
        tensors.append(tensor)
        nodes.append(helper.make_node("Cast", [f"w{number}"], [f"c{number}"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Add", [total, f"c{number}"], [f"y{number}"]))
        total = f"y{number}"
    graph = of_graph(
        nodes,
        [value("x", "float32", arrays[0].shape)],
        [onnx.ValueInfoProto(name=total)],
        tensors,
    )
    (folder / "weights.bin").write_bytes(data)
    (folder / "model.onnx").write_bytes(graph.SerializeToString())
    return folder / "model.onnx"


def test_weights_in_another_file(tmp_path: Path) -> None:
    arrays = [
        np.arange(6, dtype="float32"),
        np.arange(6, dtype="float16"),
        np.array([1, -2, 3, -4, 5, -6], ml_dtypes.int4),
        np.array([0.5, 6, -1, 0, 3, 2], ml_dtypes.float4_e2m1fn),
        np.array([0, 1, -2, 1, 0, 1], ml_dtypes.int2),
    ]
    wanted = sum(array.astype("float32") for array in arrays)
    for gap in (0, 3, 64):
        path = saved(tmp_path, *arrays, gap=gap)
        mod, params = from_onnx(path)
        np.testing.assert_array_equal(compile_model(mod, params)(np.zeros(6, "float32")), wanted)


def test_weights_in_another_file_are_mapped_and_not_read(tmp_path: Path) -> None:
    path = saved(tmp_path, np.arange(6, dtype="float32"), gap=8)
    tensor = onnx.load(path, load_external_data=False).graph.initializer[0]
    found: Any = array_of(tensor, Files(tmp_path))
    while found.base is not None and not isinstance(found, np.memmap):
        found = found.base
    assert isinstance(found, np.memmap)


def test_a_model_in_memory_has_no_other_files(tmp_path: Path) -> None:
    path = saved(tmp_path, np.arange(6, dtype="float32"))
    with pytest.raises(FrontendError, match="the model is in no folder"):
        from_onnx(onnx.load(path, load_external_data=False))
    (found,) = ours(onnx.load(path), np.ones(6, "float32"))
    np.testing.assert_array_equal(found, np.arange(1, 7, dtype="float32"))
