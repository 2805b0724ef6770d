"""What the target prefers."""

import pytest

import relay
from relay.ir.expr import Call
from relay.target import Target
from relay.target.llvm.layouts import preferred
from relay.transform import InferType


def convolution(inputs, outputs, groups=1, dtype="float32", **attrs):
    each = inputs // groups
    x = relay.var("x", shape=(1, inputs, 8, 8), dtype=dtype)
    w = relay.var("w", shape=(outputs, each, 3, 3), dtype=dtype)
    call = relay.nn.conv2d(x, w, groups=groups, **attrs)
    return InferType()(relay.IRModule.from_expr(relay.Function([x, w], call)))["main"].body


def layouts(call, level="avx512"):
    found = preferred(call, Target.x86(level))
    if found is None:
        return None
    assert isinstance(found, Call) and found.args == call.args
    assert found.attrs.strides == call.attrs.strides and found.attrs.groups == call.attrs.groups
    name = found.op.name.removeprefix("nn.contrib_").removesuffix("conv2d_NCHWc")
    name = "" if found.op is call.op else name
    return name + found.attrs.data_layout, found.attrs.kernel_layout, found.attrs.out_layout


@pytest.mark.parametrize(
    ("level", "dtype", "block"),
    [
        ("avx512", "float32", 16),
        ("avx512", "float64", 8),
        ("avx2", "float32", 8),
        ("baseline", "float32", 4),
        ("baseline", "float64", 2),
    ],
)
def test_a_block_of_channels_is_a_vector(level, dtype, block):
    blocked = f"NCHW{block}c"
    found = layouts(convolution(32, 64, dtype=dtype, strides=2), level)
    assert found == (blocked, "OIHW", blocked)


def test_input_channels_that_make_no_blocks_stay():
    assert layouts(convolution(3, 64)) == ("NCHW", "OIHW", "NCHW16c")


def test_output_channels_that_make_no_blocks_leave_the_call():
    assert layouts(convolution(64, 6)) is None
    assert layouts(convolution(64, 97)) is None
    assert layouts(convolution(24, 40)) is None
    assert layouts(convolution(24, 24, groups=24)) is None
    assert layouts(convolution(64, 24), "avx2") == ("NCHW8c", "OIHW", "NCHW8c")


def test_opposite_whole_vectors_other_channels_are_blocks_of_a_divisor():
    assert layouts(convolution(144, 24)) == ("NCHW16c", "OIHW", "NCHW24c")
    assert layouts(convolution(24, 144)) == ("NCHW24c", "OIHW", "NCHW16c")
    assert layouts(convolution(64, 30)) == ("NCHW16c", "OIHW", "NCHW30c")
    assert layouts(convolution(64, 10)) == ("NCHW16c", "OIHW", "NCHW10c")
    assert layouts(convolution(64, 20), "avx2") == ("NCHW8c", "OIHW", "NCHW20c")


@pytest.mark.parametrize(("spatial", "rank"), [("W", 1), ("DHW", 3)])
def test_one_and_three_axes_are_in_blocks_too(spatial, rank):
    x = relay.var("x", shape=(1, 32, *[6] * rank))
    w = relay.var("w", shape=(16, 32, *[3] * rank))
    call = getattr(relay.nn, f"conv{rank}d")(x, w)
    typed = InferType()(relay.IRModule.from_expr(relay.Function([x, w], call)))["main"].body
    found = preferred(typed, Target.x86("avx2"))
    assert found.op is typed.op
    assert found.attrs.data_layout == found.attrs.out_layout == f"NC{spatial}8c"
    assert found.attrs.kernel_layout == f"OI{spatial}"


def test_groups_are_channels_or_whole_blocks():
    depthwise = ("depthwise_NCHW16c", "OIHW1i16o", "NCHW16c")
    assert layouts(convolution(32, 32, groups=32)) == depthwise
    assert layouts(convolution(64, 64, groups=4)) == ("NCHW16c", "OIHW", "NCHW16c")
    assert layouts(convolution(64, 64, groups=8)) is None
    assert layouts(convolution(32, 64, groups=32)) is None


@pytest.mark.parametrize(
    "attrs",
    [
        {"dtype": "int8", "out_dtype": "int16"},
        {"dtype": "int8"},
        {"dtype": "float16"},
        {"out_dtype": "float64"},
        {"out_layout": "NHWC"},
    ],
)
def test_other_elements_and_layouts_are_left(attrs):
    assert layouts(convolution(32, 32, **attrs)) is None


@pytest.mark.parametrize("level", ["avx512", "avx2", "baseline"])
def test_bytes_have_their_channels_last(level):
    sums = {"dtype": "int8", "out_dtype": "int32"}
    assert layouts(convolution(32, 10, **sums), level) == ("NHWC", "OIHW", "NHWC")
    assert layouts(convolution(3, 64, **sums), level) == ("NCHW", "OIHW", "NHWC")
    assert layouts(convolution(32, 32, groups=32, **sums), level) == ("NHWC", "HWOI", "NHWC")
    assert layouts(convolution(32, 32, groups=4, **sums), level) is None


def test_machines_without_products_of_bytes_leave_them():
    call = convolution(32, 32, dtype="int8", out_dtype="int32")
    assert preferred(call, Target.aarch64("cortex-a72")) is None


def test_what_is_no_convolution_or_of_open_channels_is_left():
    x, w = relay.var("x", shape=(1, relay.Any(), 8, 8)), relay.var("w", shape=(32, 16, 3, 3))
    relu = relay.nn.relu(x)
    function = relay.Function([x, w], relay.Tuple([relu, relay.nn.conv2d(x, w)]))
    typed = InferType()(relay.IRModule.from_expr(function))["main"].body
    assert [layouts(field) for field in typed.fields] == [None, None]
