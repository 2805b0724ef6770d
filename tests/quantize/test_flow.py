"""From a model to integers in one call."""

import numpy as np
import pytest

import relay
from relay import quantize
from relay.analysis import list_op_freqs
from relay.testing import mobilenet, resnet
from tests.quantize.networks import Networks

SHAPE = (3, 32, 32)


def data(count=3, seed=0):
    chance = np.random.default_rng(seed)
    return [chance.standard_normal((1, *SHAPE), "float32") for _ in range(count)]


def signal_to_noise(wanted, found):
    return 10 * np.log10((wanted**2).sum() / ((found - wanted) ** 2).sum())


def workload():
    return resnet.get_workload(num_layers=18, image_shape=SHAPE, num_classes=10)


def test_compile_quantizes():
    network = Networks(0)
    exe = relay.compile(network.mod, quantize=quantize.int8(network.batches(3)))
    (image,) = network.batches(1)
    wanted = relay.create_executor("debug", network.mod).evaluate()(data=image).numpy()
    assert signal_to_noise(wanted, exe(image)) > 30
    assert "qnn.requantize" in str(exe.kernels)


def test_normalizations_are_part_of_weights_before():
    mod, params = workload()
    with quantize.qconfig(skip_conv_layers=None, skip_dense_layer=False, calibrate_mode="max"):
        found = list_op_freqs(quantize.quantize(mod, params, data()))
    assert found["qnn.conv2d"] == 21 and found["qnn.dense"] == 1
    assert not {"nn.conv2d", "nn.dense", "nn.batch_norm", "multiply"} & set(found)


def test_the_old_defaults_keep_the_first_convolution_and_dense_layers():
    mod, params = mobilenet.get_workload(image_shape=SHAPE, num_classes=10)
    found = list_op_freqs(quantize.quantize(mod, params))
    assert found["nn.conv2d"] == 1
    assert found.get("qnn.dense", 0) == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"nbits": 8}, "qconfig has no `nbits`"),
        ({"nbit_input": 9}, "nbit_input is 2 to the bits of int8"),
        ({"dtype_weight": "float16"}, "dtype_weight is int8 or uint8"),
        ({"calibrate_mode": "entropy"}, "calibrate_mode is global_scale or"),
        ({"dtype_activation": "int8"}, "dtype_activation is int32"),
        ({"rounding": "DOWN"}, "rounding is"),
        ({"weight_scale": "min"}, "weight_scale is power2"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(relay.RelayError, match=message):
        quantize.quantize(*workload()) if not settings else _under(settings)


def _under(settings):
    with quantize.qconfig(**settings) as config:
        return config.scheme


def test_a_qconfig_holds_for_its_block():
    assert quantize.current_qconfig().nbit_input == 8
    with quantize.qconfig(nbit_input=4):
        with quantize.qconfig(nbit_weight=4):
            assert quantize.current_qconfig().nbit_input == 8
        assert quantize.current_qconfig().nbit_input == 4
    assert quantize.current_qconfig().nbit_input == 8


def test_kinds_have_names():
    assert [quantize.kind2str(kind) for kind in quantize.QAnnotateKind] == [
        "identity",
        "input",
        "weight",
        "activation",
    ]
