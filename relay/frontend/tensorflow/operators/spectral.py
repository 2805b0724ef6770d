"""Complex numbers, and Fourier transforms of the last axes."""

from __future__ import annotations

from relay import op
from relay.frontend.common import fourier
from relay.frontend.common.angles import atan2
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.frontend.tensorflow.values import Complex, Value
from relay.ir.expr import Expr

table = Table()


@table("Complex")
def complex_(node: Node, real: Expr, imaginary: Expr) -> Value:
    return Complex(real, imaginary)


@table("Real")
def real(node: Node, data: Expr | Complex) -> Expr:
    return data.real if isinstance(data, Complex) else data


@table("Imag")
def imaginary(node: Node, data: Expr | Complex) -> Expr:
    return data.imaginary if isinstance(data, Complex) else op.zeros_like(data)


@table("Conj")
def conjugate(node: Node, data: Expr | Complex) -> Value:
    if not isinstance(data, Complex):
        return data
    return Complex(data.real, node.let(op.negative(data.imaginary)))


@table("Angle")
def angle(node: Node, data: Complex) -> Expr:
    return atan2(node, data.imaginary, data.real)


@table("ComplexAbs")
def size(node: Node, data: Complex) -> Expr:
    """The magnitude of complex numbers, scaled by the larger part against overflow."""
    first, second = node.let(op.abs(data.real)), node.let(op.abs(data.imaginary))
    most = node.let(op.maximum(first, second))
    zero, one = node.number(0, most), node.number(1, most)
    by = node.let(op.where(op.equal(most, zero), one, most))
    a, b = node.let(first / by), node.let(second / by)
    return most * op.sqrt(a * a + b * b)


@table("FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D")
def transform(node: Node, data: Complex) -> Value:
    inverse = node.operator.startswith("I")
    return _transformed(node, data, _axes(node), inverse)


def _axes(node: Node) -> int:
    """The number of transformed axes."""
    return int(node.operator[-2]) if node.operator.endswith("D") else 1


def _transformed(node: Node, data: Complex, axes: int, inverse: bool) -> Complex:
    pair = data.real, data.imaginary
    rank = node.rank(data.real)
    for back in range(1, axes + 1):
        pair = fourier.transform(node, pair, rank - back, inverse=inverse)
    return Complex(*pair)


@table("RFFT", "RFFT2D", "RFFT3D")
def real_transform(node: Node, data: Expr, length: Expr) -> Value:
    """RFFT of data cropped or zero-padded to `fft_length`: the non-redundant half."""
    axes = _axes(node)
    sizes = [int(one) for one in node.numbers(length, "the length")]
    data = _of_length(node, data, sizes, axes)
    whole = Complex(data, node.let(op.zeros_like(data)))
    found = _transformed(node, whole, axes, inverse=False)
    pair = found.real, found.imaginary
    return Complex(*fourier.first_half(node, pair, node.rank(data) - 1, sizes[-1]))


def _of_length(node: Node, data: Expr, sizes: list[int], axes: int) -> Expr:
    rank = node.rank(data)
    for place, wanted in enumerate(sizes[-axes:]):
        data = fourier.of_length(node, data, rank - axes + place, wanted)
    return data


@table("IRFFT", "IRFFT2D", "IRFFT3D")
def inverse_real_transform(node: Node, data: Complex, length: Expr) -> Expr:
    """IRFFT from the non-redundant half of the spectrum."""
    axes = _axes(node)
    sizes = [int(one) for one in node.numbers(length, "the length")]
    halves = [*sizes[:-1], sizes[-1] // 2 + 1]
    real, imaginary = (_of_length(node, one, halves, axes) for one in (data.real, data.imaginary))
    pair = real, imaginary
    for back in range(2, axes + 1):
        pair = fourier.transform(node, pair, node.rank(data.real) - back, inverse=True)
    return fourier.irfft(node, pair, sizes[-1])
