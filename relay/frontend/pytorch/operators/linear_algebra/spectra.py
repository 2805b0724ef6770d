"""Singular values and eigenvalues, and what is made of them: pseudo-inverses, exponentials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from relay import dtypes, op
from relay.frontend.common.builder import int64
from relay.frontend.common.loops import counted
from relay.frontend.common.matrices.numbers import (
    Numbers,
    adjoint,
    embedded,
    extracted,
    inverse,
    product,
    real,
    times,
    where,
)
from relay.frontend.common.matrices.reflections import identity_like
from relay.frontend.common.matrices.rotations import singular, symmetric
from relay.frontend.common.products import product as real_product
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.operators.linear_algebra.kinds import BothKinds, given, numbers
from relay.ir import dims
from relay.ir.expr import Expr

both = BothKinds()
tables = both.tables


@both("_linalg_svd")
def svd(
    node: Node,
    A: Any,
    full_matrices: bool = False,
    compute_uv: bool = True,
    *,
    driver: str | None = None,
) -> list[Any]:
    matrix = numbers(node, A)
    found = singular(node, matrix, full=full_matrices)
    if not compute_uv:
        return [_none(node, matrix), found.values, _none(node, matrix)]
    return [given(node, found.left), found.values, given(node, adjoint(node, found.right))]


def _none(node: Node, like: Numbers) -> Any:
    """An empty result."""
    return given(node, like.each(node, lambda part: node.zeros((0,), node.dtype(part))))


@both("_linalg_eigh")
def eigh(node: Node, A: Any, UPLO: str = "L", compute_v: bool = True) -> list[Any]:
    matrix = numbers(node, A)
    values, vectors = symmetric(node, _by_triangle(node, matrix, upper=UPLO.upper() == "U"))
    return [values, given(node, vectors) if compute_v else _none(node, matrix)]


def _by_triangle(node: Node, matrix: Numbers, *, upper: bool) -> Numbers:
    """The symmetric or Hermitian matrix with a triangle, whose diagonal is real."""
    rows, columns = node.positions(matrix.real, -2), node.positions(matrix.real, -1)
    apart = node.let(op.expand_dims(rows, 1) - op.expand_dims(columns, 0))
    inside = node.let(op.greater_equal(apart, int64(0)))
    other = adjoint(node, matrix)
    pair = (other, matrix) if upper else (matrix, other)
    found = where(node, inside, *pair)
    beside = op.not_equal(apart, int64(0))
    zero = node.number(0, matrix.real)
    turned = (node.let(op.where(beside, part, zero)) for part in found.parts[1:])
    return Numbers((found.real, *turned))


@both("linalg_pinv.atol_rtol_tensor")
def pinv(
    node: Node,
    self: Any,
    *,
    atol: Expr | None = None,
    rtol: Expr | None = None,
    hermitian: bool = False,
) -> Any:
    """The pseudo-inverse: values up to the larger tolerance count as 0."""
    matrix = numbers(node, self)
    height, width = (node.static_extent(matrix.real, axis, "a matrix") for axis in (-2, -1))
    if not height or not width:
        return given(node, adjoint(node, matrix))
    if hermitian:
        values, left = symmetric(node, _by_triangle(node, matrix, upper=False))
        right = left
    else:
        found = singular(node, matrix)
        left, values, right = found.left, found.values, found.right
    sizes = node.let(op.abs(values))
    last = node.rank(sizes) - 1
    zero = node.number(0, values)
    absolute = zero if atol is None else _beside(node, atol, sizes)
    if rtol is None:
        eps = float(np.finfo(dtypes.to_numpy(node.dtype(values))).eps)
        relative: Expr = node.number(eps * max(height, width), values)
        if atol is not None:
            relative = op.where(op.greater(absolute, zero), zero, relative)
    else:
        relative = _beside(node, rtol, sizes)
    largest = op.max(sizes, axis=(last,), keepdims=True)
    limit = node.let(op.maximum(absolute, relative * largest))
    counts = node.let(op.greater(sizes, limit))
    one = node.number(1, values)
    shares = op.where(counts, one / op.where(counts, values, one), zero)
    scaled = times(node, right, real(node.let(op.expand_dims(shares, last))))
    return given(node, product(node, scaled, adjoint(node, left)))


def _beside(node: Node, value: Expr, sizes: Expr) -> Expr:
    """A number for each matrix, as a column beside its values."""
    number = node.as_dtype(value, node.dtype(sizes))
    return node.let(op.expand_dims(number, node.rank(number))) if node.rank(number) else number


@both("linalg_tensorinv")
def tensorinv(node: Node, self: Any, ind: int = 2) -> Any:
    data = numbers(node, self)
    shape = node.static_shape(data.real, "the tensor")
    first, rest = shape[:ind], shape[ind:]
    matrix = data.each(node, lambda part: op.reshape(part, (math.prod(first), math.prod(rest))))
    found = inverse(node, matrix)
    return given(node, found.each(node, lambda part: op.reshape(part, (*rest, *first))))


TERMS = 14  # of the series of exp, for matrices of a norm up to 1 / 2


@both("linalg_matrix_exp", "matrix_exp")
def matrix_exp(node: Node, self: Any) -> Any:
    matrix = numbers(node, self)
    if not matrix.is_complex or 0 in node.shape(matrix.real):
        return self if 0 in node.shape(matrix.real) else exponential(node, self)
    return given(node, extracted(node, exponential(node, embedded(node, matrix))))


def exponential(node: Node, self: Expr) -> Expr:
    """The series for a matrix halved until it is small, squared as often."""
    rank, dtype = node.rank(self), node.dtype(self)
    width = node.static_extent(self, -1, "a matrix")
    sums = op.sum(op.abs(self), axis=(rank - 2,), keepdims=True)
    size = node.let(op.cast(op.max(sums, axis=(rank - 1,), keepdims=True), "float64"))
    least = node.scalar(0.5, "float64")
    halvings = op.ceil(op.log2(op.maximum(size, least))) + node.scalar(1.0, "float64")
    times = node.let(op.cast(halvings, "int64"))
    factor = op.power(least, op.cast(times, "float64"))
    small = node.let(self * op.cast(factor, dtype))
    ones = identity_like(node, self, width)
    found = ones
    for number in range(TERMS, 0, -1):
        step = node.let(real_product(node, small, found))
        found = node.let(ones + step * node.number(1 / number, self))

    def body(there: Node, number: Expr, state: list[Expr]) -> tuple[list[Expr], list[Expr]]:
        squared = there.let(real_product(there, state[0], state[0]))
        return [there.let(op.where(op.less(number, times), squared, state[0]))], []

    most = node.let(op.max(times))
    (found,), _ = counted(node, body, most, dims.ANY, [found])  # type: ignore[arg-type]
    return found
