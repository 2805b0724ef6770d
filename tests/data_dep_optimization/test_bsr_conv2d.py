"""Networks of convolutions whose weights are mostly zeros."""

import numpy as np
import pytest
import torch

import relay
from relay.data_dep_optimization import bsr_conv2d

RNG = np.random.default_rng(7)


def network(layout):
    """A convolution with a window, and one without, over 8 channels."""
    x = relay.var("x", shape=(1, 6, 6, 8) if layout == "NHWC" else (1, 8, 6, 6))
    kernel_layout = "HWIO" if layout == "NHWC" else "OIHW"
    shapes = {"a": (3, 3, 8, 8), "b": (1, 1, 8, 8)}
    params, body = {}, x
    for name, shape in shapes.items():
        kept = RNG.random((*shape[:3], 2)) < 0.2
        array = RNG.standard_normal(shape) * np.repeat(kept, 4, axis=3)
        array = array if layout == "NHWC" else array.transpose(3, 2, 0, 1)
        params[name] = np.ascontiguousarray(array, "float32")
        weight = relay.var(name, shape=params[name].shape)
        body = relay.nn.conv2d(
            body,
            weight,
            padding=shape[0] // 2,
            data_layout=layout,
            kernel_layout=kernel_layout,
        )
    return relay.Function(relay.analysis.free_vars(body), relay.nn.relu(body)), params


def oracle(x, params, layout):
    """What PyTorch computes, in float64."""
    value = torch.from_numpy(x.astype("float64"))
    if layout == "NHWC":
        value = value.permute(0, 3, 1, 2)
    for array in params.values():
        weight = torch.from_numpy(array.astype("float64"))
        if layout == "NHWC":
            weight = weight.permute(3, 2, 0, 1)
        value = torch.nn.functional.conv2d(value, weight, padding=weight.shape[2] // 2)
    value = torch.relu(value)
    return (value.permute(0, 2, 3, 1) if layout == "NHWC" else value).numpy()


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("size", [1, 3])
def test_a_network_computes_the_same(layout, size):
    function, params = network(layout)
    after, sparse = bsr_conv2d.convert(function, params, (4, 1), 0.5, layout, size)
    changed, other = ("b", "a") if size == 1 else ("a", "b")
    assert f"{changed}.data" in sparse
    assert other in sparse
    x = RNG.standard_normal(function.params[0].type_annotation.shape).astype("float32")
    result = relay.compile(after, sparse)(x)
    np.testing.assert_allclose(result, oracle(x, params, layout), 1e-4, 1e-5)


def test_constants_are_converted():
    function, params = network("NHWC")
    after, left = bsr_conv2d.convert2(function, {**params, "c": 1}, (4, 1), 0.5, "NHWC", 3)
    assert left == {}
    assert len(after.params) == 1
    x = RNG.standard_normal((1, 6, 6, 8)).astype("float32")
    np.testing.assert_allclose(relay.compile(after)(x), oracle(x, params, "NHWC"), 1e-4, 1e-5)
