"""Convolutions with constant weights of which most are zeros."""

import numpy as np
import pytest

import relay
from relay import nd
from relay.check.wellformed import check_well_formed
from relay.testing import assert_same_value
from relay.transform import Conv2dToSparse2, InferType

RNG = np.random.default_rng(3)


def weight(size=3, share=0.1, layout="NHWC"):
    """A weight in which that share of blocks, of 4 output channels each, is there."""
    kept = RNG.random((size, size, 8, 1)) < share
    found = (RNG.standard_normal((size, size, 8, 8)) * kept).astype("float32")
    return found if layout == "NHWC" else np.ascontiguousarray(found.transpose(3, 2, 0, 1))


def module(array, layout="NHWC", padding=None):
    x = relay.var("x", shape=(2, 5, 6, 8) if layout == "NHWC" else (2, 8, 5, 6))
    kernel_layout = "HWIO" if layout == "NHWC" else "OIHW"
    size = array.shape[kernel_layout.index("H")]
    padding = size // 2 if padding is None else padding
    body = relay.nn.conv2d(
        x,
        relay.const(array),
        data_layout=layout,
        kernel_layout=kernel_layout,
        padding=padding,
    )
    return InferType()(relay.IRModule.from_expr(relay.Function([x], relay.nn.relu(body))))


def sparse(mod, layout="NHWC", size=3, blocks=(4, 1), threshold=0.5):
    after = Conv2dToSparse2(layout, size, blocks, threshold)(mod)
    check_well_formed(after)
    return after


def is_sparse(mod):
    return "nn.sparse_conv2d" in relay.analysis.list_op_freqs(mod)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("size", [1, 3])
def test_the_result_is_the_same(layout, size):
    mod = module(weight(size, layout=layout), layout)
    after = sparse(mod, layout, size)
    assert is_sparse(after)
    x = RNG.standard_normal(mod["main"].params[0].checked_type.shape).astype("float32")
    results = [relay.create_executor("debug", m).evaluate()(x) for m in (mod, after)]
    assert_same_value(*results, rtol=1e-5)
    np.testing.assert_allclose(relay.compile(after)(x), results[0].numpy(), 1e-5, 1e-5)
    assert sparse(after, layout, size)["main"] is after["main"]


def test_weights_that_are_not_sparse_stay():
    mod = module(weight(share=0.9))
    assert sparse(mod)["main"] is mod["main"]
    assert is_sparse(sparse(mod, threshold=0))


def test_convolutions_of_another_kind_stay():
    mod = module(weight(), padding=0)
    assert sparse(mod)["main"] is mod["main"]
    assert sparse(module(weight()), size=1)["main"].body.args[0].op.name == "nn.conv2d"
    assert not is_sparse(sparse(module(weight()), blocks=(3, 1)))


def test_weights_that_may_be_replaced_stay():
    x = relay.var("x", shape=(1, 5, 6, 8))
    array = weight(1)
    data = relay.Constant(nd.Weight("w", array))
    body = relay.nn.conv2d(x, data, data_layout="NHWC", kernel_layout="HWIO")
    mod = InferType()(relay.IRModule.from_expr(relay.Function([x], body)))
    assert sparse(mod, size=1)["main"] is mod["main"]


def test_options_are_checked():
    with pytest.raises(relay.RelayError, match="an odd number, found 4"):
        Conv2dToSparse2("NHWC", 4, (1, 1), 0.5)
    with pytest.raises(relay.RelayError, match="a size of blocks"):
        Conv2dToSparse2("NHWC", 3, (1,), 0.5)
