"""Element types by name, and the NumPy types that hold them."""

import ml_dtypes
import numpy as np
import pytest

import relay
from relay import dtypes
from relay.errors import RelayError
from relay.ir.compare import assert_structural_equal
from relay.ir.types import TensorType


@pytest.mark.parametrize("name", dtypes.NAMES)
def test_every_name_is_canonical(name):
    assert dtypes.is_dtype(name)
    assert dtypes.canonical(name) == name


@pytest.mark.parametrize("name", dtypes.NAMES)
def test_numpy_and_back(name):
    made = dtypes.to_numpy(name)
    assert isinstance(made, np.dtype)
    assert dtypes.from_numpy(made) == name
    assert dtypes.canonical(made) == name
    assert dtypes.canonical(made.type) == name


@pytest.mark.parametrize(("alias", "name"), dtypes.ALIASES.items())
def test_other_names_mean_the_same_type(alias, name):
    assert dtypes.canonical(alias) == name
    assert TensorType((2,), alias) == TensorType((2,), name)
    assert TensorType((2,), alias).dtype == name
    assert relay.const(1, alias).data.dtype == name
    assert relay.var("x", shape=(), dtype=alias).type_annotation == relay.scalar_type(name)
    text = f"fn (%x: {alias}, %y: Tensor[(2), {alias}]) {{ cast(%x, dtype={alias!r}) }}"
    wanted = text.replace(alias, name)
    assert_structural_equal(*(relay.parse_expr(t.replace("'", '"')) for t in (text, wanted)))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (bool, "bool"),
        (int, "int64"),
        (float, "float64"),
        (np.float16, "float16"),
        (np.dtype(">i4"), "int32"),
        (ml_dtypes.bfloat16, "bfloat16"),
        (ml_dtypes.int4, "int4"),
    ],
)
def test_types_of_python_and_numpy_are_accepted(given, name):
    assert dtypes.canonical(given) == name


@pytest.mark.parametrize("name", ["float32x2", "int8x16", "float8_e5m2x4", "boolx8"])
def test_lanes_are_part_of_an_element_type(name):
    assert dtypes.canonical(name) == name
    with pytest.raises(RelayError, match="no array form"):
        dtypes.to_numpy(name)


@pytest.mark.parametrize(
    "name",
    [
        *("", "x4", "Float32", "float32\n", "float32 x4", "float32x", "float32x-4", "float32x٤"),
        *("float32x0", "float32x1", "float32x04", "float32x4x4", "float32x" + "9" * 5000),
    ],
)
def test_other_names_are_no_element_types(name):
    assert not dtypes.is_dtype(name)
    with pytest.raises(RelayError, match="unknown element type"):
        dtypes.canonical(name)


def test_a_slip_of_the_pen_gets_a_hint():
    with pytest.raises(RelayError, match=r"unknown element type `flaot32`; did you mean `float32`"):
        dtypes.canonical("flaot32")


@pytest.mark.parametrize(
    "given", [None, 5, object, complex, str, [], {"names": 3}, np.dtype("M8[s]"), np.longdouble]
)
def test_what_no_tensor_can_hold_is_refused(given):
    with pytest.raises(RelayError, match="unknown element type"):
        dtypes.canonical(given)


def test_an_unknown_name_has_no_array_form():
    with pytest.raises(RelayError, match="no array form"):
        dtypes.to_numpy("float33")


def test_floats_integers_and_booleans_are_told_apart():
    for name in dtypes.NAMES:
        kinds = [dtypes.is_float(name), dtypes.is_integer(name), name == "bool"]
        assert kinds.count(True) == 1, name
    assert dtypes.is_float("bfloat16")
    assert dtypes.is_float("float8_e4m3fn")
    assert dtypes.is_integer("uint4")
    assert not dtypes.is_integer("bool")


def test_every_type_has_a_number_of_bits():
    widths = {name: dtypes.bits(name) for name in dtypes.NAMES}
    assert widths["bool"] == 1 and widths["int4"] == 4
    assert widths["uint2"] == 2 and widths["float4_e2m1fn"] == 4 and widths["float6_e3m2fn"] == 6
    assert widths["float8_e4m3fn"] == 8 and widths["bfloat16"] == 16 and widths["float64"] == 64
