"""Fourier transforms as loops, of every kind of length."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft

from relay import te
from relay.op.signal.fourier_loops import Complex, prepare, prepare_real
from relay.te.evaluate import evaluate

# nothing, powers of two, products of small primes, and primes that need a convolution
LENGTHS = (0, 1, 2, 4, 8, 16, 32, 48, 3, 5, 7, 6, 12, 30, 42, 11, 13, 22, 17, 37, 41)


def transform(
    data: np.ndarray, inverse: bool, symbolic: bool = False, dtype: str = "float64"
) -> np.ndarray:
    """The transform of a line; the kernel may learn of its length only in a run."""
    length = len(data)
    parts = [te.placeholder((length,), dtype, name) for name in ("re", "im")]
    size = te.placeholder((), "int64", "size")

    def write(b: te.Builder, *results: te.Buffer) -> None:
        run = prepare(b, size[()] if symbolic else te.index(length), dtype, inverse)

        def load(n: te.Expr) -> Complex:
            return parts[0][n], parts[1][n]

        def keep(k: te.Expr, number: Complex) -> None:
            for result, value in zip(results, number, strict=True):
                b.store(result, k, value)

        run(load, keep, length)

    tensors = te.procedure([*parts, size], [((length,), dtype)] * 2, write)
    re, im = (part.astype(dtype) for part in (data.real, data.imag))
    re, im = evaluate(tensors, {parts[0]: re, parts[1]: im, size: np.array(length)})
    return re + 1j * im


def transform_of_real(data: np.ndarray, symbolic: bool = False) -> np.ndarray:
    """The first half of the transform of real numbers."""
    length = len(data)
    given, size = te.placeholder((length,), "float64", "x"), te.placeholder((), "int64", "size")

    def write(b: te.Builder, *results: te.Buffer) -> None:
        run = prepare_real(b, size[()] if symbolic else te.index(length), "float64")

        def keep(k: te.Expr, number: Complex) -> None:
            for result, value in zip(results, number, strict=True):
                b.store(result, k, value)

        run(lambda n: given[n], keep)

    tensors = te.procedure([given, size], [((length // 2 + 1,), "float64")] * 2, write)
    re, im = evaluate(tensors, {given: data, size: np.array(length)})
    return re + 1j * im


def line(length: int) -> np.ndarray:
    generator = np.random.default_rng(length)
    return generator.normal(size=length) + 1j * generator.normal(size=length)


@pytest.mark.rotate(3)
@pytest.mark.parametrize("length", LENGTHS)
def test_a_line_is_taken_to_its_frequencies_and_back(length: int) -> None:
    data = line(length)
    forward = np.fft.fft(data) if length else data
    np.testing.assert_allclose(transform(data, inverse=False), forward, atol=1e-12)
    np.testing.assert_allclose(transform(forward, inverse=True), data * length, atol=1e-11)


@pytest.mark.parametrize("length", [1, 2, 6, 11])
def test_the_length_may_be_known_in_a_run_only(length: int) -> None:
    data = line(length)
    for inverse in (False, True):
        np.testing.assert_allclose(
            transform(data, inverse, symbolic=True), transform(data, inverse), atol=1e-12
        )


@pytest.mark.rotate(3)
@pytest.mark.parametrize("length", LENGTHS[1:])
def test_of_real_numbers_there_is_half_a_transform(length: int) -> None:
    data = line(length).real.copy()
    found = transform_of_real(data)
    np.testing.assert_allclose(found, np.fft.rfft(data), atol=1e-12)
    np.testing.assert_allclose(transform_of_real(data, symbolic=True), found, atol=1e-12)
    if length % 2 == 0:  # exactly, as what would be added to and taken from them is the same
        assert found[0].imag == found[-1].imag == 0


@pytest.mark.parametrize("length", [16, 60, 31, 37, 128])
def test_errors_in_float32_grow_with_the_logarithm_of_the_length(length: int) -> None:
    data = line(length).astype(np.complex64)
    wanted = np.fft.fft(data.astype(np.complex128))
    error = np.linalg.norm(transform(data, False, dtype="float32") - wanted)
    bound = np.finfo(np.float32).eps * np.log2(length)
    assert error < bound * np.linalg.norm(wanted)


@pytest.mark.parametrize("length", [10, 16, 12, 35, 22])
def test_sums_are_rounded_as_in_pocketfft(length: int) -> None:
    data = line(length).astype(np.complex64)
    found = transform(data, True, dtype="float32")
    np.testing.assert_array_equal(found, scipy.fft.ifft(data, norm="forward"))
