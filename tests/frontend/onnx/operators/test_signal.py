"""Fourier transforms, windows and bands in ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from relay.errors import FrontendError
from relay.frontend.onnx.importer import from_onnx
from tests.frontend.onnx.oracle import Fixed, agree, main_type, model, reference

RANDOM = np.random.default_rng(3)


def floats(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(dtype)


def number(value: int) -> np.ndarray:
    return np.array(value, "int64")


REAL, COMPLEX = floats(2, 6, 5, 1), floats(2, 6, 5, 2)


def close(given: Any, *inputs: Any) -> None:
    agree(given, *inputs, oracle=reference, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axis", [1, 2, -2])
@pytest.mark.parametrize("data", [REAL, COMPLEX], ids=["real", "complex"])
@pytest.mark.parametrize("inverse", [0, 1])
def test_the_axis_is_an_input_from_version_20_on(axis: int, data: np.ndarray, inverse: int) -> None:
    close(model("DFT", data, opset=17, axis=axis, inverse=inverse), data)
    given = model("DFT", data, None, Fixed(number(axis)), opset=20, inverse=inverse)
    close(given, data)


def test_the_usual_axis() -> None:
    close(model("DFT", COMPLEX, opset=17), COMPLEX)
    close(model("DFT", COMPLEX, opset=20), COMPLEX)


@pytest.mark.parametrize("length", [3, 5, 8])
def test_signals_are_cut_or_filled_with_zeros(length: int) -> None:
    close(model("DFT", COMPLEX, Fixed(number(length)), opset=20), COMPLEX)
    close(model("DFT", COMPLEX, number(length), opset=20), COMPLEX, number(length))
    given = model("DFT", REAL, Fixed(number(length)), opset=20, onesided=1)
    close(given, REAL)


@pytest.mark.parametrize("data", [floats(2, 4, 2), floats(1, 5, 2)])
@pytest.mark.parametrize("length", [None, 5, 6, 12])
def test_half_of_the_frequencies_give_a_real_signal(data: np.ndarray, length: int | None) -> None:
    size = None if length is None else Fixed(number(length))
    close(model("DFT", data, size, opset=20, inverse=1, onesided=1), data)


def test_lengths_with_names() -> None:
    given = model("DFT", REAL, opset=20, onesided=1, shapes={0: ("b", 6, "n", 1)})
    assert main_type(from_onnx(given)[0]) == "Tensor[(b, 6, (n // 2) + 1, 2), float32]"
    close(given, REAL)


def test_what_is_no_signal_is_refused() -> None:
    with pytest.raises(FrontendError, match="last axis"):
        from_onnx(model("DFT", floats(2, 3), opset=20))
    with pytest.raises(FrontendError, match="axis"):
        from_onnx(model("DFT", REAL, opset=17, axis=3))


# --- over time

SIGNAL = floats(2, 40, 1)


@pytest.mark.parametrize("onesided", [0, 1])
def test_transforms_of_frames(onesided: int) -> None:
    step, length, window = Fixed(number(4)), Fixed(number(8)), floats(8)
    close(model("STFT", SIGNAL, step, None, length, opset=17, onesided=onesided), SIGNAL)
    given = model("STFT", SIGNAL, step, window, length, opset=17, onesided=onesided)
    close(given, SIGNAL, window)
    close(model("STFT", SIGNAL, step, window, opset=17, onesided=onesided), SIGNAL, window)


def test_frames_of_complex_signals() -> None:
    data, window = floats(1, 20, 2), floats(6)
    step = Fixed(number(3))
    close(model("STFT", data, step, window, opset=17, onesided=0), data, window)


def test_signals_of_real_numbers_need_no_axis_for_their_parts() -> None:
    """The standard says three axes; ONNX Runtime takes two, and models rely on it."""
    data, window, step = floats(2, 40), floats(8), Fixed(number(4))
    agree(model("STFT", data, step, window, opset=17), data, window, atol=1e-5)
    agree(model("STFT", data, step, None, Fixed(number(8)), opset=17, onesided=0), data, atol=1e-5)
    given = model("STFT", data, step, window, opset=17, shapes={0: ("batch", "length")})
    agree(given, data, window, atol=1e-5)


def test_signals_of_any_length() -> None:
    step, length = Fixed(number(4)), Fixed(number(8))
    given = model("STFT", SIGNAL, step, None, length, opset=17, shapes={0: ("b", "n", 1)})
    close(given, SIGNAL)


@pytest.mark.parametrize("window", [None, floats(8)])
def test_frames_that_a_run_knows(window: np.ndarray | None) -> None:
    step, length = number(4), number(8)
    given = model("STFT", SIGNAL, step, window, length, opset=17)
    close(given, SIGNAL, step, *([] if window is None else [window]), length)


def test_frames_have_a_length() -> None:
    with pytest.raises(FrontendError, match="positive"):
        from_onnx(model("STFT", SIGNAL, Fixed(number(0)), None, Fixed(number(8)), opset=17))


# --- windows and bands


@pytest.mark.parametrize("name", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
def test_windows(name: str, periodic: int) -> None:
    close(model(name, number(9), opset=17, periodic=periodic), number(9))
    close(model(name, Fixed(number(9)), opset=17, periodic=periodic))
    given = model(name, number(9), opset=17, output_datatype=TensorProto.DOUBLE)
    close(given, number(9))


def test_bands() -> None:
    numbers = [number(8), number(64), number(16000)]
    edges = [np.array(0.0, "float32"), np.array(8000.0, "float32")]
    given = [*map(Fixed, (*numbers, *edges))]
    close(model("MelWeightMatrix", *given, opset=17))
    close(model("MelWeightMatrix", *numbers, *edges, opset=17), *numbers, *edges)
    close(model("MelWeightMatrix", *given, opset=17, output_datatype=TensorProto.DOUBLE))
