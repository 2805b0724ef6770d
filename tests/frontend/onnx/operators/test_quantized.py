"""Integers that stand for real numbers, in ONNX: to them and back, and products of them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import (
    Fixed,
    agree,
    main_type,
    model,
    of_graph,
    ours,
    reference,
    runtime,
    value,
)

RANDOM = np.random.default_rng(3)
X = (RANDOM.normal(size=(2, 3, 4)) * 20).astype("float32")
EACH = np.array([0.1, 0.5, 1.25], "float32")


def integers(*shape: int, dtype: str = "uint8") -> np.ndarray:
    ends = np.iinfo(dtype)
    return RANDOM.integers(ends.min, ends.max + 1, shape).astype(dtype)


def number(value: float, dtype: str = "float32") -> np.ndarray:
    return np.array(value, dtype)


def near(given: onnx.ModelProto, *inputs: Any, oracle: Any = runtime) -> None:
    """Integers are those of the oracle, or next to them."""
    for mine, theirs in zip(ours(given, *inputs), oracle(given, *inputs), strict=True):
        left, right = np.asarray(mine), np.asarray(theirs)
        assert left.shape == right.shape and left.dtype == right.dtype
        assert np.abs(left.astype(int) - right.astype(int)).max(initial=0) <= 1


# --- to integers


@pytest.mark.parametrize("opset", [10, 13, 19, 21])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_one_scale_for_all(opset: int, dtype: str) -> None:
    given = model("QuantizeLinear", X, number(0.3), number(7, dtype), opset=opset)
    agree(given, X, number(0.3), number(7, dtype))


@pytest.mark.parametrize("opset", [10, 13, 19, 21])
def test_without_a_zero_point_they_have_no_sign(opset: int) -> None:
    agree(model("QuantizeLinear", X, Fixed(number(0.3)), opset=opset), X)


@pytest.mark.parametrize("opset", [13, 19, 21])
@pytest.mark.parametrize("axis", [1, -2])
def test_a_scale_for_each_place_of_an_axis(opset: int, axis: int) -> None:
    zero = np.array([1, 200, 30], "uint8")
    agree(model("QuantizeLinear", X, Fixed(EACH), Fixed(zero), opset=opset, axis=axis), X)


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_sixteen_bits(dtype: str) -> None:
    zero = Fixed(number(300, dtype))
    agree(model("QuantizeLinear", X, Fixed(number(0.001)), zero, opset=21), X)


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
def test_four_bits(dtype: str) -> None:
    zero = Fixed(np.array([1, 2, 3], getattr(ml_dtypes, dtype)))
    given = model("QuantizeLinear", X, Fixed(EACH * 9), zero, opset=21)
    agree(given, X, oracle=reference)


@pytest.mark.parametrize("dtype", ["int2", "uint2"])
def test_two_bits(dtype: str) -> None:
    kind = getattr(ml_dtypes, dtype)
    zero = Fixed(np.array([0, 1, 1], kind))
    given = model("QuantizeLinear", X, Fixed(EACH * 30), zero, opset=25)
    agree(given, X, oracle=reference)
    data = np.array([[0, 1], [1, 0]]).astype(kind)
    one = Fixed(np.ones((), kind))
    agree(
        model("DequantizeLinear", data, Fixed(number(0.3)), one, opset=25), data, oracle=reference
    )


@pytest.mark.parametrize("extent", [6, 7])
def test_a_scale_for_every_block(extent: int) -> None:
    data = (RANDOM.normal(size=(3, extent)) * 9).astype("float32")
    blocks = -(-extent // 2)
    scales = RANDOM.uniform(0.1, 1, (3, blocks)).astype("float32")
    zeros = integers(3, blocks)
    given = model(
        "QuantizeLinear", data, Fixed(scales), Fixed(zeros), opset=21, axis=1, block_size=2
    )
    (found,) = ours(given, data)
    each = [np.repeat(one, 2, 1)[:, :extent] for one in (scales, zeros)]
    np.testing.assert_array_equal(found, np.clip(np.rint(data / each[0]) + each[1], 0, 255))


def test_the_type_of_the_result_may_be_an_attribute() -> None:
    given = model("QuantizeLinear", X, Fixed(number(0.3)), opset=21, output_dtype=TensorProto.INT8)
    agree(given, X)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("saturate", [0, 1])
def test_floats_of_eight_bits(dtype: str, saturate: int) -> None:
    zero = Fixed(np.zeros((), getattr(ml_dtypes, dtype)))
    data = np.array([0, 1, -3.3, 1e6, 470], "float32")
    given = model("QuantizeLinear", data, Fixed(number(0.5)), zero, opset=19, saturate=saturate)
    agree(given, data, oracle=reference)


def test_quotients_are_rounded_to_the_precision() -> None:
    data = X.astype("float16")
    scale = Fixed(number(0.37, "float16"))
    agree(model("QuantizeLinear", data, scale, opset=19), data, oracle=reference)
    exact = model("QuantizeLinear", data, scale, opset=23, precision=TensorProto.FLOAT)
    agree(exact, data, oracle=reference)


def test_integers_may_be_divided() -> None:
    data = np.arange(-9, 9, dtype="int32")
    zero = Fixed(number(3, "int8"))
    given = model("QuantizeLinear", data, Fixed(number(0.7)), zero, opset=13)
    agree(given, data, oracle=reference)


def test_named_dimensions_stay() -> None:
    given = model("QuantizeLinear", X, Fixed(EACH), opset=13, shapes={0: ("n", 3, "m")})
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 3, m), uint8]"
    agree(given, X)


def test_a_range_is_found_in_a_run() -> None:
    given = model("DynamicQuantizeLinear", X, opset=11, outputs=3, shapes={0: ("n", "m", 4)})
    agree(given, X)
    agree(model("DynamicQuantizeLinear", X, opset=11, outputs=3), np.abs(X) + 1)


# --- and back


@pytest.mark.parametrize("opset", [10, 13, 19, 21])
def test_numbers_of_integers(opset: int) -> None:
    data, zero = integers(2, 3), Fixed(number(7, "uint8"))
    agree(model("DequantizeLinear", data, Fixed(number(0.3)), zero, opset=opset), data)
    agree(model("DequantizeLinear", data, Fixed(number(0.3)), opset=opset), data)


def test_numbers_along_an_axis() -> None:
    data, zero = integers(2, 3, 4, dtype="int8"), Fixed(np.array([1, -2, 3], "int8"))
    agree(model("DequantizeLinear", data, Fixed(EACH), zero, opset=13), data)
    given = model("DequantizeLinear", data, Fixed(EACH), zero, opset=13, shapes={0: ("n", 3, 4)})
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 3, 4), float32]"


def test_sums_have_no_zero_point() -> None:
    data = RANDOM.integers(-(2**31), 2**31, 9).astype("int32")
    agree(model("DequantizeLinear", data, Fixed(number(1e-4)), opset=13), data)


def test_numbers_of_few_bits() -> None:
    scale = Fixed(number(0.5, "float16"))
    given = model("DequantizeLinear", integers(4), scale, opset=19)
    agree(given, integers(4))
    wide = model("DequantizeLinear", integers(4), scale, opset=23, output_dtype=TensorProto.FLOAT)
    agree(wide, integers(4), oracle=reference)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "int4", "uint4"])
def test_numbers_of_narrow_elements(dtype: str) -> None:
    kind = getattr(ml_dtypes, dtype)
    data = np.array([[1, 2, 7], [0, 3, 5]]).astype(kind)
    given = model("DequantizeLinear", data, Fixed(number(0.3)), Fixed(np.zeros((), kind)), opset=21)
    agree(given, data, oracle=reference)


def test_numbers_of_blocks() -> None:
    data, scales = integers(5, 2, dtype="int8"), RANDOM.uniform(size=(3, 2)).astype("float32")
    zeros = integers(3, 2, dtype="int8")
    given = model(
        "DequantizeLinear", data, Fixed(scales), Fixed(zeros), opset=21, axis=0, block_size=2
    )
    each = [np.repeat(one, 2, 0)[:5] for one in (scales, zeros)]
    agree(given, data, wanted=[(data.astype("float32") - each[1]) * each[0]])


# --- products: the reference is the oracle of bytes with a sign, for ONNX Runtime lets sums of two
# products overflow on a processor without VNNI


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((4,), (4, 5)),
        ((2, 1, 3, 4), (2, 4, 5)),
    ],
)
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_products_of_integers(left: tuple[int, ...], right: tuple[int, ...], dtype: str) -> None:
    a, b = integers(*left), integers(*right, dtype=dtype)
    zeros = Fixed(number(9, "uint8")), Fixed(number(3, dtype))
    agree(model("MatMulInteger", a, b, *zeros, opset=10), a, b, oracle=reference)
    agree(model("MatMulInteger", a, Fixed(b), *zeros, opset=10), a, oracle=reference)
    agree(model("MatMulInteger", a, b, opset=10), a, b, oracle=reference)


def test_zero_points_of_rows_and_columns() -> None:
    a, b = integers(3, 4), integers(4, 5, dtype="int8")
    rows, columns = integers(3), integers(5, dtype="int8")
    wanted = (a.astype("int32") - rows[:, None]) @ (b.astype("int32") - columns)
    given = model("MatMulInteger", a, b, Fixed(rows), Fixed(columns), opset=10)
    agree(given, a, b, wanted=[wanted])
    agree(
        model("MatMulInteger", a, Fixed(b), Fixed(number(7, "uint8")), Fixed(columns), opset=10), a
    )


def test_products_of_named_extents() -> None:
    a, b = integers(3, 4), integers(4, 5, dtype="int8")
    given = model("MatMulInteger", a, Fixed(b), opset=10, shapes={0: ("n", 4)})
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 5), int32]"
    agree(given, a, oracle=reference)


@pytest.mark.parametrize(
    ("left", "right", "scales"),
    [
        ((3, 4), (4, 5), 1),
        ((3, 4), (4, 5), 5),
        ((2, 3, 4), (2, 4, 5), 1),
        ((2, 2, 3, 4), (2, 2, 4, 5), 1),
    ],
)
@pytest.mark.parametrize("opset", [10, 21])
def test_products_of_quantized_numbers(
    left: tuple[int, ...], right: tuple[int, ...], scales: int, opset: int
) -> None:
    a, b = integers(*left), integers(*right, dtype="int8")
    each = np.linspace(0.01, 0.02, scales, dtype="float32").reshape(() if scales == 1 else -1)
    zero = np.zeros(each.shape, "int8")
    given = model(
        "QLinearMatMul",
        a,
        Fixed(number(0.1)),
        Fixed(number(100, "uint8")),
        b,
        Fixed(each),
        Fixed(zero),
        Fixed(number(0.5)),
        Fixed(number(120, "uint8")),
        opset=opset,
    )
    near(given, a, b, oracle=reference)


def test_scales_of_sixteen_bits() -> None:
    a, b = integers(3, 4), integers(4, 5)
    scales = [Fixed(number(one, "float16")) for one in (0.1, 0.02, 0.5)]
    zeros = [Fixed(number(one, "uint8")) for one in (100, 90, 120)]
    given = model(
        "QLinearMatMul", a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], zeros[2],
        opset=21,
    )  # fmt: skip
    near(given, a, b, oracle=reference)


def test_factors_may_be_floats_of_eight_bits() -> None:
    kind = ml_dtypes.float8_e4m3fn
    a, b = (np.arange(-3, 3).reshape(2, 3) / 2).astype(kind), np.eye(3, 2).astype(kind)
    scales = [Fixed(number(one)) for one in (0.5, 2.0, 0.25)]
    none = Fixed(np.zeros((), kind))
    given = model(
        "QLinearMatMul", a, scales[0], none, b, scales[1], none, scales[2], none, opset=21
    )
    wanted = (a.astype("float32") @ b.astype("float32") * 4).astype(kind)
    agree(given, a, b, wanted=[wanted])


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("zero", [0, 5])
def test_convolutions_of_integers(groups: int, zero: int) -> None:
    data, weight = integers(1, 4, 6, 5), integers(8, 4 // groups, 3, 2)
    zeros = Fixed(number(7, "uint8")), Fixed(number(zero, "uint8"))
    attributes: dict[str, Any] = {"pads": [1, 0, 1, 1], "strides": [2, 1], "group": groups}
    given = model("ConvInteger", data, Fixed(weight), *zeros, opset=10, **attributes)
    agree(given, data)


@pytest.mark.parametrize("automatic", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_padding_is_found(automatic: str) -> None:
    data, weight = integers(1, 2, 6, 5), integers(3, 2, 3, 2)
    zero = Fixed(number(7, "uint8"))
    plain = model("ConvInteger", data, Fixed(weight), zero, opset=10, auto_pad=automatic)
    agree(plain, data)
    open_size = model(
        "ConvInteger",
        data,
        Fixed(weight),
        zero,
        opset=10,
        auto_pad=automatic,
        shapes={0: (1, 2, "h", "w")},
    )
    agree(open_size, data)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("has_bias", [False, True])
def test_convolutions_of_quantized_numbers(axes: int, has_bias: bool) -> None:
    data = integers(1, 3, *[6, 5, 4][:axes])
    # of seven bits, whose sums do not overflow: the reference knows images of two axes only
    weight = integers(4, 3, *[3, 2, 2][:axes], dtype="int8") // 2
    each = np.linspace(0.01, 0.02, 4, dtype="float32")
    bias = (Fixed(RANDOM.integers(-999, 999, 4).astype("int32")),) if has_bias else ()
    given = model(
        "QLinearConv",
        data,
        Fixed(number(0.1)),
        Fixed(number(100, "uint8")),
        Fixed(weight),
        Fixed(each),
        Fixed(np.zeros(4, "int8")),
        Fixed(number(0.5)),
        Fixed(number(120, "uint8")),
        *bias,
        opset=10,
        pads=[1] * (2 * axes),
    )
    near(given, data)


def test_a_model_between_conversions_has_integers_only() -> None:
    data = X[:, :, None, :]
    weight = integers(5, 3, 1, 1, dtype="int8")
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "sx", "zx"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["dw"], axis=0),
        helper.make_node("Conv", ["d", "dw"], ["c"]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "sy", "zy"], ["y"]),
    ]
    arrays = {
        "sx": number(0.4),
        "zx": number(120, "uint8"),
        "w": weight,
        "sw": np.linspace(0.01, 0.02, 5, dtype="float32"),
        "zw": np.zeros(5, "int8"),
        "sy": number(0.3),
        "zy": number(0, "uint8"),
    }
    constants = [onnx.numpy_helper.from_array(one, name) for name, one in arrays.items()]
    inputs = [value("x", data.dtype, data.shape)]
    given = of_graph(nodes, inputs, [value("y", "uint8", (2, 5, 1, 4))], constants, 13)
    near(given, data)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: model("QuantizeLinear", X, EACH, opset=13, axis=3), "out of range"),
        (
            lambda: model("QuantizeLinear", X, EACH.reshape(1, 3), opset=21, block_size=2),
            "fit neither",
        ),
        (
            lambda: model(
                "QuantizeLinear",
                X,
                number(1),
                number(1, "int8"),
                opset=21,
                output_dtype=TensorProto.UINT8,
            ),
            "another type",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        from_onnx(given())
