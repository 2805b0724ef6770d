"""Layers, activations and tensors of com.microsoft, ONNX Runtime as oracle where it runs them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, model, runtime

RANDOM = np.random.default_rng(13)
MICROSOFT = "com.microsoft"


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype("float32")


def agrees(
    operator: str,
    *inputs: Any,
    outputs: Any = 1,
    wanted: Any = None,
    domain: str = MICROSOFT,
    **a: Any,
) -> None:
    given = model(operator, *inputs, opset=17, domain=domain, outputs=outputs, **a)
    values = [one for one in inputs if one is not None and not isinstance(one, Fixed)]
    agree(given, *values, wanted=wanted, rtol=1e-4, atol=1e-5)


# --- activations

X, BIAS = floats(2, 3, 8), floats(8)


def test_activations() -> None:
    agrees("Gelu", X)
    agrees("BiasGelu", X, BIAS)
    agrees("FastGelu", X)
    agrees("FastGelu", X, BIAS)
    agrees("QuickGelu", X)
    agrees("QuickGelu", X, alpha=1.0)


def test_halves() -> None:
    total = X + BIAS
    left, right = total[..., :4], total[..., 4:]
    erf = np.vectorize(math.erf)
    wanted = left * 0.5 * right * (1 + erf(right / np.sqrt(2)))
    agrees("BiasSplitGelu", X, BIAS, wanted=[wanted.astype("float32")])
    agrees("BiasAdd", X, BIAS, X, wanted=[X + BIAS + X])


def test_a_bias_before_softmax() -> None:
    whole = np.exp(X + BIAS)
    wanted = whole / whole.sum(-1, keepdims=True)
    agrees("BiasSoftmax", X, BIAS, axis=2, is_inner_broadcast=0, wanted=[wanted])


# --- products


@pytest.mark.parametrize("turned", [{}, {"transA": 1}, {"transB": 1}, {"transA": 1, "transB": 1}])
def test_products_of_turned_matrices(turned: dict[str, Any]) -> None:
    left = floats(2, 4, 3) if "transA" in turned else floats(2, 3, 4)
    right = floats(5, 4) if "transB" in turned else floats(4, 5)
    agrees("FusedMatMul", left, right, alpha=0.5, **turned)


def test_batches_of_turned_matrices() -> None:
    agrees("FusedMatMul", floats(3, 2, 4), floats(2, 4, 5), transBatchA=1)
    agrees("FusedMatMul", floats(4, 2, 3), floats(4, 2, 5), transBatchA=1, transA=1, transBatchB=1)


def test_products_with_activations() -> None:
    left, right, bias = floats(3, 4), floats(4, 5), floats(5)
    agrees("FusedGemm", left, right, bias, activation="Relu", beta=0.5)
    agrees("FusedGemm", left, right, bias, activation="LeakyRelu", activation_alpha=0.2)


# --- convolutions

IMAGE, KERNEL = floats(1, 3, 6, 6), floats(4, 3, 3, 3)


def test_convolutions_with_activations() -> None:
    bias = floats(4)
    agrees("FusedConv", IMAGE, KERNEL, bias, activation="Relu", pads=[1, 1, 1, 1])
    agrees("FusedConv", IMAGE, KERNEL, bias, floats(1, 4, 4, 4), activation="Relu")
    clip: dict[str, Any] = {"activation": "Clip", "activation_params": [0.0, 0.5]}
    agrees("FusedConv", IMAGE, KERNEL, **clip)
    slope: dict[str, Any] = {"activation": "LeakyRelu", "activation_params": [0.1]}
    agrees("FusedConv", IMAGE, KERNEL, strides=[2, 2], **slope)


def test_channels_behind() -> None:
    image = np.ascontiguousarray(IMAGE.transpose(0, 2, 3, 1))
    plain = runtime(model("Conv", IMAGE, KERNEL, opset=17), IMAGE, KERNEL)[0]
    agrees("NhwcConv", image, KERNEL, wanted=[plain.transpose(0, 2, 3, 1)])


# --- normalization

ROWS, SKIP, SCALE, OFFSET = floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8)


def test_layers_with_what_goes_around_them() -> None:
    names = ["y", "", "", "sum"]
    agrees("SkipLayerNormalization", ROWS, SKIP, SCALE, OFFSET, epsilon=1e-5)
    agrees("SkipLayerNormalization", ROWS, SKIP, SCALE, OFFSET, floats(8), outputs=names)
    agrees("SkipLayerNormalization", ROWS, floats(3, 8), SCALE, OFFSET)
    agrees("SkipSimplifiedLayerNormalization", ROWS, SKIP, SCALE, outputs=names, epsilon=1e-5)


def test_operators_of_the_runtime_in_the_default_domain() -> None:
    agrees("SimplifiedLayerNormalization", ROWS, SCALE, domain="", axis=-1, epsilon=1e-5)
    given = model("LayerNormalization", ROWS, SCALE, OFFSET, opset=13, axis=-1)
    agree(given, ROWS, SCALE, OFFSET)


def test_embeddings() -> None:
    words = RANDOM.integers(0, 9, (2, 4)).astype("int32")
    segments = RANDOM.integers(0, 2, (2, 4)).astype("int32")
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], "int32")
    tables = [floats(9, 8), floats(6, 8), floats(2, 8)]
    inputs = (words, segments, *tables, SCALE, OFFSET, mask)
    agrees("EmbedLayerNormalization", *inputs, outputs=3, epsilon=1e-5)
    agrees("EmbedLayerNormalization", words, None, *tables[:2], None, SCALE, OFFSET, outputs=2)


def test_groups_of_channels() -> None:
    data, scale, offset = floats(2, 4, 4, 8), floats(8), floats(8)
    groups = data.reshape(2, 16, 2, 4)
    mean = groups.mean((1, 3), keepdims=True)
    spread = groups.var((1, 3), keepdims=True)
    normal = ((groups - mean) / np.sqrt(spread + 1e-5)).reshape(data.shape) * scale + offset
    wanted = normal / (1 + np.exp(-normal))
    agrees("GroupNorm", data, scale, offset, groups=2, activation=1, wanted=[wanted])


# --- tensors


def test_tensors() -> None:
    agrees("Trilu", floats(3, 4), upper=0)
    agrees("Inverse", floats(2, 3, 3) + 3 * np.eye(3, dtype="float32"))
    agrees("ExpandDims", X, Fixed(np.array(-1, "int32")))
    agrees("Range", np.array(1, "int32"), np.array(7, "int32"), np.array(2, "int32"))
    agrees("Range", np.array(1.0, "float32"), np.array(4.0, "float32"))
    agrees("Pad", floats(2, 3), Fixed(np.array([0, 1, 2, 0])), Fixed(np.array([1.5], "float32")))
    agrees("Unique", np.array([3.0, 1, 3, 2, 1], "float32"), outputs=3)
    agrees("GatherND", floats(3, 4), np.array([[0, 1], [2, 3]]))
    agrees("CDist", floats(3, 4), floats(5, 4), metric="euclidean")
    agrees("CDist", floats(3, 4), floats(5, 4), metric="sqeuclidean")
    agrees("UnfoldTensor", floats(2, 7, 3), dim=1, size=3, step=2)
    agrees("GridSample", floats(1, 2, 4, 4), RANDOM.random((1, 3, 3, 2)).astype("float32"))


def test_parts_of_images() -> None:
    boxes = np.array([[0.1, 0.1, 0.8, 0.7], [0.0, 0.2, 1.0, 1.0]], "float32")
    size, images = Fixed(np.array([3, 4], "int32")), np.array([0, 0], "int32")
    agrees("CropAndResize", floats(1, 2, 8, 8), boxes, images, size)


def test_frequencies_and_back() -> None:
    data = floats(3, 8)
    half = np.fft.rfft(data)
    pairs = np.stack([half.real, half.imag], -1).astype("float32")
    agrees("Rfft", data, signal_ndim=1, wanted=[pairs])
    agrees("Irfft", pairs, signal_ndim=1, wanted=[data])


def test_complex_products() -> None:
    left, right = floats(3, 2), floats(3, 2)
    a, b = (one[:, 0] + 1j * one[:, 1] for one in (left, right))
    for operator, product in (("ComplexMul", a * b), ("ComplexMulConj", a * b.conj())):
        wanted = np.stack([product.real, product.imag], -1).astype("float32")
        agrees(operator, left, right, wanted=[wanted])


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(FrontendError, match="activation"):
        given = model("FusedConv", IMAGE, KERNEL, opset=17, domain=MICROSOFT, activation="Round")
        from_onnx(given)
    with pytest.raises(FrontendError, match="distance"):
        left = floats(2, 2)
        from_onnx(model("CDist", left, left, opset=17, domain=MICROSOFT, metric="cosine"))
