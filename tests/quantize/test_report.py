"""What quantization costs."""

import json
from dataclasses import replace

import numpy as np
import pytest

import relay
from relay import nn, quantize
from relay.ir.expr import Function

x = relay.var("x", shape=(4, 16))
RNG = np.random.default_rng(0)


def const(*shape):
    return relay.const(RNG.standard_normal(shape).astype("float32"))


HIDDEN = nn.relu(nn.dense(x, const(32, 16)))
NETWORK = Function([x], nn.softmax(nn.dense(nn.softmax(HIDDEN), const(10, 32))))
DATA = [RNG.standard_normal((4, 16)).astype("float32") for _ in range(4)]


@pytest.fixture(scope="module")
def found():
    return quantize.report(NETWORK, None, DATA)


def test_it_has_each_value_and_each_weight(found):
    assert [(loss.name, loss.kind) for loss in found.losses] == [
        ("x", "data"),
        ("dense_0.weight", "weight"),
        ("softmax_0", "data"),
        ("dense_1.weight", "weight"),
    ]
    assert found.without_rule == ("nn.softmax",)
    assert found.kept_float == ()


def test_its_noise_is_that_of_rounding(found):
    """Uniform noise of a step has a variance of a twelfth of its square."""
    (loss,) = (loss for loss in found.losses if loss.name == "x")
    values = np.concatenate(DATA).astype(np.float64)
    step = (values.max() - values.min()) / 255
    wanted = 10 * np.log10((values**2).mean() / (step**2 / 12))
    assert loss.own_snr == pytest.approx(wanted, abs=1)
    assert loss.snr == pytest.approx(loss.own_snr, abs=0.01)
    assert loss.range_use == 1


def test_its_results_are_those_of_the_realized_network(found):
    exact = relay.compile(NETWORK)
    integers = relay.compile(NETWORK, quantize=quantize.int8(DATA))
    pairs = [(exact(batch), integers(batch)) for batch in DATA]
    largest = max(np.abs(a - b).max() for a, b in pairs)
    assert found.largest_difference == pytest.approx(largest, rel=0.2)
    same = np.mean([(a.argmax(1) == b.argmax(1)).mean() for a, b in pairs])
    assert found.agreement == pytest.approx(same)
    assert found.constants[1] < found.constants[0]


def test_it_is_text_and_json_and_a_picture(found, tmp_path):
    text = str(found)
    assert "dense_0.weight" in text and "operators in floats: nn.softmax" in text
    known = json.loads(found.json())
    assert known["losses"][0]["name"] == "x"
    assert known["agreement"] == found.agreement
    found.plot(tmp_path / "layers.svg")
    picture = (tmp_path / "layers.svg").read_text()
    assert picture.startswith("<svg") and picture.count("<rect") == 4


def test_layers_in_floats_are_named():
    scheme = replace(quantize.INT8, keep_float=("dense_1",))
    found = quantize.report(NETWORK, None, DATA[:1], scheme=scheme)
    assert found.kept_float == ("dense_1",)
    assert "layers in floats: dense_1" in str(found)


def test_values_that_are_zero_have_no_noise():
    found = quantize.report(NETWORK, None, [np.zeros((4, 16), "float32")])
    assert json.loads(found.json())["losses"][0]["snr"] is None


def test_other_ways_to_quantize_are_compared_by_the_sums_of_layers():
    x = relay.var("x", shape=(2, 32))
    chance = np.random.default_rng(0)
    w = [relay.const(chance.standard_normal((32, 32)).astype("float32")) for _ in range(2)]
    network = relay.Function([x], nn.dense(nn.relu(nn.dense(x, w[0])), w[1]))
    data = [chance.standard_normal((2, 32)).astype("float32") for _ in range(2)]
    ways = [quantize.mixed(), quantize.dynamic(), quantize.weight_only(bits=8), quantize.int8(data)]
    for how in ways:
        found = quantize.report(network, None, data, scheme=how)
        assert [loss.name for loss in found.losses] == ["dense_0", "dense_1"]
        assert all(30 < loss.snr < 70 and loss.kind == "sums" for loss in found.losses)
        assert 30 < found.snr < 70
        assert "dense_1" in str(found)
        assert json.loads(found.json())["losses"][0]["bits"] is None
    coarse = quantize.report(network, None, data, scheme=quantize.weight_only(bits=2))
    assert coarse.losses[0].snr < 15
