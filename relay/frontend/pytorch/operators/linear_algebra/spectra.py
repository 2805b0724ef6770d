"""Singular values and eigenvalues, and what is made of them: pseudo-inverses, exponentials."""

from __future__ import annotations

import math

import numpy as np

from relay import dtypes, op
from relay.frontend.common.loops import counted
from relay.frontend.common.matrices.reflections import identity_like
from relay.frontend.common.matrices.rotations import singular, symmetric
from relay.frontend.common.products import product
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.operators.linear_algebra.equations import inverse
from relay.frontend.pytorch.shapes import swapped
from relay.ir import dims
from relay.ir.expr import Expr

table = Converters()


@table("_linalg_svd")
def svd(
    node: Node,
    A: Expr,
    full_matrices: bool = False,
    compute_uv: bool = True,
    *,
    driver: str | None = None,
) -> list[Expr]:
    found = singular(node, A, full=full_matrices)
    none = node.zeros((0,), node.dtype(A))
    if not compute_uv:
        return [none, found.values, none]
    return [found.left, found.values, swapped(node, found.right)]


@table("_linalg_eigh")
def eigh(node: Node, A: Expr, UPLO: str = "L", compute_v: bool = True) -> list[Expr]:
    values, vectors = symmetric(node, _by_triangle(node, A, upper=UPLO.upper() == "U"))
    return [values, vectors if compute_v else node.zeros((0,), node.dtype(A))]


def _by_triangle(node: Node, matrix: Expr, *, upper: bool) -> Expr:
    """The symmetric matrix with a triangle."""
    rows, columns = node.positions(matrix, -2), node.positions(matrix, -1)
    inside = op.greater_equal(op.expand_dims(rows, 1), op.expand_dims(columns, 0))
    other = swapped(node, matrix)
    pair = (other, matrix) if upper else (matrix, other)
    return node.let(op.where(inside, *pair))


@table("linalg_pinv.atol_rtol_tensor")
def pinv(
    node: Node,
    self: Expr,
    *,
    atol: Expr | None = None,
    rtol: Expr | None = None,
    hermitian: bool = False,
) -> Expr:
    """The pseudo-inverse: values up to the larger tolerance count as 0."""
    height, width = (node.static_extent(self, axis, "a matrix") for axis in (-2, -1))
    if not height or not width:
        return swapped(node, self)
    if hermitian:
        values, left = symmetric(node, _by_triangle(node, self, upper=False))
        right = left
    else:
        found = singular(node, self)
        left, values, right = found.left, found.values, found.right
    sizes = node.let(op.abs(values))
    last = node.rank(sizes) - 1
    zero = node.number(0, self)
    absolute = zero if atol is None else _beside(node, atol, sizes)
    if rtol is None:
        eps = float(np.finfo(dtypes.to_numpy(node.dtype(self))).eps)
        relative: Expr = node.number(eps * max(height, width), self)
        if atol is not None:
            relative = op.where(op.greater(absolute, zero), zero, relative)
    else:
        relative = _beside(node, rtol, sizes)
    largest = op.max(sizes, axis=(last,), keepdims=True)
    limit = node.let(op.maximum(absolute, relative * largest))
    counts = node.let(op.greater(sizes, limit))
    one = node.number(1, self)
    shares = op.where(counts, one / op.where(counts, values, one), zero)
    scaled = node.let(right * op.expand_dims(shares, last))
    return product(node, scaled, swapped(node, left))


def _beside(node: Node, value: Expr, sizes: Expr) -> Expr:
    """A number for each matrix, as a column beside its values."""
    number = node.as_dtype(value, node.dtype(sizes))
    return node.let(op.expand_dims(number, node.rank(number))) if node.rank(number) else number


@table("linalg_tensorinv")
def tensorinv(node: Node, self: Expr, ind: int = 2) -> Expr:
    shape = node.static_shape(self, "the tensor")
    first, rest = shape[:ind], shape[ind:]
    matrix = node.let(op.reshape(self, (math.prod(first), math.prod(rest))))
    return op.reshape(node.let(inverse(node, matrix)), (*rest, *first))


TERMS = 14  # of the series of exp, for matrices of a norm up to 1 / 2


@table("linalg_matrix_exp", "matrix_exp")
def matrix_exp(node: Node, self: Expr) -> Expr:
    """The series for a matrix halved until it is small, squared as often."""
    rank, dtype = node.rank(self), node.dtype(self)
    width = node.static_extent(self, -1, "a matrix")
    if 0 in node.shape(self):
        return self
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
        step = node.let(product(node, small, found))
        found = node.let(ones + step * node.number(1 / number, self))

    def body(there: Node, number: Expr, state: list[Expr]) -> tuple[list[Expr], list[Expr]]:
        squared = there.let(product(there, state[0], state[0]))
        return [there.let(op.where(op.less(number, times), squared, state[0]))], []

    most = node.let(op.max(times))
    (found,), _ = counted(node, body, most, dims.ANY, [found])  # type: ignore[arg-type]
    return found
