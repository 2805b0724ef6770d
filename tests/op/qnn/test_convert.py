"""Between real numbers and integers: as PyTorch does it, and what is refused."""

import numpy as np
import pytest
import torch

import relay
from relay.check.infer import infer_expr
from relay.errors import RelayError, TypeCheckError
from relay.interpreter.evaluate import evaluate
from relay.ir.expr import Call, Var
from relay.lower.lower_dynamic import lower_dynamic
from relay.op.opdef import get
from relay.target.target import Target
from tests.support.dynamic_kernels import DynamicFunction

# The quantized tensors of PyTorch are on their way out; while they last, they are oracles.
pytestmark = pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")

RANDOM = np.random.default_rng(5)
DTYPES = [("int8", torch.qint8), ("uint8", torch.quint8), ("int32", torch.qint32)]


def run(name, *args, **attrs):
    op = get(name)
    return op.reference(*args, **dict(op.make_attrs(attrs).items()))


def infer(name, *types, **attrs):
    args = [Var(f"x{i}", ty) for i, ty in enumerate(types)]
    op = get(name)
    return infer_expr(Call(op, tuple(args), op.make_attrs(attrs))).checked_type


def tensor(*shape, dtype="float32"):
    return relay.TensorType(shape, dtype)


@pytest.mark.parametrize(("dtype", "theirs"), DTYPES)
def test_a_tensor_is_quantized_as_pytorch_does(dtype, theirs):
    data = RANDOM.uniform(-9, 9, (50,)).astype("float32")
    # PyTorch multiplies by the inverse of the scale, which is the same for powers of two only
    scale, zero_point = 0.03125, 0 if dtype == "int32" else 17
    expected = torch.quantize_per_tensor(torch.from_numpy(data), scale, zero_point, theirs)
    found = run("qnn.quantize", data, np.float32(scale), np.int32(zero_point), out_dtype=dtype)
    np.testing.assert_array_equal(found, expected.int_repr().numpy())
    real = run(
        "qnn.dequantize", found, np.float32(scale), np.int32(zero_point), out_dtype="float32"
    )
    np.testing.assert_array_equal(real, expected.dequantize().numpy())


def test_channels_are_quantized_as_pytorch_does():
    data = RANDOM.uniform(-9, 9, (4, 3, 5)).astype("float32")
    scales, zero_points = np.array([0.25, 0.125, 0.5], "float32"), np.array([3, 0, -7], "int32")
    expected = torch.quantize_per_channel(
        torch.from_numpy(data),
        torch.from_numpy(scales),
        torch.from_numpy(zero_points),
        1,
        torch.qint8,
    )
    found = run("qnn.quantize", data, scales, zero_points, out_dtype="int8", axis=1)
    np.testing.assert_array_equal(found, expected.int_repr().numpy())
    real = run("qnn.dequantize", found, scales, zero_points, out_dtype="float32", axis=-2)
    np.testing.assert_array_equal(real, expected.dequantize().numpy())


def test_a_fully_connected_layer_follows_pytorch_to_the_last_bit_but_one():
    x = torch.quantize_per_tensor(torch.randn(20, 30), 0.05, 3, torch.quint8)
    scales, zeros = torch.rand(10) / 20 + 0.01, torch.zeros(10, dtype=torch.int64)
    weight = torch.quantize_per_channel(torch.randn(10, 30), scales, zeros, 0, torch.qint8)
    packed = torch.ops.quantized.linear_prepack(weight, None)
    expected = torch.ops.quantized.linear(x, packed, 0.1, 70).int_repr().numpy().astype(int)
    kernel_scale = scales.numpy()
    sums = run(
        "qnn.dense",
        x.int_repr().numpy(),
        weight.int_repr().numpy(),
        np.int32(3),
        np.int32(0),
        np.float32(0.05),
        kernel_scale,
    )
    found = run(
        "qnn.requantize",
        sums,
        np.float32(0.05) * kernel_scale,
        np.int32(0),
        np.float32(0.1),
        np.int32(70),
        out_dtype="uint8",
    )
    assert np.abs(found.astype(int) - expected).max() <= 1
    assert (found == expected).mean() > 0.99


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32"])
def test_quantizing_what_was_dequantized_gives_it_back(dtype):
    limits = np.iinfo(dtype)
    data = np.unique(RANDOM.integers(limits.min, limits.max, 500, endpoint=True).astype(dtype))
    if dtype == "int32":
        data = data[np.abs(data.astype(int)) < 2**23]  # what float32 can hold
    given = np.float32(0.037), np.int32(0)
    real = run("qnn.dequantize", data, *given, out_dtype="float32")
    np.testing.assert_array_equal(run("qnn.quantize", real, *given, out_dtype=dtype), data)


def test_requantizing_in_floats_and_in_fixed_point_agree():
    data = RANDOM.integers(-(2**20), 2**20, 1000).astype("int32")
    given = np.float32(0.0007), np.int32(3), np.float32(0.9), np.int32(-4)
    exact = run("qnn.requantize", data, *given, out_dtype="int16")
    for dtype in ("float32", "float64"):
        found = run("qnn.requantize", data, *given, out_dtype="int16", compute_dtype=dtype)
        assert np.abs(found.astype(int) - exact).max() <= (dtype == "float32")


@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
def test_a_scalar_of_64_bits_is_as_exact_as_a_tensor(rounding):
    values = np.array([2**62 + 12345, -(2**63), 2**31, -3], "int64")
    for scales in ((1, 1e9), (4e9, 1), (0.5, 1)):
        known = [np.float32(scales[0]), np.int32(-7), np.float32(scales[1]), np.int32(3)]
        attrs = {"out_dtype": "int32", "rounding": rounding}
        whole = run("qnn.requantize", values, *known, **attrs)
        each = [run("qnn.requantize", np.array(v), *known, **attrs) for v in values]
        assert all(value.shape == () for value in each)
        assert [value.item() for value in each] == whole.tolist()


def test_a_run_chooses_the_element_type_that_is_simulated():
    data = relay.const(np.array([-0.6, 0.2, 999], "float32"))
    scale, zero_point = relay.const(0.5), relay.const(1)
    expected = {"int8": [0, 1, 127], "uint8": [0, 1, 255], "int32": [0, 1, 1999]}
    for dtype, values in expected.items():
        call = relay.qnn.op.simulated_quantize(data, scale, zero_point, out_dtype=dtype)
        assert evaluate(call).numpy().tolist() == values
    call = relay.qnn.op.simulated_quantize(data, scale, zero_point, out_dtype="disable")
    assert evaluate(call).numpy().tolist() == data.data.numpy().tolist()
    chosen = relay.qnn.op.simulated_dequantize(data, scale, zero_point, in_dtype=relay.const(2))
    np.testing.assert_allclose(evaluate(chosen).numpy(), [-0.8, -0.4, 499])


def test_an_element_type_that_cannot_be_simulated_is_refused():
    x = relay.var("x")
    with pytest.raises(RelayError, match="`int7` is no element type to simulate; did you mean"):
        relay.qnn.op.simulated_quantize(x, x, x, out_dtype="int7")


def test_scales_wait_until_they_are_known():
    # the scale comes out of a function whose type is found later than its use
    scale, x = relay.var("s"), relay.var("x", shape=(2, 3), dtype="int8")
    body = relay.qnn.op.dequantize(x, scale, relay.const(0))
    function = relay.Function([x], relay.Let(scale, relay.const(0.5), body))
    assert infer_expr(function).ret_type == tensor(2, 3)


@pytest.mark.parametrize(
    ("types", "attrs", "message"),
    [
        ([tensor(2, dtype="int8"), tensor(), tensor(dtype="int32")], {}, "wrong element type"),
        (
            [tensor(2), tensor(dtype="float64"), tensor(dtype="int32")],
            {},
            "`output_scale` is no scale",
        ),
        ([tensor(2), tensor(), tensor()], {}, "`output_zero_point` is no zero point"),
        (
            [tensor(2, 3), tensor(2), tensor(dtype="int32")],
            {},
            r"expected: +float32 or Tensor\[\(3\)",
        ),
        ([tensor(2, 3), tensor(2, 3), tensor(dtype="int32")], {}, "`output_scale` is no scale"),
        ([tensor(2, 3), tensor(2), tensor(dtype="int32")], {"axis": 2}, "`axis` is out of range"),
        (
            [tensor(2), tensor(), tensor(dtype="int32")],
            {"out_dtype": "float32"},
            "`out_dtype` does not",
        ),
    ],
)
def test_what_cannot_be_quantized_is_refused_in_words(types, attrs, message):
    with pytest.raises(TypeCheckError, match=message):
        infer("qnn.quantize", *types, **{"out_dtype": "int8", **attrs})


def test_a_vector_of_one_scale_serves_every_axis():
    one = tensor(1), tensor(1, dtype="int32")
    assert infer("qnn.quantize", tensor(), *one, out_dtype="int8") == tensor(dtype="int8")
    assert infer("qnn.quantize", tensor(2, 3), *one, out_dtype="int8") == tensor(2, 3, dtype="int8")


def test_integers_of_64_bits_need_another_type_to_be_requantized_to():
    scalar = tensor(), tensor(dtype="int32")
    wide = tensor(4, dtype="int64")
    narrow = infer("qnn.requantize", wide, *scalar, *scalar, out_dtype="int8")
    assert narrow == tensor(4, dtype="int8")
    with pytest.raises(TypeCheckError, match="`out_dtype` does not fit"):
        infer("qnn.requantize", wide, *scalar, *scalar)


@pytest.mark.parametrize(("scales", "zeros"), [(1, 1), (3, 3), (1, 3), (3, 1)])
def test_a_run_finds_whether_there_is_a_scale_for_each_channel(scales, zeros):
    any_number = relay.Any()
    types = [tensor(any_number, any_number, dtype="int8"), tensor(any_number)]
    types.append(tensor(any_number, dtype="int32"))
    params = [Var(f"x{i}", ty) for i, ty in enumerate(types)]
    call = relay.qnn.op.requantize(
        params[0], params[1], params[2], relay.const(0.5), relay.const(1), axis=1, out_dtype="int8"
    )
    target = Target.host()
    function = infer_expr(relay.Function(params, call))
    compiled = DynamicFunction(lower_dynamic(function, [False] * 3, target), target)
    data = RANDOM.integers(-100, 100, (2, 3)).astype("int8")
    scale = RANDOM.uniform(0.1, 1, (scales,)).astype("float32")
    zero = RANDOM.integers(-9, 9, (zeros,)).astype("int32")
    (found,) = compiled.run([data, scale, zero])
    wanted = run(
        "qnn.requantize",
        data,
        scale,
        zero,
        np.float32(0.5),
        np.int32(1),
        axis=1,
        out_dtype="int8",
    )
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("zero", [2**31 - 1, -(2**31), 2**16 - 1, -(2**15) - 1])
def test_zero_points_far_outside_of_the_type_are_exact(zero):
    x = relay.var("x", shape=(3,), dtype="int8")
    given, scale = np.array([-128, 0, 127], "int8"), relay.const(1.0)
    point = relay.var("point", shape=(), dtype="int32")
    reals = relay.qnn.op.dequantize(x, scale, point)
    back = relay.qnn.op.quantize(reals + relay.const(1.0), scale, point, out_dtype="int8")
    exe = relay.compile(relay.Function([x, point], relay.Tuple([reals, back])))
    found, again = exe(given, np.array(zero, "int32"))
    np.testing.assert_array_equal(found, (given.astype("int64") - zero).astype("float32"))
    whole = np.rint((found + np.float32(1)).astype("float64")) + zero
    np.testing.assert_array_equal(again, np.clip(whole, -128, 127).astype("int8"))


def test_wide_differences_are_rescaled_by_small_factors():
    x = relay.var("x", shape=(1,), dtype="int32")
    scales = relay.const(3e-8), relay.const(-(2**31), "int32"), relay.const(1.0), relay.const(0)
    y = relay.qnn.op.requantize(x, *scales, out_dtype="int32", compute_dtype="int64")
    exe = relay.compile(relay.Function([x], y))
    assert exe(np.array([2**31 - 1], "int32")) == round((2**32 - 1) * 3e-8)
