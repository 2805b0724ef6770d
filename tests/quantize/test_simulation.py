"""The realized program has the integers that the simulation says, for every scheme."""

from dataclasses import replace

import numpy as np
import pytest

import relay
from relay import quantize
from relay.quantize import INT8, INT8_W4, SHIFTS, Integers, Scheme
from tests.quantize.networks import Networks
from tests.quantize.simulation import assert_realized
from tests.support.looping import each

AFFINE = Integers(signed=False, symmetric=False, per="channel")
SCHEMES = (
    INT8,
    INT8_W4,
    SHIFTS,
    Scheme("signed", data=Integers(), weight=AFFINE),
    Scheme("16 bits", data=Integers(bits=16)),
    Scheme("4 and 3 bits", data=Integers(4, signed=False, symmetric=False), weight=Integers(3)),
    Scheme("2 bits", data=Integers(5), weight=Integers(2, per="channel"), rounding="TONEAREST"),
    Scheme("kl", calibrate_mode="kl_divergence", residual=False),
    Scheme("percentile", calibrate_mode="percentile", percentile=99.0),
    Scheme("12 bits", data=Integers(bits=12), weight=Integers(bits=11, per="channel")),
    Scheme("int16", data=Integers(5), weight=Integers(3, per="channel"), sums="int16"),
    quantize.qconfig(calibrate_mode="max", skip_conv_layers=None).scheme,
    replace(SHIFTS, name="whole", whole=True),
    Scheme("whole, affine", calibrate_mode="max", whole=True),
)


def interpreted(module, inputs):
    found = relay.create_executor("debug", module).evaluate()(**inputs)
    return [one.numpy() for one in found]


def compiled(module, inputs):
    return list(relay.compile(module)(**inputs))


def check(seed, run):
    scheme = SCHEMES[seed % len(SCHEMES)]
    network = Networks(seed)
    batches = network.batches(3)
    module = quantize.annotate(scheme)(quantize.prerequisite_optimize(network.mod))
    module = quantize.calibrate(batches, scheme)(module)
    assert assert_realized(module, {"data": batches[0]}, run, scheme.rounding, scheme.sums) > 100


@each("seed", range(len(SCHEMES)))
def test_integers_are_those_of_the_simulation(seed):
    check(seed, interpreted)


def test_compiled_integers_are_those_of_the_simulation():
    check(10, compiled)


@pytest.mark.full
@each("seed", range(20, 320))
def test_integers_of_many_networks_are_those_of_the_simulation(seed):
    check(seed, compiled if seed % 3 == 0 else interpreted)


def test_the_simulation_in_floats_is_near_the_realized_program():
    network = Networks(3)
    batches = network.batches(3)
    with quantize.qconfig(do_simulation=True):
        simulated = quantize.quantize(network.mod, None, batches, scheme=INT8)
    realized = quantize.quantize(network.mod, None, batches, scheme=INT8)
    a, b = (relay.compile(mod)(batches[0]) for mod in (simulated, realized))
    exact = relay.compile(network.mod)(batches[0])
    assert np.abs(a - b).max() <= 0.2 * np.abs(exact).max()
    assert np.abs(a - exact).max() <= 0.2 * np.abs(exact).max()
