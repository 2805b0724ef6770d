"""Convolutions over few channels, over a padded copy of the image."""

import json

import numpy as np
import pytest

import relay
from relay.target import Target
from relay.target.cuda import stems
from relay.target.cuda.architecture import ARCHITECTURES
from relay.target.cuda.triton_compiler import compile_kernel
from tests.support.gpu_texts import texts
from tests.support.interpreted_gpu import InterpretedGPU
from tests.target.cuda.test_triton_compiler import ARCHS, assembly

pytest.importorskip("triton", reason="the extra `cuda` is not installed")


def convolution(image, filters, kernel, strides=1, padding=(0, 0), dtype="float16"):
    x = relay.var("x", shape=image, dtype=dtype)
    w = relay.var("w", shape=(filters, image[1], *kernel), dtype=dtype)
    b = relay.var("b", shape=(filters,), dtype=dtype)
    made = relay.nn.conv2d(x, w, strides=(strides,) * 2, padding=padding)
    body = relay.nn.relu(relay.nn.bias_add(made, b))
    return relay.IRModule.from_expr(relay.Function([x, w, b], body))


def launches(mod, arch="sm_80"):
    """Those of the kernel with the product."""
    (text,) = (one for one in texts(mod, arch) if "tl.dot" in one)
    return text, json.loads(text)["launches"]


@pytest.mark.rotate(3)
@pytest.mark.parametrize(
    "given",
    [
        ((1, 3, 15, 17), 20, (7, 7), 2, (3, 3)),
        ((2, 3, 9, 9), 16, (3, 3), 1, (1, 1)),
        ((2, 1, 9, 9), 16, (5, 5)),
        ((1, 2, 8, 12), 20, (3, 5), 2, (1, 2), "float32"),
        ((2, 3, 9, 9), 16, (3, 3), 1, (0, 1, 2, 1)),
    ],
)
def test_results_are_those_of_the_processor(given, monkeypatch):
    monkeypatch.setattr(stems, "_PIXELS", 0)
    mod = convolution(*given)
    assert len(launches(mod)[1]) == 3  # two copies, and the product
    check(mod, InterpretedGPU("sm_80"))


@pytest.mark.gpu
@pytest.mark.parametrize("dtype, most", [("float16", 2e-3), ("float32", 2e-6)])
@pytest.mark.parametrize("image", [(64, 3, 224, 224), (32, 1, 250, 131)])
def test_results_are_those_of_the_processor_on_a_gpu(image, dtype, most):
    check(convolution(image, 64, (7, 7), 2, (3, 3), dtype), Target("cuda"), most)
    check(convolution(image, 24, (3, 3), 1, (1, 1), dtype), Target("cuda"), most)


def check(mod, target, most=2e-3):
    chance = np.random.default_rng(0)
    inputs = [
        chance.standard_normal(param.type_annotation.concrete_shape).astype(
            param.type_annotation.dtype
        )
        for param in mod["main"].params
    ]
    found = relay.compile(mod, target=target)(*inputs).astype("float64")
    true = relay.compile(mod)(*inputs).astype("float64")
    assert np.abs(found - true).max() <= most * np.abs(true).max()


@pytest.mark.parametrize(
    "image, filters, kernel",
    [
        ((64, 4, 224, 224), 64, (7, 7)),
        ((1, 3, 224, 224), 64, (7, 7)),
        ((64, 3, 224, 224), 64, (1, 1)),
    ],
)
def test_others_are_left_alone(image, filters, kernel):
    mod = convolution(image, filters, kernel)
    found = [one for one in texts(mod, "sm_90") if "tl.dot" in one]
    assert all(len(json.loads(one)["launches"]) == 1 for one in found)


@pytest.mark.rotate(3)
@pytest.mark.parametrize("arch", ARCHS)
def test_rows_of_the_window_are_read_as_vectors(arch):
    text, made = launches(convolution((64, 3, 224, 224), 64, (7, 7), 2, (3, 3)), arch)
    assert len(made) == 3
    for launch in json.loads(compile_kernel(text))["launches"]:
        assert launch["shared"] <= ARCHITECTURES[arch].shared_memory
    assert "cp.async.cg.shared.global" in assembly(text)  # 16 bytes each
