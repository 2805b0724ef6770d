"""Every element type to every other one as ONNX converts them: saturated, rounded up and down."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from relay import dtypes
from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from relay.frontend.onnx.types import ELEMENT_TYPES
from tests.frontend.onnx.oracle import agree, model, ours

# NumPy warns of overflow, and of NaN that signals
pytestmark = pytest.mark.filterwarnings("ignore:.*encountered in cast:RuntimeWarning")

NUMBERS = {dtype: number for number, dtype in ELEMENT_TYPES.items()}
SMALL_FLOATS = [*dtypes.FLOAT8, "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]


def all_of(dtype: str) -> np.ndarray:
    """All numbers of a type of eight bits or fewer."""
    codes = np.arange(1 << dtypes.bits(dtype), dtype="uint8")
    if dtypes.is_float(dtype):
        return codes.view(dtypes.to_numpy(dtype))
    low = 1 << dtypes.bits(dtype) - 1 if dtype in dtypes.SIGNED else 0
    return (codes.astype("int16") - low).astype(dtypes.to_numpy(dtype))


def around(dtype: str, source: str) -> np.ndarray:
    """Numbers of a float type, what is halfway between them and beside that, and what is beyond."""
    exact = np.unique(all_of(dtype).astype("float64"))
    exact = exact[np.isfinite(exact)]
    middles = (exact[1:] + exact[:-1]) / 2
    most = exact[-1]
    beyond = np.array([most * 1.01, most * 1.2, most * 1.5, most * 2.1, 1e30, np.inf])
    special = np.array([0.0, -0.0, np.nan, -np.nan, 1e-30, -1e-30])
    found = np.concatenate([exact, middles, beyond, -beyond, special])
    with np.errstate(over="ignore"):
        given = found.astype(dtypes.to_numpy(source))
        if source in ("float32", "float64"):
            sides = [np.nextafter(given, given.dtype.type(way)) for way in (-np.inf, np.inf)]
            given = np.concatenate([given, *sides])
    return given


def same_numbers(found: Any, wanted: np.ndarray) -> None:
    """Equal, with the signs of zeros; a NaN is a NaN."""
    mine = np.asarray(found)
    assert mine.dtype == wanted.dtype
    left, right = mine.astype("float64"), wanted.astype("float64")
    np.testing.assert_array_equal(left, right)
    numbers = ~np.isnan(right)
    np.testing.assert_array_equal(np.signbit(left[numbers]), np.signbit(right[numbers]))


def cast(data: np.ndarray, to: str, opset: int = 25, **attributes: Any) -> Any:
    given = model("Cast", data, opset=opset, to=NUMBERS[to], **attributes)
    return ours(given, data)[0]


# --- from floats -------------------------------------------------------------------------------


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("source", ["float32", "float16", "float64", "bfloat16"])
@pytest.mark.parametrize("target", SMALL_FLOATS)
def test_floats_are_rounded_as_the_standard_rounds_them(
    target: str, source: str, saturate: int
) -> None:
    data = around(target, source)
    stored = dtypes.to_numpy(target)
    with np.errstate(all="ignore"):
        if saturate and target in dtypes.FLOAT8:
            wanted = numpy_helper.saturate_cast(data, stored)
        else:
            wanted = data.astype(stored)
        same_numbers(cast(data, target, saturate=saturate), wanted)


@pytest.mark.parametrize("rounding", ["up", "down", "nearest"])
@pytest.mark.parametrize("source", ["float32", "float16"])
def test_scales_are_powers_of_two(source: str, rounding: str) -> None:
    exact = 2.0 ** np.arange(-126, 127) if source == "float32" else 2.0 ** np.arange(-14, 16)
    data = np.concatenate([exact * part for part in (1, 1.001, 1.25, 1.5, 1.51, 1.999)])
    data = data.astype(source)
    wanted = numpy_helper.to_float8e8m0(data, round_mode=rounding)
    for saturate in (0, 1):
        found = cast(data, "float8_e8m0fnu", saturate=saturate, round_mode=rounding)
        same_numbers(found, wanted)


@pytest.mark.parametrize("rounding", ["up", "down", "nearest"])
def test_what_no_scale_is_becomes_the_nearest_or_nan(rounding: str) -> None:
    least, most = 2.0**-127, 2.0**127
    data = np.array([0.0, least, 1e-45, most, most * 1.75, np.inf, np.nan], "float32")
    found = cast(data, "float8_e8m0fnu", saturate=1, round_mode=rounding)
    wanted = np.array([least, least, least, most, most, most, np.nan], "float32")
    np.testing.assert_array_equal(np.asarray(found).astype("float32"), wanted)
    data = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, most], "float32")
    found = cast(data, "float8_e8m0fnu", saturate=0, round_mode=rounding)
    wanted = np.array([*[np.nan] * 6, most], "float32")
    np.testing.assert_array_equal(np.asarray(found).astype("float32"), wanted)


def test_scales_are_rounded_up_unless_the_node_says_otherwise() -> None:
    data = np.array([1.0, 1.01, 3.0], "float32")
    like = np.array([1.0], ml_dtypes.float8_e8m0fnu)
    found = [
        cast(data, "float8_e8m0fnu", opset=24),
        ours(model("CastLike", data, like, opset=24), data, like)[0],
    ]
    for one in found:
        np.testing.assert_array_equal(np.asarray(one).astype("float32"), [1, 2, 4])
    given = model("CastLike", data, like, opset=24, round_mode="down")
    (one,) = ours(given, data, like)
    np.testing.assert_array_equal(np.asarray(one).astype("float32"), [1, 1, 2])


def test_another_way_to_round_is_refused() -> None:
    data = np.ones(2, "float32")
    kind = TensorProto.FLOAT8E8M0
    with pytest.raises(FrontendError, match="`round_mode` is none of those there are"):
        from_onnx(model("Cast", data, opset=24, to=kind, round_mode="sideways"))


# --- to everything -----------------------------------------------------------------------------

NARROW = [dtype for dtype in NUMBERS if dtypes.bits(dtype) <= 8 and dtype != "bool"]


@pytest.mark.parametrize("source", NARROW)
def test_every_number_of_a_narrow_type_converted_to_every_other(source: str) -> None:
    """One model converts to all types; what is out of range of integers is left open by ONNX."""
    data = all_of(source)
    targets = [target for target in NUMBERS if target != source]
    names = [f"y{place}" for place in range(len(targets))]
    nodes = [
        helper.make_node("Cast", ["x0"], [name], to=NUMBERS[target], saturate=0)
        for name, target in zip(names, targets, strict=True)
    ]
    given = model("Identity", data, opset=25, outputs=["y"])
    del given.graph.node[:], given.graph.output[:]
    given.graph.node.extend(nodes)
    given.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in names)
    wide = data.astype("float64")
    for target, found in zip(targets, ours(given, data), strict=True):
        mine = np.asarray(found)
        stored = dtypes.to_numpy(target)
        assert mine.dtype == stored, target
        if target == "float8_e8m0fnu":
            inside = wide > 0
            wanted = numpy_helper.to_float8e8m0(data[inside].astype("float32"), saturate=False)
            np.testing.assert_array_equal(mine[inside].view("uint8"), wanted.view("uint8"), target)
        elif dtypes.is_float(target):
            same_numbers(mine, data.astype("float32").astype(stored))
        elif target == "bool":
            np.testing.assert_array_equal(mine, wide != 0, target)
        elif dtypes.is_integer(source):
            wrapped = data.astype("int64").astype(stored)
            np.testing.assert_array_equal(mine.astype("int64"), wrapped.astype("int64"), target)
        else:
            info: Any = ml_dtypes.iinfo(stored)
            whole = np.trunc(np.nan_to_num(wide, nan=-9))
            inside = (whole >= int(info.min)) & (whole <= int(info.max)) & ~np.isnan(wide)
            np.testing.assert_array_equal(mine[inside].astype("float64"), whole[inside], target)


# --- moved -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_elements_are_moved_bit_by_bit(dtype: str) -> None:
    data = np.resize(all_of(dtype), (4, 6))
    nodes = [
        helper.make_node("Identity", ["x0"], ["a"]),
        helper.make_node("Transpose", ["a"], ["b"], perm=[1, 0]),
        helper.make_node("Concat", ["b", "b"], ["c"], axis=1),
        helper.make_node("Reshape", ["c", "shape"], ["d"]),
        helper.make_node("Slice", ["d", "start", "end"], ["e"]),
        helper.make_node("Gather", ["e", "places"], ["f"], axis=0),
        helper.make_node("Unsqueeze", ["f", "first"], ["y"]),
    ]
    given = model("Identity", data, opset=25, outputs=["y"])
    del given.graph.node[:]
    given.graph.node.extend(nodes)
    for name, numbers in {
        "shape": [8, 6],
        "start": [1, 2],
        "end": [8, 6],
        "places": [6, 0, 3],
        "first": [0],
    }.items():
        given.graph.initializer.append(numpy_helper.from_array(np.array(numbers, "int64"), name))
    joined = np.concatenate([data.T, data.T], axis=1).reshape(8, 6)
    wanted = joined[1:8, 2:6][[6, 0, 3]][None]
    (found,) = ours(given, data)
    same_numbers(found, wanted)


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_scalars_go_through_branches(dtype: str) -> None:
    first, second = all_of(dtype)[1].reshape(()), all_of(dtype)[-2].reshape(())
    branches = {
        name: helper.make_graph(
            [helper.make_node("Identity", [taken], [name])],
            name,
            [],
            [helper.make_empty_tensor_value_info(name)],
        )
        for name, taken in (("then_branch", "x1"), ("else_branch", "x2"))
    }
    given = model("If", np.array(True), first, second, opset=25, **branches)
    del given.graph.node[0].input[1:]
    for condition, wanted in ((True, first), (False, second)):
        same_numbers(ours(given, np.array(condition), first, second)[0], wanted)


@pytest.mark.parametrize("dtype", ["float4_e2m1fn", "uint4", "int4"])
def test_bits_of_four_are_read_as_another_type(dtype: str) -> None:
    data = all_of("int4")
    found = ours(model("BitCast", data, opset=26, to=NUMBERS[dtype]), data)[0]
    codes = data.astype("int8").view("uint8") & 15
    wanted = codes.view(dtypes.to_numpy(dtype)) if dtype[0] == "f" else codes
    number = np.asarray(found).astype("float32")
    np.testing.assert_array_equal(
        number, data.astype("float32") if dtype == "int4" else wanted.astype("float32")
    )


def test_narrow_constants_are_in_the_model() -> None:
    for dtype in NARROW:
        data = all_of(dtype)
        tensor = numpy_helper.from_array(data, "value")
        given = model("Constant", opset=25, value=tensor)
        agree(given, wanted=[data], rtol=0, atol=0)
