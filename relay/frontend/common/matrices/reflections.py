"""Factors of matrices by Householder's reflections: A = Q R.

A reflection is `1 - factor * v v'`; its vector v is 0 above a place on the diagonal, and 1 there.
Q is the product of the reflections, the first one on the left. Signs are those of LAPACK.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.builder import Builder, int64
from relay.frontend.common.loops import counted
from relay.immutable import frozen
from relay.ir.expr import Expr


@frozen
class Reflections:
    """Vectors as columns, (…, m, k), and their factors, (…, k)."""

    vectors: Expr
    factors: Expr


def reflected(node: Builder, matrix: Expr) -> tuple[Expr, Reflections]:
    """The upper triangle R, in the shape of the matrix, and the reflections; a column per turn."""
    rank = node.rank(matrix)
    height, width = (node.static_extent(matrix, axis, "a matrix") for axis in (-2, -1))
    count = min(height, width)
    rows, columns = node.positions(matrix, -2), node.positions(matrix, -1)
    zero, one = node.number(0, matrix), node.number(1, matrix)
    vectors = node.let(op.zeros_like(first_columns(node, matrix, count)))
    if 0 in node.shape(matrix):
        return matrix, Reflections(vectors, _diagonal(node, vectors))
    places = node.positions(vectors, -1)

    def body(there: Builder, number: Expr, state: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        rest, vectors, factors = state
        column = there.let(op.take(rest, number, axis=rank - 1))
        first = there.let(op.take(column, number, axis=rank - 2))
        tail = there.let(op.where(op.greater(rows, number), column, zero))
        size = there.let(op.sum(tail * tail, axis=(rank - 2,)))
        length = there.let(op.sqrt(first * first + size))
        end = there.let(op.where(op.less(first, zero), length, zero - length))
        is_flat = there.let(op.equal(size, zero))
        share = (end - first) / op.where(is_flat, one, end)
        factor = there.let(op.where(is_flat, zero, share))
        scale = op.expand_dims(op.where(is_flat, one, first - end), rank - 2)
        vector = there.let(op.where(op.equal(rows, number), one, tail / scale))
        rest = _turned(there, rest, vector, factor)
        is_own = op.equal(places, number)
        vectors = there.let(op.where(is_own, op.expand_dims(vector, rank - 1), vectors))
        factors = there.let(op.where(is_own, op.expand_dims(factor, rank - 2), factors))
        return [rest, vectors, factors], []

    begin = [matrix, vectors, _diagonal(node, vectors)]
    (rest, vectors, factors), _ = counted(node, body, int64(count), count, begin)
    inside = op.greater_equal(op.expand_dims(columns, 0), op.expand_dims(rows, 1))
    return node.let(op.where(inside, rest, zero)), Reflections(vectors, factors)


def factors_of(node: Builder, matrix: Expr, *, complete: bool = False) -> tuple[Expr, Expr]:
    """Q and R: with as many columns and rows as the shorter side of the matrix, or a square Q."""
    height, width = (node.static_extent(matrix, axis, "a matrix") for axis in (-2, -1))
    triangle, reflections = reflected(node, matrix)
    count = height if complete else min(height, width)
    return orthogonal(node, reflections, count), first_rows(node, triangle, count)


def applied(
    node: Builder, reflections: Reflections, data: Expr, *, transposed: bool = False
) -> Expr:
    """Q times data, or the transpose of Q."""
    vectors, factors = reflections.vectors, reflections.factors
    rank = node.rank(vectors)
    count = node.static_extent(vectors, -1, "the number of reflections")
    if not count or 0 in node.shape(vectors):
        return data

    def body(there: Builder, number: Expr, state: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        place = number if transposed else there.let(int64(count - 1) - number)
        vector = there.let(op.take(vectors, place, axis=rank - 1))
        factor = there.let(op.take(factors, place, axis=rank - 2))
        return [_turned(there, state[0], vector, factor)], []

    (found,), _ = counted(node, body, int64(count), count, [data])
    return found


def orthogonal(node: Builder, reflections: Reflections, count: int) -> Expr:
    """The first columns of Q."""
    return applied(node, reflections, identity_like(node, reflections.vectors, count))


def packed(node: Builder, triangle: Expr, reflections: Reflections) -> Expr:
    """The triangle with the vectors below it, as LAPACK has them."""
    count = node.static_extent(reflections.vectors, -1, "the number of reflections")
    width = node.static_extent(triangle, -1, "a matrix")
    left = node.let(
        below_diagonal(node, reflections.vectors) + first_columns(node, triangle, count)
    )
    if count == width:
        return left
    rest = op.strided_slice(triangle, [count], [width], axes=(node.rank(triangle) - 1,))
    return node.let(op.concatenate([left, rest], axis=-1))


def unpacked(node: Builder, matrix: Expr, factors: Expr) -> Reflections:
    """The reflections below the diagonal of a matrix, as many as there are factors."""
    count = node.static_extent(factors, -1, "the number of reflections")
    left = first_columns(node, matrix, count)
    vectors = below_diagonal(node, left) + identity_like(node, left, count)
    return Reflections(node.let(vectors), factors)


def identity_like(node: Builder, matrix: Expr, count: int) -> Expr:
    """The first columns of an identity with the rows of a matrix, for each matrix."""
    rows = node.positions(matrix, -2)
    columns = node.let(op.arange(int64(count), dtype="int64"))
    same = op.equal(op.expand_dims(rows, 1), op.expand_dims(columns, 0))
    ones = node.let(op.cast(same, node.dtype(matrix)))
    if node.rank(matrix) == 2:
        return ones
    if node.shape(matrix)[-1] == 0:
        zeros = op.zeros_like(op.sum(matrix, axis=(-1,), keepdims=True))
    else:
        zeros = op.zeros_like(first_columns(node, matrix, 1))
    return node.let(zeros + ones)


def below_diagonal(node: Builder, matrix: Expr) -> Expr:
    """The part of matrices below the diagonal, with zeros elsewhere."""
    rows, columns = node.positions(matrix, -2), node.positions(matrix, -1)
    inside = op.greater(op.expand_dims(rows, 1), op.expand_dims(columns, 0))
    return node.let(op.where(inside, matrix, node.number(0, matrix)))


def first_columns(node: Builder, matrix: Expr, count: int) -> Expr:
    """The first columns of matrices."""
    if node.shape(matrix)[-1] == count:
        return matrix
    return node.let(op.strided_slice(matrix, [0], [count], axes=(node.rank(matrix) - 1,)))


def first_rows(node: Builder, matrix: Expr, count: int) -> Expr:
    """The first rows of matrices."""
    if node.shape(matrix)[-2] == count:
        return matrix
    return node.let(op.strided_slice(matrix, [0], [count], axes=(node.rank(matrix) - 2,)))


def _turned(there: Builder, data: Expr, vector: Expr, factor: Expr) -> Expr:
    """A reflection of data."""
    rank = there.rank(vector) + 1
    tall = there.let(op.expand_dims(vector, rank - 1))
    along = there.let(op.sum(tall * data, axis=(rank - 2,), keepdims=True))
    scale = op.expand_dims(factor, rank - 2, 2)
    return there.let(data - scale * tall * along)


def _diagonal(node: Builder, vectors: Expr) -> Expr:
    """0 for each column."""
    return node.let(op.zeros_like(op.sum(vectors, axis=(-2,))))
