"""Fourier transforms as loops, of every kind of length."""

from __future__ import annotations

import numpy as np
import pytest

from relay import te
from relay.op.fourier_loops import Complex, prepare
from relay.te.evaluate import evaluate

# nothing, powers of two, products of small primes, and primes that need a convolution
LENGTHS = (0, 1, 2, 4, 8, 32, 3, 5, 7, 6, 12, 30, 42, 11, 13, 22, 17)


def transform(data: np.ndarray, inverse: bool, symbolic: bool = False) -> np.ndarray:
    """The transform of a line; the kernel may learn of its length only in a run."""
    length = len(data)
    parts = [te.placeholder((length,), "float64", name) for name in ("re", "im")]
    size = te.placeholder((), "int64", "size")

    def write(b: te.Builder, *results: te.Buffer) -> None:
        run = prepare(b, size[()] if symbolic else te.index(length), inverse)

        def load(n: te.Expr) -> Complex:
            return parts[0][n], parts[1][n]

        def keep(k: te.Expr, number: Complex) -> None:
            for result, value in zip(results, number, strict=True):
                b.store(result, k, value)

        run(load, keep, length)

    tensors = te.procedure([*parts, size], [((length,), "float64")] * 2, write)
    values = {parts[0]: data.real.copy(), parts[1]: data.imag.copy(), size: np.array(length)}
    re, im = evaluate(tensors, values)
    return re + 1j * im


def line(length: int) -> np.ndarray:
    generator = np.random.default_rng(length)
    return generator.normal(size=length) + 1j * generator.normal(size=length)


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
