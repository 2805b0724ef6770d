"""Matrices: determinants, inverses, solutions of linear equations, factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.matrices.numbers import real
from relay.frontend.common.matrices.reflections import factors_of
from relay.frontend.common.matrices.rotations import singular, symmetric
from relay.frontend.common.matrices.triangles import inverse_of_triangle, triangle_of
from relay.frontend.common.products import product
from relay.frontend.keras.converters import Operations
from relay.frontend.keras.node import Node
from relay.frontend.keras.promotion import floating, promoted
from relay.ir.expr import Expr, const

table = Operations()


def swapped(node: Node, matrix: Expr) -> Expr:
    rank = node.rank(matrix)
    return node.let(op.transpose(matrix, [*range(rank - 2), rank - 1, rank - 2]))


@table("linalg.Det")
def det(node: Node, x: Expr) -> Expr:
    return op.determinant(floating(node, x))


@table("linalg.Inv")
def inv(node: Node, x: Expr) -> Expr:
    return op.matrix_inverse(floating(node, x))


@table("numpy.Slogdet")
def slogdet(node: Node, x: Expr) -> list[Expr]:
    found = node.let(op.determinant(floating(node, x)))
    return [op.sign(found), op.log(op.abs(found))]


@table("math.Logdet")
def logdet(node: Node, x: Expr) -> Expr:
    """Of positive definite matrices, as twice the logarithms of the diagonal of the factor."""
    factor = triangle_of(node, floating(node, x))
    size = node.static_extent(factor, -1, "the size of matrices")
    on_diagonal = const(np.eye(size), node.dtype(factor))
    diagonal = node.let(op.sum(factor * on_diagonal, axis=(-1,)))
    return node.number(2, factor) * op.sum(op.log(diagonal), axis=(-1,))


@table("linalg.Solve")
def solve(node: Node, a: Any, b: Any) -> Expr:
    return _applied(node, node.let(op.matrix_inverse(_floats(node, a, b)[0])), a, b)


@table("linalg.SolveTriangular")
def solve_triangular(node: Node, a: Any, b: Any) -> Expr:
    matrix, _ = _floats(node, a, b)
    upper = not node.option("lower", False)
    return _applied(node, inverse_of_triangle(node, real(matrix), upper=upper).real, a, b)


def _floats(node: Node, a: Any, b: Any) -> list[Expr]:
    return [floating(node, one) for one in promoted(node, a, b)]


def _applied(node: Node, inverse: Expr, a: Any, b: Any) -> Expr:
    """The inverse times columns, or times one vector."""
    _, right = _floats(node, a, b)
    if node.rank(right) == node.rank(inverse):
        return product(node, inverse, right)
    column = node.let(op.expand_dims(right, node.rank(right)))
    return op.squeeze(node.let(product(node, inverse, column)), (-1,))


@table("linalg.Cholesky")
def cholesky(node: Node, x: Expr) -> Expr:
    found = triangle_of(node, floating(node, x))
    return swapped(node, found) if node.option("upper", False) else found


@table("linalg.CholeskyInverse")
def cholesky_inverse(node: Node, x: Expr) -> Expr:
    """The inverse of the matrix that a triangle is the factor of."""
    data, upper = floating(node, x), bool(node.option("upper", False))
    factor = inverse_of_triangle(node, real(data), upper=upper).real
    other = swapped(node, factor)
    return product(node, factor, other) if upper else product(node, other, factor)


@table("linalg.Qr")
def qr(node: Node, x: Expr) -> list[Expr]:
    mode = node.option("mode", "reduced")
    if mode not in ("reduced", "complete"):
        raise node.refused("there is no such mode", "reduced or complete", mode)
    found = factors_of(node, real(floating(node, x)), complete=mode == "complete")
    return [one.real for one in found]


@table("linalg.Eigh")
def eigh(node: Node, x: Expr) -> list[Expr]:
    values, vectors = symmetric(node, real(floating(node, x)))
    return [values, vectors.real]


@table("linalg.SVD")
def svd(node: Node, x: Expr) -> Any:
    data = floating(node, x)
    found = singular(node, real(data), full=node.option("full_matrices", True))
    if not node.option("compute_uv", True):
        return found.values
    return [found.left.real, found.values, swapped(node, found.right.real)]


def _pseudo_inverse(node: Node, data: Expr) -> Expr:
    """By singular values, of which small ones count as zeros."""
    height, width = (node.static_extent(data, axis, "the size of matrices") for axis in (-2, -1))
    given = node.config.get("rcond")
    step = float(np.finfo("float32" if node.dtype(data) != "float64" else "float64").eps)
    least = float(given) if isinstance(given, int | float) else max(height, width) * step
    found = singular(node, real(data))
    u, s, v = found.left.real, found.values, found.right.real
    edge = node.let(op.max(s, axis=(-1,), keepdims=True) * node.number(least, s))
    held = node.let(op.greater(s, edge))
    zero, one = node.number(0, s), node.number(1, s)
    factors = node.let(op.where(held, one / op.where(held, s, one), zero))
    scaled = node.let(v * op.expand_dims(factors, node.rank(s) - 1))
    return node.let(product(node, scaled, swapped(node, u)))


@table("linalg.Pinv")
def pinv(node: Node, x: Expr) -> Expr:
    return _pseudo_inverse(node, floating(node, x))


@table("linalg.Lstsq")
def lstsq(node: Node, a: Any, b: Any) -> Expr:
    return _applied(node, _pseudo_inverse(node, _floats(node, a, b)[0]), a, b)


@table("linalg.MatrixRank")
def matrix_rank(node: Node, x: Expr) -> Expr:
    data = floating(node, x)
    height, width = (node.static_extent(data, axis, "the size of matrices") for axis in (-2, -1))
    s = singular(node, real(data)).values
    given = node.config.get("tol")
    step = float(np.finfo("float32" if node.dtype(data) != "float64" else "float64").eps)
    edge = (
        node.number(float(given), s)
        if isinstance(given, int | float)
        else node.let(
            op.max(s, axis=(-1,), keepdims=True) * node.number(max(height, width) * step, s)
        )
    )
    return op.sum(op.cast(op.greater(s, edge), "int32"), axis=(-1,))


@table("numpy.Kron")
def kron(node: Node, x1: Any, x2: Any) -> Expr:
    left, right = promoted(node, x1, x2)
    rank = max(node.rank(left), node.rank(right))
    shapes = []
    for one in (left, right):
        shape = node.static_shape(one, "a factor")
        shapes.append((1,) * (rank - len(shape)) + tuple(shape))
    tall = tuple(size for pair in zip(shapes[0], (1,) * rank, strict=True) for size in pair)
    wide = tuple(size for pair in zip((1,) * rank, shapes[1], strict=True) for size in pair)
    whole = node.let(op.reshape(left, tall) * op.reshape(right, wide))
    return op.reshape(whole, tuple(a * b for a, b in zip(*shapes, strict=True)))


@table("numpy.Cross")
def cross(node: Node, x1: Any, x2: Any) -> Expr:
    """Vectors of three elements; those of two have a third one of zero."""
    left, right = promoted(node, x1, x2)
    axis = node.config.get("axis")
    names = ("axisa", "axisb", "axisc")
    a, b, c = (node.option(name, -1) if axis is None else int(axis) for name in names)
    sides = []
    for one, along in ((left, a), (right, b)):
        place = node.axis_of(along, node.rank(one))
        count = node.static_extent(one, place, "the size of vectors")
        if count not in (2, 3):
            raise node.refused("vectors have other sizes", "2 or 3", str(count))
        parts = [node.let(op.take(one, int64(at), axis=place)) for at in range(count)]
        sides.append((*parts, None)[:3])
    (x, y, z), (u, v, w) = sides
    last = node.let(x * v - y * u)  # type: ignore[operator]
    if z is None and w is None:
        return last
    zero = node.let(op.zeros_like(x))
    z, w = zero if z is None else z, zero if w is None else w
    found = [node.let(y * w - z * v), node.let(z * u - x * w), last]  # type: ignore[operator]
    return op.stack(found, axis=node.axis_of(c, node.rank(last) + 1))


@table("numpy.Vander")
def vander(node: Node, x: Expr) -> Expr:
    count = node.config.get("N")
    count = node.static_extent(x, 0, "how many powers there are") if count is None else int(count)
    data = node.as_dtype(x, "int32") if node.dtype(x) == "bool" else x
    columns = [node.let(op.ones_like(data))]
    for _ in range(count - 1):
        columns.append(node.let(columns[-1] * data))
    ordered = columns if node.option("increasing", False) else columns[::-1]
    return op.stack(ordered[:count], axis=1)


@table("math.CDist")
def cdist(node: Node, x: Any, y: Any) -> Expr:
    left, right = _floats(node, x, y)
    rank = node.rank(left)
    apart = node.let(op.expand_dims(left, rank - 1) - op.expand_dims(right, rank - 2))
    return op.sqrt(op.sum(apart * apart, axis=(-1,)))
