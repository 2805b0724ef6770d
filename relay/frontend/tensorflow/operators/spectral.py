"""Complex numbers, and Fourier transforms of the last axes."""

from __future__ import annotations

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.frontend.tensorflow.operators.binary import atan2
from relay.frontend.tensorflow.values import Complex, Value
from relay.ir.expr import Expr, const

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
    for back in range(1, axes + 1):
        data = _along(node, data, node.rank(data.real) - back, inverse)
    return data


def _along(node: Node, data: Complex, axis: int, inverse: bool) -> Complex:
    """A transform along one axis."""
    rank = node.rank(data.real)
    order = [*(one for one in range(rank) if one != axis), axis]
    back = [order.index(one) for one in range(rank)]
    moved = [
        one if axis == rank - 1 else node.let(op.transpose(one, order))
        for one in (data.real, data.imaginary)
    ]
    parts = node.fields(op.dft(moved[0], moved[1], inverse).astuple(), 2)
    if axis != rank - 1:
        parts = [node.let(op.transpose(one, back)) for one in parts]
    return Complex(*parts)


@table("RFFT", "RFFT2D", "RFFT3D")
def real_transform(node: Node, data: Expr, length: Expr) -> Value:
    """RFFT of data cropped or zero-padded to `fft_length`: the non-redundant half."""
    axes = _axes(node)
    sizes = [int(one) for one in node.numbers(length, "the length")]
    data = _of_length(node, data, sizes, axes)
    whole = Complex(data, node.let(op.zeros_like(data)))
    found = _transformed(node, whole, axes, inverse=False)
    last = node.rank(data) - 1
    parts = (
        op.strided_slice(one, [0], [sizes[-1] // 2 + 1], axes=(last,))
        for one in (found.real, found.imaginary)
    )
    return Complex(*map(node.let, parts))


def _of_length(node: Node, data: Expr, sizes: list[int], axes: int) -> Expr:
    rank = node.rank(data)
    for place, wanted in enumerate(sizes[-axes:]):
        axis = rank - axes + place
        extent = node.static_extent(data, axis, "how many elements there are")
        if extent > wanted:
            data = node.let(op.strided_slice(data, [0], [wanted], axes=(axis,)))
        elif extent < wanted:
            widths = [(0, wanted - extent if one == axis else 0) for one in range(rank)]
            data = node.let(op.nn.pad(data, widths, node.number(0, data)))
    return data


@table("IRFFT", "IRFFT2D", "IRFFT3D")
def inverse_real_transform(node: Node, data: Complex, length: Expr) -> Expr:
    """IRFFT from the non-redundant half of the spectrum."""
    axes = _axes(node)
    sizes = [int(one) for one in node.numbers(length, "the length")]
    count, rank = sizes[-1], node.rank(data.real)
    halves = [*sizes[:-1], count // 2 + 1]
    parts = [_of_length(node, one, halves, axes) for one in (data.real, data.imaginary)]
    found = Complex(*parts)
    for back in range(2, axes + 1):
        found = _along(node, found, rank - back, inverse=True)
    places = [one if one <= count // 2 else count - one for one in range(count)]
    both = (found.real, found.imaginary)
    mirrored = [node.let(op.take(one, int64(places), axis=rank - 1)) for one in both]
    signs = [1.0 if one <= count // 2 else -1.0 for one in range(count)]
    turned = node.let(mirrored[1] * const(signs, node.dtype(mirrored[1])))
    return _along(node, Complex(mirrored[0], turned), rank - 1, inverse=True).real
