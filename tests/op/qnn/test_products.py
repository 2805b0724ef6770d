"""Convolutions and matrix products of integers: what stands for what, and what is refused."""

import numpy as np
import pytest

import relay
from relay.check.infer import infer_expr
from relay.errors import TypeCheckError
from relay.interpreter.evaluate import evaluate

RANDOM = np.random.default_rng(11)


def const(value, dtype):
    return relay.const(value, dtype)


def integers(*shape, dtype="int8"):
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)


def test_zero_points_come_before_scales():
    x, w = integers(2, 3), integers(4, 3)
    call = relay.qnn.op.dense(
        relay.const(x, "int8"),
        relay.const(w, "int8"),
        const(3, "int32"),
        const(-2, "int32"),
        const(0.5, "float32"),
        const(0.25, "float32"),
        4,
    )
    assert [str(arg.tensor_type) for arg in call.args[2:]] == [
        "int32",
        "int32",
        "float32",
        "float32",
    ]
    expected = (x.astype(int) - 3) @ (w.astype(int) + 2).T
    np.testing.assert_array_equal(evaluate(call).numpy(), expected)


def test_a_quantized_layer_stands_for_a_real_one():
    module = relay.parse(
        """
        #[version = "0.0.5"]
        def @main(%x: Tensor[(1, 3, 6, 6), float32], %w: Tensor[(4, 3, 3, 3), int8],
                  %scales: Tensor[(4), float32]) {
          %0 = qnn.quantize(%x, 0.0078125f, 0, out_dtype="int8");
          %1 = qnn.conv2d(%0, %w, 0, 0, 0.0078125f, %scales, padding=[1, 1, 1, 1],
                          out_dtype="int32");
          %2 = qnn.requantize(%1, multiply(%scales, 0.0078125f), 0, 0.02f, 10, axis=1,
                              out_dtype="uint8");
          %3 = qnn.dequantize(%2, 0.02f, 10, out_dtype="float32");
          nn.relu(%3)
        }
        """
    )
    x = RANDOM.uniform(-1, 1, (1, 3, 6, 6)).astype("float32")
    w, scales = integers(4, 3, 3, 3), np.array([1, 2, 3, 4], "float32") / 512
    found = relay.create_executor("debug", mod=module).evaluate()(x, w, scales).numpy()
    real = relay.nn.relu(
        relay.nn.conv2d(
            relay.const(np.round(x * 128).clip(-128, 127) / 128, "float64"),
            relay.const(w * scales.astype(float).reshape(4, 1, 1, 1), "float64"),
            padding=1,
        )
    )
    limit = 0.02 * (255 - 10)
    expected = np.minimum(evaluate(real).numpy(), limit)
    assert np.abs(found - expected).max() <= 0.5 * 0.02 + 1e-6


def test_outside_of_an_image_there_is_the_zero_point():
    image = np.full((1, 1, 3, 3), 7, "int8")
    kernel = np.ones((1, 1, 3, 3), "int8")
    call = relay.qnn.op.conv2d(
        relay.const(image, "int8"),
        relay.const(kernel, "int8"),
        const(7, "int32"),
        const(0, "int32"),
        const(1.0, "float32"),
        const(1.0, "float32"),
        kernel_size=(3, 3),
        channels=1,
        padding=(1, 1),
    )
    assert not evaluate(call).numpy().any()


def test_sums_wrap_in_the_type_that_was_asked_for():
    x = relay.const(np.full((1, 4), 127), "int8")
    known = const(0, "int32"), const(0, "int32"), const(1.0, "float32"), const(1.0, "float32")
    sums = {
        dtype: evaluate(relay.qnn.op.dense(x, x, *known, None, dtype)).item()
        for dtype in ("int16", "int32", "int64")
    }
    exact = 4 * 127 * 127
    assert sums == {"int16": exact - 2**16, "int32": exact, "int64": exact}


def test_a_weight_gets_its_type_from_the_attributes():
    x, w = relay.var("x", shape=(1, 3, 8, 8), dtype="int8"), relay.var("w")
    known = const(0, "int32"), const(0, "int32"), const(1.0, "float32"), const(1.0, "float32")
    call = relay.qnn.op.conv2d(x, w, *known, kernel_size=(3, 3), channels=16)
    function = infer_expr(relay.Function([x, w], call))
    assert function.params[1].checked_type == relay.TensorType((16, 3, 3, 3), "int8")
    assert function.ret_type == relay.TensorType((1, 16, 6, 6), "int32")


def test_the_second_batch_is_given_transposed():
    x, y = integers(5, 2, 3), integers(5, 4, 3)
    known = const(0, "int32"), const(0, "int32"), const(1.0, "float32"), const(1.0, "float32")
    call = relay.qnn.op.batch_matmul(relay.const(x, "int8"), relay.const(y, "int8"), *known)
    expected = np.einsum("bmk,bnk->bmn", x.astype(int), y.astype(int))
    np.testing.assert_array_equal(evaluate(call).numpy(), expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel_scale": np.ones(3, "float32")}, "`kernel_scale` is no scale"),
        ({"input_scale": np.ones(4, "float32")}, "`input_scale` is no scale"),
        ({"kernel_zero_point": np.float32(1)}, "`kernel_zero_point` is no zero point"),
        ({"data": np.ones((2, 3), "float32")}, "`data` has the wrong element type"),
        ({"out_dtype": "float32"}, "`out_dtype` does not fit"),
        ({"weight": np.ones((4, 2), "int8")}, "last extents"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(changes, message):
    given = {
        "data": np.ones((2, 3), "int8"),
        "weight": np.ones((4, 3), "int8"),
        "input_zero_point": np.int32(0),
        "kernel_zero_point": np.int32(0),
        "input_scale": np.float32(1),
        "kernel_scale": np.float32(1),
        "out_dtype": "int32",
        **changes,
    }
    out_dtype = given.pop("out_dtype")
    args = [relay.const(value, np.asarray(value).dtype.name) for value in given.values()]
    with pytest.raises(TypeCheckError, match=message):
        infer_expr(relay.qnn.op.dense(*args, units=4, out_dtype=out_dtype))
