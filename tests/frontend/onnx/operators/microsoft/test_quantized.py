"""Operators on quantized numbers of ONNX Runtime, beside ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, model, ours, runtime

DOMAIN = "com.microsoft"
RANDOM = np.random.default_rng(7)


def integers(*shape: int, dtype: str = "uint8") -> np.ndarray:
    ends = np.iinfo(dtype)
    return RANDOM.integers(ends.min, ends.max + 1, shape).astype(dtype)


def scale(value: float) -> Fixed:
    return Fixed(np.array(value, "float32"))


def zero(value: int, dtype: str = "uint8") -> Fixed:
    return Fixed(np.array(value, dtype))


def near(given: onnx.ModelProto, *inputs: Any, steps: int = 1) -> None:
    """Integers are those of ONNX Runtime, or next to them; numbers agree."""
    for mine, theirs in zip(ours(given, *inputs), runtime(given, *inputs), strict=True):
        left, right = np.asarray(mine), np.asarray(theirs)
        assert left.shape == right.shape and left.dtype == right.dtype
        if left.dtype.kind in "iu":
            assert np.abs(left.astype(int) - right.astype(int)).max(initial=0) <= steps
        else:
            np.testing.assert_allclose(left, right, 1e-4, 1e-4)


@pytest.mark.parametrize("operator", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_two_operands_broadcast(operator: str, dtype: str) -> None:
    a, b = integers(2, 3, 4, dtype=dtype), integers(4, dtype=dtype)
    parameters = scale(0.1), zero(3, dtype), b, scale(0.02), zero(5, dtype)
    near(
        model(operator, a, *parameters, scale(0.11), zero(9, dtype), opset=13, domain=DOMAIN), a, b
    )


def test_zero_points_may_be_left_out() -> None:
    a, b = integers(5), integers(5)
    given = model(
        "QLinearAdd", a, scale(0.1), None, b, scale(0.2), None, scale(0.3), opset=13, domain=DOMAIN
    )
    wanted = np.rint((a * 0.1 + b * 0.2) / 0.3).astype(int)
    (found,) = ours(given, a, b)
    assert np.abs(np.asarray(found) - wanted).max() <= 1


@pytest.mark.parametrize("operator", ["QLinearSigmoid", "QLinearLeakyRelu"])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_functions_of_one_operand(operator: str, dtype: str) -> None:
    ends = np.iinfo(dtype)
    data = np.arange(ends.min, ends.max + 1).astype(dtype)
    given = model(
        operator,
        data,
        scale(0.05),
        zero(ends.max // 2, dtype),
        scale(1 / 256 if operator == "QLinearSigmoid" else 0.04),
        zero(ends.min, dtype),
        opset=13,
        domain=DOMAIN,
    )
    near(given, data)


@pytest.mark.parametrize(("axis", "opset"), [(-1, 13), (1, 13), (1, 12)])
def test_softmax_along_an_axis_or_from_it_on(axis: int, opset: int) -> None:
    data = integers(2, 3, 4)
    parameters = scale(0.05), zero(99), scale(1 / 256), zero(0)
    given = model("QLinearSoftmax", data, *parameters, opset=13, domain=DOMAIN, axis=axis)
    given.graph.node[0].attribute.append(onnx.helper.make_attribute("opset", opset))
    near(given, data)


@pytest.mark.parametrize("last", [0, 1])
def test_means_of_images(last: int) -> None:
    data = integers(1, 4, 6, 5)
    parameters = scale(0.1), zero(3), scale(0.09), zero(7)
    near(
        model(
            "QLinearGlobalAveragePool",
            data,
            *parameters,
            opset=13,
            domain=DOMAIN,
            channels_last=last,
        ),
        data,
    )
    near(
        model(
            "QLinearAveragePool",
            data,
            *parameters,
            opset=13,
            domain=DOMAIN,
            kernel_shape=[2, 2],
            strides=[2, 1],
            channels_last=last,
        ),
        data,
    )


@pytest.mark.parametrize("last", [0, 1])
def test_convolutions_of_images(last: int) -> None:
    data = integers(1, 6, 5, 4) if last else integers(1, 4, 6, 5)
    # of seven bits: without VNNI, ONNX Runtime lets sums of two products overflow
    weight = Fixed(integers(3, 4, 3, 3, dtype="int8") // 2)
    near(
        model(
            "QLinearConv",
            data,
            scale(0.1),
            zero(100),
            weight,
            scale(0.01),
            zero(0, "int8"),
            scale(0.5),
            zero(120),
            opset=13,
            domain=DOMAIN,
            pads=[1, 1, 1, 1],
            channels_last=last,
        ),
        data,
    )


def test_maxima_of_images_with_channels_last() -> None:
    data = integers(1, 6, 5, 4)
    attributes: dict[str, Any] = {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [0, 1, 0, 1]}
    near(model("NhwcMaxPool", data, opset=13, domain=DOMAIN, **attributes), data)


@pytest.mark.parametrize("keepdims", [0, 1])
def test_means_along_axes(keepdims: int) -> None:
    data = integers(2, 3, 5, dtype="int8")
    parameters = scale(0.1), zero(3, "int8"), scale(0.05), zero(-7, "int8")
    given = model(
        "QLinearReduceMean",
        data,
        *parameters,
        opset=13,
        domain=DOMAIN,
        axes=[1, -1],
        keepdims=keepdims,
    )
    # ONNX Runtime has no kernel for it
    means = (data.astype("float64") - 3).mean((1, 2), keepdims=bool(keepdims)) * 0.1
    wanted = np.clip(np.rint(means / 0.05) - 7, -128, 127)
    (found,) = ours(given, data)
    assert np.abs(np.asarray(found) - wanted).max() <= 1


def test_parts_are_joined() -> None:
    a, b = integers(2, 3), integers(2, 2)
    given = model(
        "QLinearConcat",
        scale(0.1),
        zero(7),
        a,
        scale(0.1),
        zero(7),
        b,
        scale(0.3),
        zero(1),
        opset=13,
        domain=DOMAIN,
        axis=1,
    )
    near(given, a, b)


def test_some_are_chosen() -> None:
    condition = np.array([True, False, True])
    a, b = integers(2, 3), integers(2, 1)
    parameters = a, scale(0.1), zero(7), b, scale(0.3), zero(1), scale(0.2), zero(2)
    near(model("QLinearWhere", condition, *parameters, opset=13, domain=DOMAIN), condition, a, b)


@pytest.mark.parametrize("is_integer", [True, False])
def test_products_of_two_matrices_with_something_added(is_integer: bool) -> None:
    a, b = integers(3, 5), integers(4, 5, dtype="int8")
    addend = RANDOM.integers(-999, 999, 4).astype("int32")
    result = (scale(0.4), zero(100)) if is_integer else ()
    given = model(
        "QGemm",
        a,
        scale(0.02),
        zero(3),
        Fixed(b),
        scale(0.03),
        zero(0, "int8"),
        Fixed(addend),
        *result,
        opset=13,
        domain=DOMAIN,
        transB=1,
        alpha=0.5,
    )
    near(given, a)


def test_products_of_integers_are_numbers() -> None:
    a, b = integers(2, 3, 5), integers(5, 4, dtype="int8")
    each = Fixed(np.linspace(0.01, 0.02, 4, dtype="float32"))
    bias = Fixed(np.arange(4, dtype="float32"))
    given = model(
        "MatMulIntegerToFloat",
        a,
        Fixed(b),
        scale(0.1),
        each,
        zero(9),
        zero(2, "int8"),
        bias,
        opset=13,
        domain=DOMAIN,
    )
    near(given, a)


def test_numbers_become_integers_for_a_product() -> None:
    a = RANDOM.normal(size=(2, 3, 5)).astype("float32")
    b = integers(5, 4, dtype="int8")
    given = model(
        "DynamicQuantizeMatMul", a, Fixed(b), scale(0.1), zero(0, "int8"), opset=13, domain=DOMAIN
    )
    near(given, a)


@pytest.mark.parametrize("causal", [0, 1])
def test_attention_begins_with_a_product_of_integers(causal: int) -> None:
    batch, rows, width = 2, 3, 8
    data = integers(batch, rows, width)
    weights = integers(width, 3 * width, dtype="int8")
    bias = RANDOM.normal(size=3 * width).astype("float32")
    mask = np.array([[1, 1, 1], [1, 1, 0]], "int32")
    given = model(
        "QAttention",
        data,
        Fixed(weights),
        Fixed(bias),
        scale(0.01),
        scale(0.02),
        mask,
        zero(120),
        zero(0, "int8"),
        opset=13,
        domain=DOMAIN,
        num_heads=2,
        unidirectional=causal,
    )
    near(given, data, mask)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_a_layer_with_memory_multiplies_integers(direction: str) -> None:
    count, steps, batch, size, hidden = 1 + (direction == "bidirectional"), 3, 2, 4, 3
    x = RANDOM.normal(size=(steps, batch, size)).astype("float32")
    weight = integers(count, size, 4 * hidden, dtype="int8")
    recurrence = integers(count, hidden, 4 * hidden, dtype="int8")
    scales = Fixed(np.full(count, 0.01, "float32"))
    zeros = Fixed(np.zeros(count, "int8"))
    given = model(
        "DynamicQuantizeLSTM",
        x,
        Fixed(weight),
        Fixed(recurrence),
        Fixed(RANDOM.normal(size=(count, 8 * hidden)).astype("float32")),
        None,
        None,
        None,
        None,
        scales,
        zeros,
        scales,
        zeros,
        opset=13,
        domain=DOMAIN,
        outputs=3,
        hidden_size=hidden,
        direction=direction,
    )
    near(given, x)


def test_tables_of_words_are_integers() -> None:
    words, segments = np.array([[1, 3, 2]], "int32"), np.array([[0, 0, 1]], "int32")
    mask = np.array([[1, 1, 0]], "int32")
    tables = [Fixed(integers(*one)) for one in ((5, 8), (4, 8), (2, 8), (8,), (8,))]
    scales = [scale(one) for one in (0.01, 0.02, 0.03, 0.01, 0.02)]
    zeros = [zero(one) for one in (128, 120, 100, 90, 128)]
    given = model(
        "QEmbedLayerNormalization",
        words,
        segments,
        *tables,
        mask,
        *scales,
        *zeros,
        opset=13,
        domain=DOMAIN,
        outputs=2,
    )
    near(given, words, segments, mask)


def test_conversions_along_an_axis() -> None:
    data = RANDOM.normal(size=(2, 3)).astype("float32") * 9
    each = Fixed(np.array([0.1, 0.2, 0.3], "float32")), Fixed(np.array([1, 2, 3], "uint8"))
    near(model("QuantizeLinear", data, *each, opset=13, domain=DOMAIN, axis=1), data)
    whole = integers(2, 3)
    near(model("DequantizeLinear", whole, *each, opset=13, domain=DOMAIN, axis=1), whole)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            lambda: model("QLinearConcat", scale(1), zero(0), integers(2), opset=13, domain=DOMAIN),
            "scale and a zero point",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        from_onnx(given())
