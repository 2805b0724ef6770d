"""Normalizations of ONNX, by statistics that are given and by those of data itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model, reference

GENERATOR = np.random.default_rng(13)


def tensor(*shape: int, dtype: str = "float32") -> np.ndarray:
    return GENERATOR.uniform(-1, 1, shape).astype(dtype)


def statistics(*shape: int) -> list[np.ndarray]:
    """A scale, an offset, a mean and a variance."""
    return [tensor(*shape), tensor(*shape), tensor(*shape), tensor(*shape) ** 2 + 0.1]


def normal(
    data: np.ndarray, vectors: list[np.ndarray], axes: tuple[int, ...], epsilon: float = 1e-5
) -> np.ndarray:
    scale, bias, mean, variance = (np.expand_dims(one, axes) for one in vectors)
    found: np.ndarray = (data - mean) / np.sqrt(variance + epsilon) * scale + bias
    return found.astype(data.dtype)


# --- batches


@pytest.mark.parametrize("opset", [1, 6])
def test_an_attribute_says_that_nothing_is_trained_before_version_7(opset: int) -> None:
    data, vectors = tensor(2, 3, 4, 5), statistics(3)
    more: dict[str, Any] = {"consumed_inputs": [0, 0, 0, 1, 1]} if opset == 1 else {}
    known = map(Fixed, vectors)
    given = model("BatchNormalization", data, *known, opset=opset, is_test=1, **more)
    agree(given, data, wanted=[normal(data, vectors, (0, 2, 3))])


def test_every_element_may_have_its_statistics_before_version_9() -> None:
    data, vectors = tensor(2, 3, 4), statistics(3, 4)
    known = map(Fixed, vectors)
    given = model("BatchNormalization", data, *known, opset=6, is_test=1, spatial=0)
    agree(given, data, wanted=[normal(data, vectors, (0,))])
    known = map(Fixed, vectors)
    given = model("BatchNormalization", data, *known, opset=7, spatial=0)
    agree(given, data, wanted=[normal(data, vectors, (0,))])


@pytest.mark.parametrize("opset", [7, 9, 14, 15])
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 4, 5)])
def test_statistics_are_given(opset: int, shape: tuple[int, ...]) -> None:
    data, vectors = tensor(*shape), statistics(3)
    known = map(Fixed, vectors)
    names = ("n", 3, *"ab"[: len(shape) - 2])
    given = model("BatchNormalization", data, *known, opset=opset, epsilon=0.01, shapes={0: names})
    agree(given, data)


@pytest.mark.parametrize("opset", [6, 9])
def test_five_outputs_are_of_training_before_version_14(opset: int) -> None:
    data, vectors = tensor(4, 3, 5), statistics(3)
    given = model(
        "BatchNormalization", data, *map(Fixed, vectors), opset=opset, outputs=5, momentum=0.8
    )
    scale, bias, mean, variance = vectors
    here, spread = data.mean((0, 2)), data.var((0, 2))
    agree(
        given,
        data,
        wanted=[
            normal(data, [scale, bias, here, spread], (0, 2)),
            (mean * 0.8 + here * 0.2).astype("float32"),
            (variance * 0.8 + spread * 0.2).astype("float32"),
            here,
            spread,
        ],
        rtol=1e-4,
    )


def test_an_attribute_asks_for_training_from_version_14_on() -> None:
    data, vectors = tensor(4, 3, 5), statistics(3)
    given = model(
        "BatchNormalization",
        data,
        *vectors,
        opset=15,
        outputs=3,
        training_mode=1,
        momentum=0.8,
        shapes={0: ("n", 3, "w")},
    )
    agree(given, data, *vectors, oracle=reference, rtol=1e-4)


def test_statistics_may_be_of_wider_elements() -> None:
    data = tensor(2, 3, 4, dtype="float16")
    scale, bias = tensor(3, dtype="float16"), tensor(3, dtype="float16")
    mean, variance = tensor(3), tensor(3) ** 2 + 0.1
    vectors = [scale, bias, mean, variance]
    given = model("BatchNormalization", data, *map(Fixed, vectors), opset=15)
    wanted = normal(data.astype("float32"), vectors, (0, 2)).astype("float16")
    agree(given, data, wanted=[wanted], rtol=1e-3, atol=1e-3)


# --- instances, groups and layers


@pytest.mark.parametrize("opset", [1, 6])
def test_each_channel_of_each_instance(opset: int) -> None:
    data, scale, bias = tensor(2, 3, 4, 5), tensor(3), tensor(3)
    names = ("n", "c", "h", "w")
    operands = (data, Fixed(scale), Fixed(bias))
    given = model("InstanceNormalization", *operands, opset=opset, shapes={0: names}, epsilon=0.01)
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 3, h, w), float32]"
    mean, spread = data.mean((2, 3), keepdims=True), data.var((2, 3), keepdims=True)
    wanted = (data - mean) / np.sqrt(spread + 0.01) * scale[:, None, None] + bias[:, None, None]
    agree(given, data, wanted=[wanted.astype("float32")])


@pytest.mark.parametrize("opset", [18, 21])
@pytest.mark.parametrize("channels", [4, "c"])
def test_groups_of_channels(opset: int, channels: int | str) -> None:
    count = 2 if opset == 18 else 4
    data, scale, bias = tensor(2, 4, 3, 2), tensor(count), tensor(count)
    given = model(
        "GroupNormalization",
        data,
        Fixed(scale),
        Fixed(bias),
        opset=opset,
        num_groups=2,
        shapes={0: ("n", channels, "h", 2)},
    )
    agree(given, data, oracle=reference)


@pytest.mark.parametrize("axis", [-1, 1, 2, 0])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("offset", [True, False])
def test_axes_from_one_on_are_a_layer(axis: int, outputs: int, offset: bool) -> None:
    data = tensor(2, 3, 4, 5)
    scale, bias = tensor(*data.shape[axis:]), tensor(*data.shape[axis:])
    vectors = [Fixed(scale), Fixed(bias)] if offset else [Fixed(scale)]
    names = ("n", "m", 4, 5) if axis not in (0, 1) else data.shape
    given = model(
        "LayerNormalization",
        data,
        *vectors,
        opset=17,
        outputs=outputs,
        axis=axis,
        shapes={0: names},
    )
    agree(given, data)


def test_a_scale_says_how_long_a_layer_is() -> None:
    data, scale = tensor(2, 3, 4), tensor(4)
    given = model("LayerNormalization", data, Fixed(scale), opset=17, shapes={0: ("n", "m", "k")})
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, m, 4), float32]"
    agree(given, data)


def test_a_scale_is_broadcast_to_a_layer() -> None:
    data, scale = tensor(2, 3, 4), tensor(4)
    given = model("LayerNormalization", data, Fixed(scale), opset=17, axis=1)
    agree(given, data, oracle=reference)


def test_layers_of_16_bits_have_statistics_of_32() -> None:
    data, scale = tensor(2, 3, 4, dtype="float16"), tensor(4, dtype="float16")
    given = model("LayerNormalization", data, Fixed(scale), opset=17, outputs=3)
    agree(given, data, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("axis", [-1, 1])
def test_data_is_divided_by_the_root_of_its_mean_square(axis: int) -> None:
    data = tensor(2, 3, 4)
    scale = tensor(*data.shape[axis:])
    given = model(
        "RMSNormalization", data, Fixed(scale), opset=23, axis=axis, shapes={0: ("n", "m", 4)}
    )
    agree(given, data, oracle=reference)


# --- whole tensors and neighbors


def test_mean_and_variance_are_taken_away() -> None:
    data = tensor(2, 3, 4, 5)
    agree(model("MeanVarianceNormalization", data, opset=9), data)
    given = model(
        "MeanVarianceNormalization", data, opset=13, axes=[0, 1, 2, 3], shapes={0: ("n", *"abc")}
    )
    agree(given, data)


@pytest.mark.parametrize("size", [3, 4, 5])
def test_neighbors_are_channels_around_one(size: int) -> None:
    data = tensor(2, 7, 3, 2)
    attributes: dict[str, Any] = {"size": size, "alpha": 0.5, "beta": 0.6, "bias": 1.5}
    given = model("LRN", data, opset=1, shapes={0: ("n", 7, "h", "w")}, **attributes)
    first = np.maximum(np.arange(7) - (size - 1) // 2, 0)
    last = np.minimum(np.arange(7) + size // 2 + 1, 7)
    sums = np.stack([(data[:, a:b] ** 2).sum(1) for a, b in zip(first, last, strict=True)], axis=1)
    wanted = data / (1.5 + 0.5 / size * sums) ** np.float32(0.6)
    agree(given, data, wanted=[wanted.astype("float32")])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            lambda: model("InstanceNormalization", tensor(3), tensor(3), tensor(3), opset=6),
            "no channels",
        ),
        (
            lambda: model(
                "GroupNormalization", tensor(2, 3, 4), tensor(2), tensor(2), opset=18, num_groups=2
            ),
            "do not form groups",
        ),
        (
            lambda: model("LayerNormalization", tensor(2, 3), tensor(3), opset=17, axis=2),
            "`axis` is out of range",
        ),
        (
            lambda: model("MeanVarianceNormalization", tensor(2, 3), opset=9),
            "an axis is out of range",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        from_onnx(given())
