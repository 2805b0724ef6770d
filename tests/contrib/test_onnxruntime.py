"""Parts of programs run in ONNX Runtime."""

import builtins

import numpy as np
import pytest

import relay
import relay.contrib.onnxruntime
from relay.errors import TargetError
from relay.testing import lstm, mlp, resnet

pytest.importorskip("onnxruntime")


def numbers(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


@pytest.mark.parametrize("network", [mlp, resnet, lstm], ids=lambda one: one.__name__)
def test_a_network_agrees(network):
    options = {"image_shape": (3, 32, 32), "num_layers": 18} if network is resnet else {}
    if network is lstm:
        options = {"iterations": 2, "num_hidden": 16}
    module, params = network.get_workload(batch_size=1, **options)
    exe = relay.compile(relay.contrib.onnxruntime.partition(module, params))
    assert "onnxruntime" in {kernel.compiler for kernel in exe.kernels}
    own = relay.compile(module, params)
    args = [numbers(*info.shape) for info in exe.inputs]
    for found, expected in zip(leaves(exe(*args)), leaves(own(*args)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


def test_a_network_whose_values_have_names_is_one_part():
    module, params = mlp.get_workload(1, image_shape=(1, 8, 8))
    pytest.importorskip("onnx")
    imported, weights = relay.frontend.from_onnx(relay.to_onnx(module, params))
    assert "let %" in imported.astext()
    exe = relay.compile(relay.contrib.onnxruntime.partition(imported, weights))
    assert [kernel.compiler for kernel in exe.kernels] == ["onnxruntime"]
    data = numbers(1, 1, 8, 8)
    np.testing.assert_allclose(exe(data), relay.compile(module, params)(data), rtol=1e-5)


def leaves(value):
    return [leaf for part in value for leaf in leaves(part)] if type(value) is tuple else [value]


def test_tuples_go_through_a_part_and_results_leave_it():
    x = relay.var("x", shape=(4, 6))
    parts = relay.split(relay.nn.relu(x), 2, axis=1)
    joined = relay.concatenate([parts[1], parts[0]], axis=1)
    function = relay.Function([x], relay.Tuple([joined, parts[0], relay.argsort(x)]))
    exe = relay.compile(relay.contrib.onnxruntime.partition(function))
    for found, expected in zip(
        exe(numbers(4, 6)), relay.compile(function)(numbers(4, 6)), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_a_runtime_that_is_missing_is_said_and_the_fallback_works(monkeypatch):
    module, params = mlp.get_workload(1, image_shape=(1, 8, 8))
    divided = relay.contrib.onnxruntime.partition(module, params)
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "onnxruntime":
            raise ModuleNotFoundError("No module named 'onnxruntime'")
        return real(name, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "__import__", without)
        with pytest.raises(TargetError, match="ONNX Runtime, which is not here") as error:
            relay.compile(divided)
        assert "relay.contrib.take_back(mod)" in str(error.value)
        exe = relay.compile(relay.contrib.take_back(divided))
    data = numbers(1, 1, 8, 8)
    np.testing.assert_allclose(exe(data), relay.compile(divided)(data), rtol=1e-5)
