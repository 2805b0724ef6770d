"""Convolutions with weights in blocks."""

import pytest

import relay
from relay.check.wellformed import check_well_formed
from relay.errors import PassError
from relay.ir.compare import assert_structural_equal
from relay.transform import Conv2dToSparse, InferType


def module(size=1, **attrs):
    options = {"data_layout": "NHWC", "kernel_layout": "HWIO", "padding": size // 2, **attrs}
    x, w = relay.var("x", shape=(1, 6, 6, 8)), relay.var("w", shape=(size, size, 8, 4))
    body = relay.nn.relu(relay.nn.conv2d(x, w, **options))
    return InferType()(relay.IRModule.from_expr(relay.Function([x, w], body)))


def expected(shape, size, layout="NHWC"):
    x = relay.var("x", shape=(1, 6, 6, 8))
    data = relay.var("w.data", shape=shape[:-2])
    indices = relay.var("w.indices", shape=shape[-2:-1], dtype="int32")
    indptr = relay.var("w.indptr", shape=shape[-1:], dtype="int32")
    body = relay.nn.relu(
        relay.nn.sparse_conv2d(x, data, indices, indptr, layout=layout, kernel_size=size)
    )
    return InferType()(relay.IRModule.from_expr(relay.Function([x, data, indices, indptr], body)))


def sparse(mod, shape=(2, 4, 1, 2, 2), layout="NHWC", size=1):
    after = Conv2dToSparse(["w"], [shape], layout, size)(mod)
    check_well_formed(after)
    return after


@pytest.mark.parametrize("size", [1, 3])
def test_a_convolution_takes_the_blocks_of_its_weight(size):
    after = sparse(module(size), size=size)
    assert_structural_equal(after, expected((2, 4, 1, 2, 2), size))
    assert sparse(after, size=size)["main"] is after["main"]


def test_blocks_of_one_column_may_have_two_axes():
    assert_structural_equal(sparse(module(), (2, 4, 2, 2)), expected((2, 4, 2, 2), 1))


@pytest.mark.parametrize(
    "attrs", [{"strides": 2}, {"padding": 1}, {"out_dtype": "float64"}, {"groups": 2}]
)
def test_convolutions_of_another_kind_stay(attrs):
    if "groups" in attrs:
        x, w = relay.var("x", shape=(1, 6, 6, 16)), relay.var("w", shape=(1, 1, 8, 4))
        options = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
        body = relay.nn.conv2d(x, w, **options, **attrs)
        mod = InferType()(relay.IRModule.from_expr(relay.Function([x, w], body)))
    else:
        mod = module(**attrs)
    assert sparse(mod)["main"] is mod["main"]
    assert sparse(module(), layout="NCHW")["main"].body.args[0].op.name == "nn.conv2d"


def test_options_are_checked():
    with pytest.raises(relay.RelayError, match="found 'NWHC'"):
        Conv2dToSparse([], [], "NWHC", 1)
    with pytest.raises(PassError, match="there are 1 weights and the shapes of 0"):
        Conv2dToSparse(["w"], [], "NHWC", 1)
