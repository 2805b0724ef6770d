"""Layers stay floats as a metric wants it."""

import numpy as np
import pytest

import relay
from relay import nn, quantize
from relay.errors import RelayError
from relay.ir.expr import Function

RNG = np.random.default_rng(0)
x = relay.var("x", shape=(8, 16))


def const(*shape):
    return relay.const(RNG.standard_normal(shape).astype("float32"))


FIRST = nn.relu(nn.dense(x, const(16, 16)))
SECOND = nn.relu(nn.dense(FIRST, const(16, 16)))
# of the last layer, two bits are enough
LAST = relay.const(RNG.choice([-1.0, 1.0], (4, 16)).astype("float32"))
NETWORK = Function([x], nn.dense(SECOND, LAST))
SCHEME = quantize.Scheme("coarse", weight=quantize.Integers(bits=2))
DATA = [RNG.standard_normal((8, 16)).astype("float32") for _ in range(3)]


def metric(run):
    exact = relay.create_executor("debug", relay.IRModule.from_expr(NETWORK)).evaluate()
    wanted = exact(x=DATA[0]).numpy()
    return -float(np.abs(run(DATA[0]) - wanted).mean())


def kept(drop):
    mod = quantize.prerequisite_optimize(NETWORK)
    dataset = quantize.int8(DATA).dataset
    return quantize.budget(metric, drop).kept_float(mod, SCHEME, dataset)


def test_the_layers_that_do_most_damage_stay_floats():
    assert set(kept(2.0)) == {"dense_0", "dense_1"}
    assert len(kept(20.0)) < 2


def test_all_is_quantized_if_the_metric_allows():
    assert kept(1e6) == ()


def test_the_compiled_network_is_within_the_budget():
    quantizer = quantize.int8(DATA, scheme=SCHEME, keep_float=quantize.budget(metric, 2.0))
    assert -2.1 < metric(relay.compile(NETWORK, quantize=quantizer)) < 0


def test_layers_are_kept_by_name():
    module = quantize.quantize(NETWORK, None, DATA, scheme=SCHEME, keep_float=["dense_1"])
    found = relay.analysis.list_op_freqs(module)
    assert (found["nn.dense"], found["qnn.dense"]) == (1, 2)
    with pytest.raises(RelayError, match="there is no layer `dense_9`"):
        quantize.quantize(NETWORK, None, DATA, keep_float=["dense_9"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: quantize.budget(3), "a metric is a function"),
        (lambda: quantize.budget(metric, -1), "a drop of 0 or more"),
        (lambda: compiled(lambda run: None), "a metric gives a number, found None"),
        (lambda: compiled(lambda run: float("nan")), "found NaN"),
        (
            lambda: quantize.quantize(
                NETWORK,
                scheme=quantize.Scheme("g", calibrate_mode="global_scale"),
                keep_float=quantize.budget(metric),
            ),
            "a budget needs a dataset",
        ),
    ],
)
def test_bad_budgets_are_refused(make, message):
    with pytest.raises(RelayError, match=message):
        make()


def compiled(metric):
    quantizer = quantize.int8(DATA, keep_float=quantize.budget(metric))
    return relay.compile(NETWORK, quantize=quantizer)
