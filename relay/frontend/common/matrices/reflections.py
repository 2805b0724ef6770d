"""Factors of matrices by Householder's reflections: A = Q R.

A reflection is `1 - factor * v v*`; its vector v is 0 above a place on the diagonal, and 1 there.
Q is the product of the reflections, the first one on the left. Signs are those of LAPACK.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.builder import Builder, int64
from relay.frontend.common.loops import counted
from relay.frontend.common.matrices.numbers import (
    Numbers,
    conjugate,
    divided,
    minus,
    number,
    plus,
    real,
    squares,
    times,
    where,
    with_zeros,
)
from relay.immutable import frozen
from relay.ir.expr import Expr


@frozen
class Reflections:
    """Vectors as columns, (…, m, k), and their factors, (…, k)."""

    vectors: Numbers
    factors: Numbers


def reflected(node: Builder, given: Numbers) -> tuple[Numbers, Reflections]:
    """The upper triangle R, in the shape of the matrix, and the reflections; a column per turn."""
    matrix = given.real
    rank, kind = node.rank(matrix), len(given.parts)
    height, width = (node.static_extent(matrix, axis, "a matrix") for axis in (-2, -1))
    count = min(height, width)
    rows, columns = node.positions(matrix, -2), node.positions(matrix, -1)
    zero, one = node.number(0, matrix), node.number(1, matrix)
    vectors = first_columns(node, given, count).each(node, op.zeros_like)
    if 0 in node.shape(matrix):
        return given, Reflections(vectors, _diagonal(node, vectors))
    places = node.positions(vectors.real, -1)
    zeros, ones = number(node, 0, given), number(node, 1, given)

    def body(there: Builder, turn: Expr, state: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        rest, vectors, factors = (
            Numbers(tuple(state[first : first + kind])) for first in (0, kind, 2 * kind)
        )
        column = rest.each(there, lambda part: op.take(part, turn, axis=rank - 1))
        first = column.each(there, lambda part: op.take(part, turn, axis=rank - 2))
        tail = where(there, there.let(op.greater(rows, turn)), column, zeros)
        size = there.let(op.sum(squares(there, tail), axis=(rank - 2,)))
        length = there.let(op.sqrt(squares(there, first) + size))
        end = there.let(op.where(op.less(first.real, zero), length, zero - length))
        is_flat = there.let(op.equal(size, zero))
        for part in first.parts[1:]:
            is_flat = there.let(op.logical_and(is_flat, op.equal(part, zero)))
        scale = minus(there, first, with_zeros(there, end, first))
        divisor = real(there.let(op.negative(op.where(is_flat, one, end))))
        factor = where(there, is_flat, zeros, divided(there, scale, divisor))
        scale = where(there, is_flat, ones, scale)
        scale = scale.each(there, lambda part: op.expand_dims(part, rank - 2))
        is_first = there.let(op.equal(rows, turn))
        vector = where(there, is_first, ones, divided(there, tail, scale))
        rest = _turned(there, rest, vector, conjugate(there, factor))
        is_own = there.let(op.equal(places, turn))
        wide = vector.each(there, lambda part: op.expand_dims(part, rank - 1))
        vectors = where(there, is_own, wide, vectors)
        wide = factor.each(there, lambda part: op.expand_dims(part, rank - 2))
        factors = where(there, is_own, wide, factors)
        return [*rest.parts, *vectors.parts, *factors.parts], []

    begin = [*given.parts, *vectors.parts, *_diagonal(node, vectors).parts]
    found, _ = counted(node, body, int64(count), count, begin)
    rest, vectors, factors = (
        Numbers(tuple(found[first : first + kind])) for first in (0, kind, 2 * kind)
    )
    inside = node.let(op.greater_equal(op.expand_dims(columns, 0), op.expand_dims(rows, 1)))
    return where(node, inside, rest, zeros), Reflections(vectors, factors)


def factors_of(
    node: Builder, matrix: Numbers, *, complete: bool = False
) -> tuple[Numbers, Numbers]:
    """Q and R: with as many columns and rows as the shorter side of the matrix, or a square Q."""
    height, width = (node.static_extent(matrix.real, axis, "a matrix") for axis in (-2, -1))
    triangle, reflections = reflected(node, matrix)
    count = height if complete else min(height, width)
    return orthogonal(node, reflections, count), first_rows(node, triangle, count)


def applied(
    node: Builder, reflections: Reflections, data: Numbers, *, adjoint: bool = False
) -> Numbers:
    """Q times data, or the adjoint of Q."""
    vectors, factors = reflections.vectors, reflections.factors
    rank = node.rank(vectors.real)
    count = node.static_extent(vectors.real, -1, "the number of reflections")
    if not count or 0 in node.shape(vectors.real):
        return data

    def body(there: Builder, turn: Expr, state: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        place = turn if adjoint else there.let(int64(count - 1) - turn)
        vector = vectors.each(there, lambda part: op.take(part, place, axis=rank - 1))
        factor = factors.each(there, lambda part: op.take(part, place, axis=rank - 2))
        factor = conjugate(there, factor) if adjoint else factor
        return [*_turned(there, Numbers(tuple(state)), vector, factor).parts], []

    found, _ = counted(node, body, int64(count), count, [*data.parts])
    return Numbers(tuple(found))


def orthogonal(node: Builder, reflections: Reflections, count: int) -> Numbers:
    """The first columns of Q."""
    vectors = reflections.vectors
    return applied(node, reflections, identity(node, vectors, count))


def packed(node: Builder, triangle: Numbers, reflections: Reflections) -> Numbers:
    """The triangle with the vectors below it, as LAPACK has them."""
    count = node.static_extent(reflections.vectors.real, -1, "the number of reflections")
    width = node.static_extent(triangle.real, -1, "a matrix")
    below = below_diagonal(node, reflections.vectors)
    left = plus(node, below, first_columns(node, triangle, count))
    if count == width:
        return left
    axis = node.rank(triangle.real) - 1
    rest = triangle.each(node, lambda part: op.strided_slice(part, [count], [width], axes=(axis,)))
    pairs = zip(left.parts, rest.parts, strict=True)
    return Numbers(tuple(node.let(op.concatenate(pair, axis=-1)) for pair in pairs))


def unpacked(node: Builder, matrix: Numbers, factors: Numbers) -> Reflections:
    """The reflections below the diagonal of a matrix, as many as there are factors."""
    count = node.static_extent(factors.real, -1, "the number of reflections")
    left = first_columns(node, matrix, count)
    vectors = plus(node, below_diagonal(node, left), identity(node, left, count))
    return Reflections(vectors, factors)


def identity(node: Builder, matrix: Numbers, count: int) -> Numbers:
    """The first columns of an identity, of the kind of a matrix and with its rows."""
    return with_zeros(node, identity_like(node, matrix.real, count), matrix)


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
        zeros = op.zeros_like(first_columns(node, real(matrix), 1).real)
    return node.let(zeros + ones)


def below_diagonal(node: Builder, matrix: Numbers) -> Numbers:
    """The part of matrices below the diagonal, with zeros elsewhere."""
    rows, columns = node.positions(matrix.real, -2), node.positions(matrix.real, -1)
    inside = node.let(op.greater(op.expand_dims(rows, 1), op.expand_dims(columns, 0)))
    return where(node, inside, matrix, number(node, 0, matrix))


def first_columns(node: Builder, matrix: Numbers, count: int) -> Numbers:
    """The first columns of matrices."""
    return _first(node, matrix, count, -1)


def first_rows(node: Builder, matrix: Numbers, count: int) -> Numbers:
    """The first rows of matrices."""
    return _first(node, matrix, count, -2)


def _first(node: Builder, matrix: Numbers, count: int, axis: int) -> Numbers:
    if node.shape(matrix.real)[axis] == count:
        return matrix
    axes = (node.rank(matrix.real) + axis,)
    return matrix.each(node, lambda part: op.strided_slice(part, [0], [count], axes=axes))


def _turned(there: Builder, data: Numbers, vector: Numbers, factor: Numbers) -> Numbers:
    """A reflection of data."""
    rank = there.rank(vector.real) + 1
    tall = vector.each(there, lambda part: op.expand_dims(part, rank - 1))
    shares = times(there, conjugate(there, tall), data)
    along = shares.each(there, lambda part: op.sum(part, axis=(rank - 2,), keepdims=True))
    scale = factor.each(there, lambda part: op.expand_dims(part, rank - 2, 2))
    return minus(there, data, times(there, times(there, scale, tall), along))


def _diagonal(node: Builder, vectors: Numbers) -> Numbers:
    """0 for each column."""
    return vectors.each(node, lambda part: op.zeros_like(op.sum(part, axis=(-2,))))
