"""What a run took, and designs for a network."""

import numpy as np
import pytest

import relay
from relay import nn, quantize
from relay.errors import RelayError
from relay.external.divide import external_functions
from relay.external.lower import part_of
from relay.target import accel
from relay.target.accel.config import Config
from relay.target.accel.device import Device
from relay.target.accel.offload import offloaded
from relay.target.accel.parts import compile_part
from relay.target.accel.report import report
from relay.target.accel.simulator import timed

CHANCE = np.random.default_rng(0)


@pytest.fixture(scope="module")
def network():
    """Two convolutions of 3x3 with 64 channels of 14x14, and an image."""
    x = relay.var("x", shape=(1, 64, 14, 14))
    body = x
    for _ in range(2):
        kernel = relay.const(CHANCE.normal(0, 0.05, (64, 64, 3, 3)).astype("float32"))
        body = nn.relu(nn.conv2d(body, kernel, padding=(1, 1)))
    image = CHANCE.standard_normal((1, 64, 14, 14)).astype("float32")
    scheme = quantize.Scheme(**{**vars(accel.SCHEME), "first": True})
    return quantize.quantize(relay.Function([x], body), None, [image], scheme=scheme), image


def code_of(module, config):
    (function,) = external_functions(offloaded(module, config)).values()
    return compile_part(part_of(function), config)


def test_cycles_do_not_depend_on_values(network):
    module, _ = network
    code = code_of(module, Config())
    device = Device(code)
    assert device.details() is None
    data = np.ones((1, 64, 14, 14), "int8")
    device([data], [np.empty((1, 64, 14, 14), "int8")])
    assert device.last_run.events == timed(Config(), code.program).events
    found = device.details()
    assert found == report(code, device.last_run)
    assert found.seconds == found.total.cycles / 200e6


def test_layers_are_counted_and_no_unit_is_busier_than_always(network):
    module, _ = network
    for text in ("1x16x16", "4x16x16", "1x16x16,dram_bytes=1"):
        config = Config.of_text(text)
        code = code_of(module, config)
        found = report(code, timed(config, code.program))
        assert len(found.layers) == 2 and found.total.macs == 2 * 64 * 64 * 9 * 14 * 14
        for layer in (*found.layers, found.total):
            # padding of the batch is no useful work
            assert layer.products * config.macs == layer.macs * config.batch
            assert 0 < layer.utilisation <= 1 and layer.of_roof <= 1
            assert layer.products + layer.alu <= layer.cycles
            assert max(layer.load, layer.store) <= layer.cycles
            assert layer.moved <= layer.cycles * config.dram_bytes
    assert found.total.roof < config.macs  # the memory is slow


def test_the_core_is_busy_most_of_the_time(network):
    module, _ = network
    code = code_of(module, Config())
    for layer in report(code, timed(Config(), code.program)).layers:
        assert layer.utilisation > 0.7


def test_a_profile_shows_units_and_the_roofline(network):
    module, image = network
    exe = relay.compile(module, target="accel")
    profile = exe.profile(image, repeat=1)
    (step,) = (step for step in profile if step.kernel.compiler)
    assert step.details.layers[0].name == "conv 3x3 64 -> 64, 14x14"
    assert "cycles  GEMM   ALU  LOAD STORE  MAC/byte  of the roof" in str(profile)
    assert all(step.details is None for step in relay.compile(module).profile(image, repeat=1))


def test_designs_are_explored(network):
    module, _ = network
    wide = Config(1, 32, 32, log_wgt=19)
    found = accel.explore(module, ["4x16x16", "1x16x16", "1x16x16,log_acc=13", wide])
    assert found[0].config == wide and found[0] in found.best
    assert [one.cycles for one in found] == sorted(one.cycles for one in found)
    assert found.best[-1].config.log_acc == 13
    assert str(found).count("  *") == len(found.best)
    floats = relay.Function([x := relay.var("x", shape=(1, 4))], nn.relu(x))
    with pytest.raises(RelayError, match="nothing of the network goes to the accelerator"):
        accel.explore(relay.IRModule.from_expr(floats), ["1x16x16"])
