"""Convolutions of ONNX, over one to four axes, with all their paddings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import (
    Fixed,
    agree,
    main_type,
    model,
    ours,
    reference,
    runtime,
    same,
)

GENERATOR = np.random.default_rng(7)


def tensor(*shape: int, dtype: str = "float32") -> np.ndarray:
    return GENERATOR.uniform(-1, 1, shape).astype(dtype)


# --- convolutions


@pytest.mark.parametrize(
    ("x", "w", "attributes"),
    [
        ((1, 2, 9), (3, 2, 3), {"strides": [2], "pads": [1, 0]}),
        ((2, 4, 7, 6), (6, 2, 3, 2), {"group": 2, "dilations": [2, 1], "pads": [1, 0, 2, 1]}),
        ((1, 4, 6, 6), (4, 1, 3, 3), {"group": 4, "kernel_shape": [3, 3]}),
        ((1, 2, 4, 5, 4), (3, 2, 2, 3, 1), {"strides": [1, 2, 1], "pads": [0, 1, 0, 1, 1, 0]}),
    ],
)
def test_windows_slide_over_one_to_three_axes(
    x: tuple[int, ...], w: tuple[int, ...], attributes: dict[str, Any]
) -> None:
    data, weight, bias = tensor(*x), tensor(*w), tensor(w[0])
    for opset in (1, 11):
        agree(model("Conv", data, Fixed(weight), Fixed(bias), opset=opset, **attributes), data)


def test_more_than_three_axes_are_convolved_in_parts() -> None:
    data, weight, bias = tensor(2, 4, 5, 3, 4, 3), tensor(4, 2, 3, 2, 2, 2), tensor(4)
    given = model(
        "Conv",
        data,
        Fixed(weight),
        Fixed(bias),
        opset=11,
        group=2,
        strides=[2, 1, 1, 1],
        pads=[1, 0, 1, 0, 0, 1, 0, 1],
        shapes={0: ("n", 4, 5, 3, 4, 3)},
    )
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 4, 2, 3, 4, 3), float32]"
    agree(given, data)


@pytest.mark.parametrize("padding", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("strides", [[1, 1], [2, 3]])
def test_padding_is_found(padding: str, strides: list[int]) -> None:
    data, weight = tensor(1, 2, 7, 8), tensor(3, 2, 4, 3)
    attributes: dict[str, Any] = {"auto_pad": padding, "strides": strides}
    agree(model("Conv", data, Fixed(weight), opset=11, **attributes), data)
    # where the extents are not known, a run finds it
    given = model(
        "Conv", data, Fixed(weight), opset=11, shapes={0: ("n", 2, "h", "w")}, **attributes
    )
    for extents in ((7, 8), (6, 9)):
        other = tensor(2, 2, *extents)
        agree(given, other)


def test_dimensions_keep_their_names() -> None:
    data, weight = tensor(1, 2, 8, 8), Fixed(tensor(3, 2, 3, 3))
    shapes = {0: ("n", 2, "h", None)}
    given = model("Conv", data, weight, opset=11, shapes=shapes, pads=[1, 1, 1, 1])
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 3, h, ?), float32]"
    given = model(
        "Conv", data, weight, opset=11, shapes=shapes, auto_pad="SAME_UPPER", strides=[2, 2]
    )
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 3, (h + 1) // 2, ?), float32]"


def test_a_weight_says_how_many_channels_there_are() -> None:
    data, weight = tensor(1, 4, 5, 5), tensor(6, 2, 3, 3)
    given = model("Conv", data, Fixed(weight), opset=11, group=2, shapes={0: (1, "c", 5, 5)})
    agree(given, data)
    given = model("Conv", data, weight, opset=11, group=2, shapes={1: ("o", "i", 3, 3)})
    assert main_type(from_onnx(given)[0]) == "Tensor[(1, o, 3, 3), float32]"
    agree(given, data, weight)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_element_types_are_convolved(dtype: str) -> None:
    data, weight = tensor(1, 2, 5, 5, dtype=dtype), tensor(3, 2, 3, 3, dtype=dtype)
    given = model("Conv", data, weight, opset=11)
    agree(given, data, weight, oracle=reference, rtol=1e-2 if dtype == "float16" else 1e-9)


# --- transposed


@pytest.mark.parametrize(
    ("x", "w", "attributes"),
    [
        ((1, 2, 5), (2, 3, 3), {"strides": [2], "pads": [1, 0]}),
        ((2, 4, 4, 3), (4, 2, 3, 2), {"group": 2, "dilations": [2, 1], "pads": [1, 0, 2, 1]}),
        ((1, 2, 3, 3), (2, 2, 3, 3), {"strides": [3, 2], "output_padding": [1, 1]}),
        ((1, 2, 3, 3), (2, 2, 3, 3), {"strides": [3, 2], "output_shape": [10, 8]}),
        ((1, 2, 3, 3), (2, 2, 3, 3), {"strides": [3, 2], "output_shape": [8, 6]}),
        ((1, 2, 3, 3), (2, 2, 4, 4), {"strides": [2, 2], "output_shape": [5, 7]}),
        ((1, 1, 2, 3, 2), (1, 2, 2, 3, 2), {"strides": [1, 2, 1], "pads": [0, 1, 0, 1, 1, 0]}),
    ],
)
def test_windows_are_laid_out_over_one_to_three_axes(
    x: tuple[int, ...], w: tuple[int, ...], attributes: dict[str, Any]
) -> None:
    data, weight = tensor(*x), tensor(*w)
    bias = tensor(w[1] * attributes.get("group", 1))
    for opset in (1, 11):
        given = model("ConvTranspose", data, Fixed(weight), Fixed(bias), opset=opset, **attributes)
        agree(given, data)


@pytest.mark.parametrize("padding", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("strides", [[2, 3], [4, 1]])
def test_what_is_cut_off_is_found(padding: str, strides: list[int]) -> None:
    data, weight = tensor(1, 2, 3, 4), tensor(2, 1, 4, 3)
    given = model(
        "ConvTranspose",
        data,
        Fixed(weight),
        opset=11,
        shapes={0: ("n", 2, "h", "w")},
        auto_pad=padding,
        strides=strides,
    )
    agree(given, data)


def test_what_is_missing_is_at_the_end() -> None:
    data, weight = tensor(1, 1, 3), tensor(1, 1, 2)
    given = model(
        "ConvTranspose", data, Fixed(weight), opset=11, strides=[3], auto_pad="SAME_UPPER"
    )
    wanted = np.zeros((1, 1, 9), "float32")
    wanted[..., 0::3], wanted[..., 1::3] = data * weight[0, 0, 0], data * weight[0, 0, 1]
    agree(given, data, wanted=[wanted])


def test_extents_are_given_where_those_of_data_are_not_known() -> None:
    weight = Fixed(tensor(2, 1, 4, 3))
    for wanted in ([7, 9], [9, 10]):
        data = tensor(1, 2, 3, 4)
        given = model(
            "ConvTranspose",
            data,
            weight,
            opset=11,
            shapes={0: ("n", 2, "h", "w")},
            output_shape=wanted,
            strides=[2, 2],
        )
        found = main_type(from_onnx(given)[0])
        assert found == f"Tensor[(n, 1, {wanted[0]}, {wanted[1]}), float32]"
        agree(given, data)


def test_more_than_three_axes_are_laid_out_as_a_convolution() -> None:
    data, weight = tensor(1, 4, 2, 3, 2, 2), tensor(4, 1, 2, 3, 2, 1)
    attributes: dict[str, Any] = {
        "group": 2,
        "strides": [2, 1, 2, 1],
        "pads": [1, 0, 0, 0, 0, 1, 1, 0],
        "output_padding": [1, 0, 0, 0],
    }
    given = model("ConvTranspose", data, Fixed(weight), opset=11, **attributes)
    found = ours(given, data)
    # a fourth axis of one element that nothing slides over is no axis
    flat = model(
        "ConvTranspose",
        data[..., 0],
        Fixed(weight[..., 0]),
        opset=11,
        group=2,
        strides=[2, 1, 2],
        pads=[1, 0, 0, 0, 1, 1],
        output_padding=[1, 0, 0],
    )
    same([found[0][..., 0]], runtime(flat, data[..., 0]), 1e-5, 1e-6)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: model("Conv", tensor(2, 3), tensor(4, 3), opset=11), "no spatial axes"),
        (lambda: model("Conv", tensor(1, 2, 5), tensor(4, 2, 3, 3), opset=11), "number of axes"),
        (lambda: model("Conv", tensor(1, 2, 5), tensor(4, 2, 3), opset=11, group=0), "one group"),
        (
            lambda: model("Conv", tensor(1, 2, 5), tensor(4, 2, 3), opset=11, auto_pad="ODD"),
            "no such padding",
        ),
        (
            lambda: model("Conv", tensor(1, 2, 5), tensor(4, 2, 3), opset=11, strides=[1, 1]),
            "`strides` has the wrong length",
        ),
        (
            lambda: model("Conv", tensor(1, 2, 5), tensor(4, 2, 3), opset=11, strides=[0]),
            "are not positive",
        ),
        (
            lambda: model("Conv", tensor(1, 2, 5), tensor(4, 2, 3), opset=11, kernel_shape=[3, 3]),
            "`kernel_shape` does not fit",
        ),
        (lambda: model("Conv", tensor(1, 3, 5), tensor(4, 2, 3), opset=11), "input channels"),
        (lambda: model("Conv", tensor(1, 2, 5), tensor(4, 2, 7), opset=11), "larger than"),
        (
            lambda: model(
                "ConvTranspose", tensor(1, 2, 5), tensor(2, 2, 3), opset=11, output_shape=[1, 2]
            ),
            "`output_shape` does not fit",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        from_onnx(given())


def test_dilations_are_not_taken_for_strides() -> None:
    data, weight = np.zeros((1, 1, 5, 5), "float32"), np.zeros((1, 1, 2, 2), "float32")
    with pytest.raises(FrontendError, match="`dilations` are not positive") as caught:
        from_onnx(model("Conv", data, weight, opset=11, dilations=[0, 0]))
    assert "dilations = [0, 0]" in str(caught.value)
