"""Singular values and eigenvalues by Jacobi's rotations, of all pairs of columns in turn.

A turn makes the columns of half as many disjoint pairs as there are columns orthogonal to each
other; pairs change as in a round-robin tournament. After some rounds all columns are orthogonal:
A V = U S.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import dtypes, op
from relay.frontend.common.builder import Builder, int64
from relay.frontend.common.loops import counted
from relay.frontend.common.matrices.numbers import (
    Numbers,
    adjoint,
    number,
    plus,
    product,
    real,
    times,
    where,
)
from relay.frontend.common.matrices.reflections import identity, orthogonal, reflected
from relay.immutable import frozen
from relay.ir.expr import Expr, const

ROUNDS = 12  # after which columns are orthogonal: the error is squared in each of the last ones


@frozen
class Spectrum:
    """U (…, m, m or k), S (…, k) from the largest to the smallest, and V (…, n, n or k)."""

    left: Numbers
    values: Expr
    right: Numbers


def singular(node: Builder, matrix: Numbers, *, full: bool = False) -> Spectrum:
    """The singular values of matrices, with their vectors as columns."""
    rank = node.rank(matrix.real)
    height, width = (node.static_extent(matrix.real, axis, "a matrix") for axis in (-2, -1))
    if height < width:
        found = singular(node, adjoint(node, matrix), full=full)
        return Spectrum(found.right, found.values, found.left)
    if 0 in node.shape(matrix.real):
        none = node.let(op.sum(matrix.real, axis=(-2,)))
        left = identity(node, matrix, height if full else width)
        empty = matrix.each(node, lambda part: _square(op.sum(part, axis=(-2,)), rank))
        return Spectrum(left, none, empty)
    images, turned = orthogonalized(node, matrix)
    squares = [op.sum(part * part, axis=(rank - 2,)) for part in images.parts]
    sizes = node.let(op.sqrt(squares[0] if len(squares) == 1 else squares[0] + squares[1]))
    order = node.let(op.argsort(sizes, axis=rank - 2, is_ascend=False, dtype="int64"))
    values = node.let(op.gather(sizes, rank - 2, order))
    images, right = (columns_by(node, one, order) for one in (images, turned))
    triangle, reflections = reflected(node, images)
    left = orthogonal(node, reflections, height if full else width)
    return Spectrum(_with_signs(node, left, triangle.real, width), values, right)


def _square(row: Expr, rank: int) -> Expr:
    """No rows and no columns for each matrix."""
    return op.zeros_like(op.expand_dims(row, rank - 1) + op.expand_dims(row, rank - 2))


def symmetric(node: Builder, matrix: Numbers) -> tuple[Expr, Numbers]:
    """The eigenvalues of symmetric matrices, of complex numbers Hermitian ones, in ascending order,
    and their vectors as columns."""
    rank = node.rank(matrix.real)
    if 0 in node.shape(matrix.real):
        return node.let(op.sum(matrix.real, axis=(-1,))), matrix
    width = node.static_extent(matrix.real, -1, "a matrix")
    # without negative eigenvalues, so that singular vectors are those of eigenvalues
    size = node.let(_total(node, matrix, matrix, (rank - 2, rank - 1)))
    size = node.let(op.sqrt(op.expand_dims(size, rank - 2, 2)))
    positive = plus(node, matrix, times(node, identity(node, matrix, width), real(size)))
    _, turned = orthogonalized(node, positive)
    values = node.let(_total(node, turned, product(node, matrix, turned), (rank - 2,)))
    order = node.let(op.argsort(values, axis=rank - 2, dtype="int64"))
    return node.let(op.gather(values, rank - 2, order)), columns_by(node, turned, order)


def _total(node: Builder, one: Numbers, other: Numbers, axes: tuple[int, ...]) -> Expr:
    """The real part of the sums of products with conjugate numbers."""
    pairs = zip(one.parts, other.parts, strict=True)
    found = [node.let(op.sum(a * b, axis=axes)) for a, b in pairs]
    return node.let(found[0] + found[1]) if len(found) == 2 else found[0]


def orthogonalized(node: Builder, matrix: Numbers) -> tuple[Numbers, Numbers]:
    """A V with orthogonal columns, and V, for matrices with elements."""
    rank = node.rank(matrix.real)
    height, width = (node.static_extent(matrix.real, axis, "a matrix") for axis in (-2, -1))
    if width == 1:
        first = matrix.each(node, lambda part: op.strided_slice(part, [0], [1], axes=(rank - 2,)))
        return matrix, identity(node, first, 1)
    if width % 2:
        column = op.strided_slice(matrix.real, [0], [1], axes=(rank - 1,))
        zeros = node.let(op.zeros_like(column))
        matrix = matrix.each(node, lambda part: op.concatenate([part, zeros], axis=rank - 1))
    even = width + width % 2
    # all rows of one tensor: those of A, then those of V, and below them imaginary parts
    count, rows = len(matrix.parts), height + even
    row = op.zeros_like(op.strided_slice(matrix.real, [0], [1], axes=(rank - 2,)))
    blocks: list[Expr] = []
    for place, part in enumerate(matrix.parts):
        square = const(np.zeros((even, even)) if place else np.eye(even), node.dtype(part))
        blocks += [part, node.let(row + square)]
    both = node.let(op.concatenate(blocks, axis=rank - 2))
    following = int64(_next_pairs(even // 2))
    zero, one, two = (node.number(value, matrix.real) for value in (0, 1, 2))
    small = node.number(np.finfo(dtypes.to_numpy(node.dtype(matrix.real))).eps / 4, matrix.real)

    def split(there: Builder, data: Expr, end: int) -> Numbers:
        """The first of the rows of each part."""
        begins = [rows * place for place in range(count)]
        slices = [
            op.strided_slice(data, [first], [first + end], axes=(rank - 2,)) for first in begins
        ]
        return Numbers(tuple(map(there.let, slices)))

    def body(there: Builder, turn: Expr, state: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        (both,) = state
        first, second = (
            there.let(op.strided_slice(both, [side], [even], [2], axes=(rank - 1,)))
            for side in (0, 1)
        )
        top, other = (split(there, side, height) for side in (first, second))

        def along(a: Numbers, b: Numbers) -> Expr:
            total = _total(there, a, b, (rank - 2,))
            return there.let(op.expand_dims(total, rank - 2))

        sizes, others, between = along(top, top), along(other, other), along(top, other)
        limit = small * op.sqrt(sizes) * op.sqrt(others)
        if matrix.is_complex:  # a factor of size 1 makes the product of two columns real
            turned = Numbers((other.parts[1], there.let(op.negative(other.real))))
            apart = along(top, turned)  # the imaginary part
            length = there.let(op.sqrt(between * between + apart * apart))
            is_done = there.let(op.less_equal(length, limit))
            safe = op.where(is_done, one, length)
            factor = Numbers((there.let(between / safe), there.let(op.negative(apart) / safe)))
            factor = where(there, is_done, number(there, 1, factor), factor)
            parts = times(there, split(there, second, rows), factor).parts
            second, between = there.let(op.concatenate(parts, axis=rank - 2)), length
        else:
            is_done = there.let(op.less_equal(op.abs(between), limit))
        ratio = there.let((others - sizes) / (two * op.where(is_done, one, between)))
        sign = op.where(op.less(ratio, zero), zero - one, one)
        tangent = there.let(sign / (op.abs(ratio) + op.sqrt(one + ratio * ratio)))
        tangent = there.let(op.where(is_done, zero, tangent))
        cosine = there.let(one / op.sqrt(one + tangent * tangent))
        sine = there.let(cosine * tangent)
        pairs = [cosine * first - sine * second, sine * first + cosine * second]
        joined = there.let(op.concatenate(pairs, axis=rank - 1))
        return [there.let(op.take(joined, following, axis=rank - 1))], []

    turns = ROUNDS * (even - 1)
    (found,), _ = counted(node, body, int64(turns), turns, [both])
    found = node.let(op.strided_slice(found, [0], [width], axes=(rank - 1,)))
    below = node.let(op.strided_slice(found, [height], [count * rows], axes=(rank - 2,)))
    return split(node, found, height), split(node, below, width)


def _next_pairs(count: int) -> list[int]:
    """Where the columns of the next turn come from: all but the first move on by one seat."""
    left, right = [*range(count)], [*range(count, 2 * count)]
    if count > 1:
        left, right = (
            [left[0], right[0], *left[1:-1]],
            [*right[1:], left[-1]],
        )
    return [place for pair in zip(left, right, strict=True) for place in pair]


def columns_by(node: Builder, matrix: Numbers, order: Expr) -> Numbers:
    """The columns of matrices in an order of each of them."""
    rank = node.rank(matrix.real)
    zeros = op.cast(op.zeros_like(matrix.real), "int64")
    places = node.let(op.expand_dims(order, rank - 2) + zeros)
    return matrix.each(node, lambda part: op.gather(part, rank - 1, places))


def _with_signs(node: Builder, left: Numbers, triangle: Expr, width: int) -> Numbers:
    """Columns with the signs of the diagonal of a triangle, which is real."""
    rank = node.rank(triangle)
    rows, columns = node.positions(triangle, -2), node.positions(triangle, -1)
    same = op.equal(op.expand_dims(rows, 1), op.expand_dims(columns, 0))
    zero, one = node.number(0, triangle), node.number(1, triangle)
    diagonal = op.sum(op.where(same, triangle, zero), axis=(rank - 2,), keepdims=True)
    signs = node.let(op.where(op.less(diagonal, zero), zero - one, one))
    whole = node.static_extent(left.real, -1, "a matrix")
    if whole == width:
        return left.each(node, lambda part: part * signs)

    def some(part: Expr, begin: int, end: int) -> Expr:
        return op.strided_slice(part, [begin], [end], axes=(rank - 1,))

    return left.each(
        node,
        lambda part: op.concatenate(
            [some(part, 0, width) * signs, some(part, width, whole)], axis=rank - 1
        ),
    )
