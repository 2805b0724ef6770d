"""Equal ranges between layers, corrected biases, accumulators of 16 bits."""

from dataclasses import replace

import numpy as np
import pytest

import relay
from relay import nn, quantize
from relay.errors import PassError
from relay.quantize import Integers, Scheme
from relay.quantize.equalize import equalized
from tests.quantize.networks import Networks

RNG = np.random.default_rng(0)


def const(*shape, spread=1.0):
    values = RNG.standard_normal(shape) * spread / np.sqrt(np.prod(shape[1:]))
    return relay.const(values.astype("float32"))


def uneven():
    """Layers with a hundredfold between the ranges of channels: a convolution, a depthwise one, a
    convolution, a dense layer."""
    x = relay.var("data", shape=(1, 3, 8, 8))
    spread = np.geomspace(0.1, 10, 16).reshape(-1, 1, 1, 1)
    body = nn.conv2d(x, const(16, 3, 3, 3, spread=spread), padding=1)
    body = nn.relu(nn.bias_add(body, const(16, spread=0.1)))
    body = nn.conv2d(body, const(16, 1, 3, 3, spread=1 / spread), padding=1, groups=16)
    body = nn.leaky_relu(relay.add(body, const(1, 16, 1, 1, spread=0.1)), 0.1)
    body = nn.conv2d(body, const(8, 16, 1, 1))
    body = nn.dense(nn.batch_flatten(nn.global_avg_pool2d(nn.relu(body))), const(5, 8))
    return relay.transform.InferType()(relay.IRModule.from_expr(relay.Function([x], body)))


def batches(count=6):
    return [RNG.standard_normal((1, 3, 8, 8)).astype("float32") for _ in range(count)]


def error(mod, scheme, data):
    exact = relay.compile(mod)
    found = relay.compile(mod, quantize=quantize.int8(data, scheme=scheme))
    return np.sqrt(np.mean([(found(x) - exact(x)) ** 2 for x in data]))


def test_equalized_networks_compute_the_same_with_ranges_that_are_alike():
    mod = quantize.prerequisite_optimize(uneven())
    after = equalized(mod)
    x = batches(1)[0]
    np.testing.assert_allclose(relay.compile(after)(x), relay.compile(mod)(x), rtol=1e-4, atol=1e-5)

    def uneven_by(module):
        (weight,) = [
            node.args[1].data.array
            for node in relay.tree.postorder(module["main"])
            if isinstance(node, relay.Call) and getattr(node.attrs, "groups", 1) == 16
        ]
        reach = np.abs(weight).max((1, 2, 3))
        return reach.max() / reach.min()

    assert uneven_by(after) < 0.2 * uneven_by(mod)


def test_equal_ranges_help_a_scheme_with_one_scale_for_a_weight():
    plain = Scheme("tensor", weight=Integers(), calibrate_mode="mse")
    mod, data = uneven(), batches()
    assert error(mod, replace(plain, equalize=True), data) < 0.5 * error(mod, plain, data)


def test_layers_with_other_readers_are_left_alone():
    x = relay.var("data", shape=(2, 8))
    hidden = nn.relu(nn.dense(x, const(8, 8)))
    body = relay.add(nn.dense(hidden, const(8, 8)), hidden)
    mod = quantize.prerequisite_optimize(relay.Function([x], body))
    assert relay.ir.structural_equal(equalized(mod)["main"], mod["main"])


def test_corrected_biases_leave_no_mean_error():
    x = relay.var("data", shape=(64, 32))
    mod = relay.IRModule.from_expr(relay.Function([x], nn.dense(x, const(16, 32))))
    data = [(RNG.standard_normal((64, 32)) + 2).astype("float32") for _ in range(4)]
    few = Scheme("w3", weight=Integers(3, per="channel"))
    exact = relay.compile(mod)

    def shift(scheme):
        found = relay.compile(mod, quantize=quantize.int8(data, scheme=scheme))
        return np.abs(np.mean([found(b) - exact(b) for b in data], (0, 1))).max()

    assert shift(replace(few, correct_bias=True)) < 0.1 * shift(few)
    with pytest.raises(PassError, match="needs a dataset"):
        quantize.quantize(
            mod, scheme=replace(few, correct_bias=True, calibrate_mode="global_scale")
        )


def test_all_of_it_on_random_networks():
    for seed in range(3):
        network = Networks(seed)
        data = network.batches(3)
        scheme = Scheme("both", weight=Integers(8), equalize=True, correct_bias=True)
        exact, found = (
            relay.compile(network.mod, quantize=how)(data[0])
            for how in (None, quantize.int8(iter(data), scheme=scheme))
        )
        assert np.abs(found - exact).max() < 0.2 * np.abs(exact).max()


# --- accumulators


def sums(depth, data_bits, weight_bits):
    x = relay.var("data", shape=(2, depth))
    mod = relay.Function([x], nn.dense(x, const(4, depth)))
    scheme = Scheme("narrow", data=Integers(data_bits), weight=Integers(weight_bits), sums="int16")
    data = RNG.standard_normal((2, depth)).astype("float32")
    module = quantize.quantize(mod, None, [data], scheme=scheme)
    wide = quantize.quantize(mod, None, [data], scheme=replace(scheme, sums="int32"))
    np.testing.assert_array_equal(relay.compile(module)(data), relay.compile(wide)(data))
    return [
        node.attrs.out_dtype
        for node in relay.tree.postorder(module["main"])
        if isinstance(node, relay.Call) and node.op.name == "qnn.dense"
    ]


def test_sums_are_narrow_where_weights_and_ranges_prove_it():
    assert sums(64, 6, 5) == ["int16"]  # 64 * 31 * 15 < 2^15


def test_other_sums_are_divided_or_stay_wide():
    assert sums(512, 6, 6) == ["int16"] * len(sums(512, 6, 6)) != ["int16"]
    assert sums(512, 8, 8) == ["int32"]


def test_qconfig_asks_for_them_by_the_old_names():
    with quantize.qconfig(dtype_activation="int16", nbit_activation=16) as config:
        assert config.scheme.sums == "int16"
    with pytest.raises(PassError, match="nbit_activation"):
        quantize.qconfig(dtype_activation="int16")


def test_wide_factors_are_integers_where_the_sums_fit():
    x = relay.var("data", shape=(2, 64))
    mod = relay.Function([x], nn.dense(x, const(4, 64)))
    data = RNG.standard_normal((2, 64)).astype("float32")
    for bits, is_integer in ((12, True), (16, False)):
        scheme = Scheme("wide", data=Integers(bits), weight=Integers(bits, per="channel"))
        module = quantize.quantize(mod, None, [data], scheme=scheme)
        names = relay.analysis.list_op_freqs(module)
        assert ("qnn.dense" in names) == is_integer
        exact = relay.compile(mod)(data)
        np.testing.assert_allclose(
            relay.compile(module)(data), exact, atol=2.0 ** (3 - bits) * np.abs(exact).max()
        )
