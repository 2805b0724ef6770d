"""Pools of ONNX: windows, whole channels, and back again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay.driver import compile as compile_model
from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model, reference, runtime, same

GENERATOR = np.random.default_rng(11)


def tensor(*shape: int, dtype: str = "float32") -> np.ndarray:
    return GENERATOR.uniform(-1, 1, shape).astype(dtype)


POOLS: list[tuple[tuple[int, ...], dict[str, Any]]] = [
    ((1, 2, 9), {"kernel_shape": [3], "strides": [2], "pads": [1, 0]}),
    ((2, 2, 7, 6), {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 2, 1]}),
    ((1, 2, 4, 5, 4), {"kernel_shape": [2, 3, 1], "strides": [1, 2, 1]}),
    ((1, 2, 7, 8), {"kernel_shape": [4, 3], "strides": [3, 2], "auto_pad": "SAME_UPPER"}),
    ((1, 2, 7, 8), {"kernel_shape": [4, 3], "strides": [3, 2], "auto_pad": "SAME_LOWER"}),
    ((1, 2, 7, 8), {"kernel_shape": [4, 3], "strides": [3, 2], "auto_pad": "VALID"}),
]


@pytest.mark.parametrize(("shape", "attributes"), POOLS)
@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool", "LpPool"])
def test_one_element_for_each_window(
    operator: str, shape: tuple[int, ...], attributes: dict[str, Any]
) -> None:
    data = tensor(*shape)
    oldest = {"MaxPool": 1, "AveragePool": 7, "LpPool": 2}[operator]
    if len(shape) == 4:
        agree(model(operator, data, opset=oldest, **attributes), data)
    # where the extents are not known, a run finds what stands around data
    names = ("n", shape[1], *"abc"[: len(shape) - 2])
    given = model(operator, data, opset=18, shapes={0: names}, **attributes)
    compiled = compile_model(from_onnx(given)[0])
    wider = tensor(2, shape[1], *(extent + 1 for extent in shape[2:]))
    for one in (data, wider):
        same([compiled(one)], runtime(given, one), 1e-5, 1e-6)


# the last window may begin behind data, and then there is none
CEILED: list[tuple[int, dict[str, Any]]] = [
    (9, {"kernel_shape": [3], "strides": [2]}),
    (8, {"kernel_shape": [3], "strides": [2], "pads": [1, 1]}),
    (4, {"kernel_shape": [1], "strides": [2]}),
    (7, {"kernel_shape": [2], "strides": [3], "pads": [1, 1]}),
]


@pytest.mark.parametrize(("extent", "attributes"), CEILED)
@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool", "LpPool"])
def test_the_last_window_may_stick_out(
    operator: str, extent: int, attributes: dict[str, Any]
) -> None:
    data = tensor(1, 2, extent)
    # windows of one operator are those of the others
    shapes = {} if operator == "LpPool" else {0: (1, 2, "w")}
    given = model(operator, data, opset=18, ceil_mode=1, shapes=shapes, **attributes)
    agree(given, data)


@pytest.mark.parametrize("padding", ["NOTSET", "SAME_UPPER"])
@pytest.mark.parametrize("ceil_mode", [0, 1])
def test_padding_counts_in_a_mean(padding: str, ceil_mode: int) -> None:
    data = tensor(1, 2, 8, 7)
    attributes: dict[str, Any] = {"kernel_shape": [3, 2], "strides": [2, 2]}
    if padding == "NOTSET":
        attributes |= {"pads": [1, 0, 1, 1], "ceil_mode": ceil_mode}
    for shapes in ({}, {0: ("n", 2, "h", "w")}):
        given = model(
            "AveragePool",
            data,
            opset=11,
            shapes=shapes,
            auto_pad=padding,
            count_include_pad=1,
            **attributes,
        )
        agree(given, data)


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool", "LpPool"])
def test_windows_have_gaps(operator: str) -> None:
    data = tensor(1, 2, 8, 7)
    attributes: dict[str, Any] = {"kernel_shape": [3, 2], "dilations": [2, 3], "pads": [1] * 4}
    agree(model(operator, data, opset=19, **attributes), data)


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool", "LpPool"])
def test_more_than_three_axes_are_pooled_in_parts(operator: str) -> None:
    data = tensor(2, 2, 4, 3, 5, 4)
    attributes: dict[str, Any] = {
        "kernel_shape": [2, 2, 3, 1],
        "strides": [2, 1, 1, 2],
        "pads": [1, 0, 1, 0, 0, 0, 1, 0],
    }
    given = model(operator, data, opset=18, shapes={0: ("n", *data.shape[1:])}, **attributes)
    if operator != "MaxPool":
        agree(given, data, oracle=reference)
        return
    widths = [(0, 0), (0, 0), (1, 0), (0, 0), (1, 1), (0, 0)]
    padded = np.pad(data, widths, constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (2, 2, 3, 1), (2, 3, 4, 5))
    agree(given, data, wanted=[windows[:, :, ::2, :, :, ::2].max((-4, -3, -2, -1))])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_the_greatest_of_small_integers(dtype: str) -> None:
    data = GENERATOR.integers(-100 if dtype == "int8" else 0, 100, (1, 2, 6, 6)).astype(dtype)
    attributes: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    agree(model("MaxPool", data, opset=12, **attributes), data)


# --- places


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(
    ("shape", "attributes"),
    [
        ((2, 2, 9), {"kernel_shape": [3], "strides": [2], "pads": [1, 0]}),
        ((2, 3, 7, 6), {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 2, 1]}),
        ((2, 3, 7, 6), {"kernel_shape": [3, 2], "dilations": [2, 1], "ceil_mode": 1}),
        ((2, 2, 4, 5, 4), {"kernel_shape": [2, 3, 1], "strides": [1, 2, 1]}),
        ((2, 2, 7, 8), {"kernel_shape": [3, 4], "strides": [2, 3], "auto_pad": "SAME_LOWER"}),
    ],
)
def test_places_count_in_all_of_data(
    shape: tuple[int, ...], attributes: dict[str, Any], order: int
) -> None:
    # few different values, so that windows have several greatest elements
    data = GENERATOR.integers(0, 4, shape).astype("float32")
    names = ("n", shape[1], *"abc"[: len(shape) - 2])
    shapes = {0: names} if order or len(shape) == 4 else {}
    given = model(
        "MaxPool", data, opset=12, outputs=2, storage_order=order, shapes=shapes, **attributes
    )
    agree(given, data)


def test_places_of_the_lowest_values_are_not_in_the_padding() -> None:
    data = np.zeros((1, 1, 3, 3), "uint8")
    given = model("MaxPool", data, opset=12, outputs=2, kernel_shape=[2, 2], pads=[1, 1, 0, 0])
    agree(given, data)


def test_elements_go_back_to_their_places() -> None:
    data = tensor(1, 1, 2, 2)
    places = np.array([[[[5, 7], [13, 15]]]], "int64")
    attributes: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
    agree(model("MaxUnpool", data, places, opset=9, **attributes), data, places)
    given = model(
        "MaxUnpool",
        data,
        places,
        opset=11,
        shapes={0: ("n", 1, "h", "w"), 1: ("n", 1, "h", "w")},
        **attributes,
    )
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 1, 2 * h, 2 * w), float32]"
    agree(given, data, places)
    wanted = np.array([1, 1, 5, 5], "int64")
    given = model("MaxUnpool", data, places, Fixed(wanted), opset=11, **attributes)
    assert main_type(from_onnx(given)[0]) == "Tensor[(1, 1, 5, 5), float32]"
    # ONNX Runtime counts places in what is wanted, the standard in what windows cover
    agree(given, data, places, oracle=reference)
    given = model("MaxUnpool", data, places, wanted, opset=11, **attributes)
    agree(given, data, places, wanted, oracle=reference)


# --- whole channels


@pytest.mark.parametrize("operator", ["GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_one_element_for_each_channel(operator: str, axes: int) -> None:
    data = tensor(2, 3, *(4, 5, 2)[:axes])
    opset = 2 if operator == "GlobalLpPool" else 1
    given = model(operator, data, opset=opset, shapes={0: ("n", 3, *"abc"[:axes])})
    ones = ", ".join(["1"] * axes)
    assert main_type(from_onnx(given)[0]) == f"Tensor[(n, 3, {ones}), float32]"
    agree(given, data)


def test_channels_may_have_any_number_of_axes() -> None:
    data, axes = tensor(2, 3, 2, 3, 2, 2), (2, 3, 4, 5)
    agree(model("GlobalMaxPool", data, opset=1), data, wanted=[data.max(axes, keepdims=True)])
    agree(model("GlobalAveragePool", data, opset=1), data, wanted=[data.mean(axes, keepdims=True)])


@pytest.mark.parametrize("p", [1, 2, 3])
def test_roots_of_sums_of_powers(p: int) -> None:
    data = tensor(2, 3, 4, 5)
    agree(model("GlobalLpPool", data, opset=2, p=p), data)
    agree(model("LpPool", data, opset=11, p=p, kernel_shape=[2, 3]), data)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: model("MaxPool", tensor(2, 3), opset=11, kernel_shape=[2]), "no spatial axes"),
        (
            lambda: model("MaxPool", tensor(1, 2, 5), opset=11, kernel_shape=[2, 2]),
            "`kernel_shape` does not fit",
        ),
        (
            lambda: model("AveragePool", tensor(1, 2, 5), opset=11, kernel_shape=[0]),
            "`kernel_shape` does not fit",
        ),
        (
            lambda: model("AveragePool", tensor(1, 2, 5), opset=11, kernel_shape=[7]),
            "larger than the padded input",
        ),
        (lambda: model("GlobalMaxPool", tensor(2, 3), opset=11), "no spatial axes|wrong rank"),
        (
            lambda: model("LpPool", tensor(1, 2, 5), opset=11, kernel_shape=[2], p=0),
            "no root of degree 0",
        ),
        (
            lambda: model(
                "MaxUnpool",
                tensor(1, 1, 2),
                np.zeros((1, 1, 2), "int64"),
                opset=11,
                kernel_shape=[2, 2],
            ),
            "`kernel_shape` does not fit",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        from_onnx(given())
