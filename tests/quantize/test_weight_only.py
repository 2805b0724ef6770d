"""Dense layers with weights of few bits."""

import numpy as np
import pytest

import relay
from relay import nn, quantize
from relay.analysis import list_op_freqs
from relay.errors import PassError
from relay.ir.expr import Constant, Function
from relay.op.linalg.dense_nbits import packed, unpacked
from tests.support.looping import each

RNG = np.random.default_rng(0)
# (rows, depth, units): one row, several, tails of all
SIZES = ((1, 64, 160), (1, 100, 37), (3, 64, 128), (7, 96, 65), (2, 5, 9))


def drawn(*shape):
    return RNG.standard_normal(shape).astype("float32")


def network(rows, depth, units):
    x = relay.var("x", shape=(rows, depth))
    weight, bias = drawn(units, depth), drawn(units)
    body = nn.relu(nn.bias_add(nn.dense(x, relay.const(weight)), relay.const(bias)))
    return relay.IRModule.from_expr(Function([x], body)), weight, bias


def nearest(weight, integers):
    """The weight from its integers, a group at a time."""
    found = np.zeros_like(weight, np.float64)
    block = integers.block or weight.shape[1]
    for row in range(weight.shape[0]):
        for start in range(0, weight.shape[1], block):
            part = weight[row, start : start + block].astype(np.float64)
            errors = []
            for share in (1.0, 0.96, 0.92, 0.88, 0.84, 0.8):
                known = integers.parameters(part.min() * share, part.max() * share)
                errors.append(known.centered(part) * known.scale.astype(np.float64))
            found[row, start : start + block] = min(errors, key=lambda e: ((e - part) ** 2).sum())
    return found


@each("rows, depth, units", SIZES)
def test_products_are_those_with_the_rounded_weight(rows, depth, units):
    for bits, block, symmetric in ((4, 32, True), (8, 32, True), (3, 0, False), (2, 16, False)):
        mod, weight, bias = network(rows, depth, units)
        how = quantize.weight_only(bits=bits, block=block, symmetric=symmetric)
        exe = relay.compile(mod, quantize=how)
        data = drawn(rows, depth)
        wanted = np.maximum(data.astype(np.float64) @ nearest(weight, how.weight).T + bias, 0)
        np.testing.assert_allclose(exe(data), wanted, atol=5e-5 * max(wanted.max(), 1))


def test_words_are_packed_from_the_lowest_bits():
    elements = np.arange(10).reshape(-1, 1) % 4
    for bits in (2, 4, 8):
        words = packed(elements, bits)
        assert words.dtype == np.uint32
        assert (unpacked(words, bits)[:10] == elements).all()
    assert packed(np.array([[1], [2]]), 4)[0, 0] == 0x21


def test_memory_is_that_of_the_bits():
    mod, *_ = network(1, 1024, 512)
    before, after = (
        relay.compile(mod, quantize=how).memory.constants
        for how in (None, quantize.weight_only(bits=4, block=128))
    )
    assert after < before / 6.5


def test_layers_in_loops_and_branches_are_among_them():
    x = relay.var("x", shape=(1, 32))
    flag = relay.var("flag", shape=(), dtype="bool")
    w = relay.const(drawn(16, 32))
    body = relay.If(flag, nn.dense(x, w), nn.matmul(x, relay.const(drawn(32, 16))))
    mod = quantize.weight_only()(relay.IRModule.from_expr(Function([flag, x], body)), {})
    assert list_op_freqs(mod)["nn.dense_nbits"] == 2
    assert list_op_freqs(quantize.weight_only(least=10**4)(mod, {}))["nn.dense_nbits"] == 2


def test_rows_that_are_not_finite_are_nan():
    mod, *_ = network(2, 64, 32)
    data = drawn(2, 64)
    data[0, 3] = np.inf
    found = relay.compile(mod, quantize=quantize.weight_only())(data)
    assert np.isnan(found[0]).all() and np.isfinite(found[1]).all()


def test_weights_of_zeros_and_bits_that_there_are_not():
    x = relay.var("x", shape=(1, 32))
    mod = relay.IRModule.from_expr(
        Function([x], nn.dense(x, Constant(relay.nd.array(np.zeros((4, 32), "f4")))))
    )
    assert not relay.compile(mod, quantize=quantize.weight_only())(drawn(1, 32)).any()
    with pytest.raises(PassError, match="2 to 8 bits, found 12"):
        quantize.weight_only(bits=12)
