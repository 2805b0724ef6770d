"""Fourier transforms, of real and of complex numbers.

_fft_r2c(x, [0, 1], …)      a transform of the real rows, then of the columns
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Size
from relay.frontend.pytorch.scope import Complex
from relay.frontend.pytorch.shapes import swapped
from relay.ir.dims import Any as AnyDim
from relay.ir.expr import Expr, Tuple

real_table = Converters()
complex_table = Converters(complex_numbers=True)
tables = (real_table, complex_table)

_NONE, _BY_ROOT, _BY_LENGTH = range(3)

Parts = tuple[Expr, Expr]


def parts(node: Node, value: Complex) -> Parts:
    """The real and imaginary parts."""
    real, imaginary = (
        node.let(op.take(value.pairs, int64(place), axis=node.rank(value.pairs) - 1))
        for place in range(2)
    )
    return real, imaginary


def paired(node: Node, real: Expr, imaginary: Expr) -> Complex:
    return Complex(node.let(op.stack(Tuple((node.let(real), node.let(imaginary))), -1)))


def _transformed(node: Node, given: Parts, axis: int, forward: bool) -> Parts:
    """The unnormalized transform along an axis."""
    real, imaginary = (swapped(node, one, axis, -1) for one in given)
    if 0 in node.shape(real):
        return given
    found = node.fields(op.dft(real, imaginary, inverse=not forward).astuple(), 2)
    if not forward:
        count = node.as_dtype(node.size(real, -1), node.dtype(real))
        found = [node.let(one * count) for one in found]
    first, second = (swapped(node, one, axis, -1) for one in found)
    return first, second


def _divided(node: Node, given: Parts, factor: Expr | float | None) -> Parts:
    if factor is None:
        return given
    first, second = (node.let(one * node.number(factor, one)) for one in given)
    return first, second


def _factor(node: Node, sizes: Sequence[Size], normalization: int, dtype: str) -> Any:
    """The normalization factor of a transform."""
    if normalization == _NONE:
        return None
    numbers = [one for one in sizes if isinstance(one, int)]
    if len(numbers) == len(sizes):
        whole = 1
        for one in numbers:
            whole *= one
        return 1 / (sqrt(whole) if normalization == _BY_ROOT else max(whole, 1))
    product = node.as_dtype(node.let(op.prod(node.sizes(sizes), axis=(0,))), dtype)
    return node.let(
        op.rsqrt(product) if normalization == _BY_ROOT else node.number(1, product) / product
    )


@complex_table("_fft_c2c")
def c2c(
    node: Node, self: Complex, dim: Sequence[int], normalization: int, forward: bool
) -> Complex:
    given = parts(node, self)
    axes = [node.axis(given[0], one) for one in dim]
    sizes = [node.dimension(given[0], axis) for axis in axes]
    for axis in axes:
        given = _transformed(node, given, axis, forward)
    factor = _factor(node, sizes, normalization, node.dtype(given[0]))
    return paired(node, *_divided(node, given, factor))


@real_table("_fft_r2c")
def r2c(node: Node, self: Expr, dim: Sequence[int], normalization: int, onesided: bool) -> Complex:
    axes = [node.axis(self, one) for one in dim]
    sizes = [node.dimension(self, axis) for axis in axes]
    if onesided:
        halves = node.fields(op.rfft(swapped(node, self, axes[-1], -1)).astuple(), 2)
        given = swapped(node, halves[0], axes[-1], -1), swapped(node, halves[1], axes[-1], -1)
        axes = axes[:-1]
    else:
        given = self, node.let(op.zeros_like(self))
    for axis in axes:
        given = _transformed(node, given, axis, True)
    factor = _factor(node, sizes, normalization, node.dtype(self))
    return paired(node, *_divided(node, given, factor))


@complex_table("_fft_c2r")
def c2r(
    node: Node, self: Complex, dim: Sequence[int], normalization: int, last_dim_size: Size
) -> Expr:
    """The real transform of the half of the frequencies that stands for all."""
    given = parts(node, self)
    *axes, last = [node.axis(given[0], one) for one in dim]
    for axis in axes:
        given = _transformed(node, given, axis, False)
    count, whole = node.scalar(last_dim_size, "int64"), node.known(last_dim_size)
    rows = [swapped(node, one, last, -1) for one in given]
    counted = op.arange(count, dtype="int64")
    places = node.declare(counted, (None if isinstance(whole, AnyDim) else whole,), "int64")
    # frequency k > n / 2 is the conjugate of n - k
    half = node.let(op.floor_divide(count, int64(2)))
    is_mirrored = node.let(op.greater(places, half))
    source = node.let(op.where(is_mirrored, count - places, places))
    real, imaginary = (node.let(op.take(one, source, axis=node.rank(one) - 1)) for one in rows)
    imaginary = node.let(op.where(is_mirrored, -imaginary, imaginary))
    # those of the mean, and of half the length, are real
    is_real = op.logical_or(op.equal(places, int64(0)), op.equal(places + places, count))
    imaginary = node.let(op.where(is_real, node.number(0, imaginary), imaginary))
    found, _ = _transformed(node, (real, imaginary), node.rank(real) - 1, False)
    sizes: list[Size] = [node.dimension(given[0], axis) for axis in axes]
    factor = _factor(node, [*sizes, last_dim_size], normalization, node.dtype(found))
    found = _divided(node, (found, found), factor)[0]
    return swapped(node, found, last, -1)
