"""Conversions of inputs and results as functions of their own."""

import numpy as np
import pytest

import relay
from relay import dtypes, nn, quantize
from relay.errors import RelayError
from tests.quantize.networks import Networks

RNG = np.random.default_rng(0)


def const(*shape):
    return relay.const(RNG.standard_normal(shape).astype("float32"))


def network(middle=nn.relu):
    x = relay.var("data", shape=(2, 8))
    hidden = middle(nn.dense(x, const(16, 8)))
    body = nn.softmax(nn.dense(hidden, const(4, 16)))
    return relay.transform.InferType()(relay.IRModule.from_expr(relay.Function([x], body)))


def quantized(mod, data, partition):
    settings = {"skip_dense_layer": False, "skip_conv_layers": None, "calibrate_mode": "max"}
    with quantize.qconfig(**settings, partition_conversions=partition):
        return quantize.quantize(mod, None, data)


def test_the_quantized_function_has_integers_only():
    data = [RNG.standard_normal((2, 8)).astype("float32")]
    mod = network()
    plain, module = (quantized(mod, data, one) for one in ("disabled", "fully_integral"))
    assert {name.name_hint for name in module.functions} == {
        "main",
        "quantize_inputs",
        "quantized_main",
        "dequantize_outputs",
    }
    for param in module["quantized_main"].params:
        assert dtypes.is_integer(param.checked_type.dtype)
    np.testing.assert_array_equal(relay.compile(module)(data[0]), relay.compile(plain)(data[0]))


def test_floats_in_between_are_refused_by_name():
    data = [RNG.standard_normal((2, 8)).astype("float32")]
    mod = network(lambda hidden: nn.softmax(hidden))
    with pytest.raises(RelayError, match="computes with floats") as caught:
        quantized(mod, data, "fully_integral")
    assert "nn.softmax" in str(caught.value)
    quantized(mod, data, "enabled")


def test_random_networks_compute_the_same():
    for seed in range(4):
        made = Networks(seed, 4)
        data = made.batches(2)
        plain, module = (quantized(made.mod, data, one) for one in ("disabled", "enabled"))
        found = [
            relay.create_executor("debug", one).evaluate()(data=data[0]).numpy()
            for one in (plain, module)
        ]
        np.testing.assert_array_equal(*found)
