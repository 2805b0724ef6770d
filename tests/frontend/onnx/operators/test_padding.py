"""Tensors that grow in ONNX: padding, copies, windows about the middle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay.errors import FrontendError, RelayError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model, reference

X = np.arange(12, dtype="float32").reshape(3, 4)


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, "int64")


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_widths_are_attributes_before_version_11(mode: str) -> None:
    given = model("Pad", X, opset=2, mode=mode, pads=[1, 2, 0, 1], value=1.5)
    more = {"constant_values": 1.5} if mode == "constant" else {}
    wanted = np.pad(X, ((1, 0), (2, 1)), mode=mode, **more)  # type: ignore[call-overload]
    agree(given, X, wanted=[wanted])


def test_version_1_has_another_name_for_them() -> None:
    wanted = np.pad(X, ((1, 0), (2, 1)))
    agree(model("Pad", X, opset=1, paddings=[1, 2, 0, 1]), X, wanted=[wanted])


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_widths_are_constants_or_inputs_from_version_11_on(mode: str) -> None:
    widths, number = ints(1, 2, 2, 3), np.array(7, "float32")
    agree(model("Pad", X, Fixed(widths), Fixed(number), opset=19, mode=mode), X)
    given = model("Pad", X, widths, number, opset=19, mode=mode)
    agree(given, X, widths, number)


def test_some_axes_are_padded() -> None:
    widths, axes = ints(1, 2), ints(-1)
    agree(model("Pad", X, Fixed(widths), None, Fixed(axes), opset=18), X)
    agree(model("Pad", X, widths, None, axes, opset=18), X, widths, axes)


def test_negative_widths_take_elements_away() -> None:
    agree(model("Pad", X, Fixed(ints(-1, 2, 1, -3)), opset=13), X)


@pytest.mark.parametrize("mode", ["constant", "edge"])
def test_negative_widths_that_a_run_finds(mode: str) -> None:
    widths, axes = ints(-1, 2, 1, -3), ints(1)
    agree(model("Pad", X, widths, opset=13, mode=mode), X, widths)
    agree(model("Pad", X, ints(-1, 1), None, axes, opset=18, mode=mode), X, ints(-1, 1), axes)


@pytest.mark.parametrize("pair", [(-6, 4), (-4, 4), (2, -6), (-4, 0)])
def test_more_may_be_taken_away_than_there_is_where_as_much_is_padded(
    pair: tuple[int, int],
) -> None:
    widths = ints(0, pair[0], 0, pair[1])
    agree(model("Pad", X, Fixed(widths), opset=13), X)
    agree(model("Pad", X, widths, opset=13), X, widths)


def test_an_extent_below_zero_is_refused() -> None:
    widths = ints(0, -3, 0, -3)
    with pytest.raises(FrontendError, match="axis 1 is too short for so many elements"):
        agree(model("Pad", X, Fixed(widths), opset=13), X)
    with pytest.raises(RelayError, match="axis 1 is too short for so many elements"):
        agree(model("Pad", X, widths, opset=13), X, widths)


def test_integers_and_truth_values_are_padded() -> None:
    data = np.array([[1, 2]], "int64")
    agree(model("Pad", data, Fixed(ints(0, 1, 1, 0)), Fixed(np.array(9)), opset=13), data)
    flags = np.array([True, False])
    agree(model("Pad", flags, Fixed(ints(1, 1)), opset=13), flags)


def test_named_dimensions_grow() -> None:
    given = model("Pad", X, Fixed(ints(1, 0, 1, 0)), opset=13, shapes={0: ("n", 4)})
    assert main_type(from_onnx(given)[0]) == "Tensor[(n + 2, 4), float32]"
    agree(given, X)


# --- copies


def test_copies_along_all_axes() -> None:
    agree(model("Tile", X, Fixed(ints(2, 1)), opset=13), X)
    agree(model("Tile", X, ints(1, 3), opset=13), X, ints(1, 3))
    given = model("Tile", X, Fixed(ints(2, 1)), opset=13, shapes={0: ("n", 4)})
    assert main_type(from_onnx(given)[0]) == "Tensor[(2 * n, 4), float32]"


def test_version_1_copies_along_one_axis() -> None:
    given = model("Tile", X, Fixed(ints(2)), Fixed(ints(1)), opset=1)
    agree(given, X, wanted=[np.tile(X, (1, 2))])


# --- about the middle


@pytest.mark.parametrize("wanted", [(2, 2), (5, 6), (1, 7), (3, 4)])
def test_the_middle_is_cut_out_or_framed(wanted: tuple[int, int]) -> None:
    given = model("CenterCropPad", X, Fixed(ints(*wanted)), opset=18)
    agree(given, X, oracle=reference)
    given = model("CenterCropPad", X, ints(*wanted), opset=18)
    agree(given, X, ints(*wanted), oracle=reference)


def test_the_middle_along_some_axes_of_named_extents() -> None:
    given = model("CenterCropPad", X, Fixed(ints(6)), opset=18, axes=[-1], shapes={0: ("n", "m")})
    assert main_type(from_onnx(given)[0]) == "Tensor[(n, 6), float32]"
    agree(given, X, oracle=reference)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: model("Pad", X, Fixed(ints(1, 2)), opset=13), "do not fit the rank"),
        (
            lambda: model("Pad", X, Fixed(ints(1)), None, Fixed(ints(0)), opset=18),
            "do not fit the axes",
        ),
        (lambda: model("Pad", X, Fixed(ints(1, 2, 3, 4)), opset=13, mode="odd"), "no such mode"),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        from_onnx(given())
