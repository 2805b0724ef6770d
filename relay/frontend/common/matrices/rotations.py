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
from relay.frontend.common.matrices.reflections import (
    first_rows,
    identity_like,
    orthogonal,
    reflected,
)
from relay.frontend.common.products import product
from relay.immutable import frozen
from relay.ir.expr import Expr, const

ROUNDS = 12  # after which columns are orthogonal: the error is squared in each of the last ones


@frozen
class Spectrum:
    """U (…, m, m or k), S (…, k) from the largest to the smallest, and V (…, n, n or k)."""

    left: Expr
    values: Expr
    right: Expr


def singular(node: Builder, matrix: Expr, *, full: bool = False) -> Spectrum:
    """The singular values of matrices, with their vectors as columns."""
    rank = node.rank(matrix)
    height, width = (node.static_extent(matrix, axis, "a matrix") for axis in (-2, -1))
    if height < width:
        found = singular(node, _transposed(node, matrix), full=full)
        return Spectrum(found.right, found.values, found.left)
    if 0 in node.shape(matrix):
        none = node.let(op.sum(matrix, axis=(-2,)))
        left = identity_like(node, matrix, height if full else width)
        empty = node.let(
            op.zeros_like(op.expand_dims(none, rank - 1)) + op.expand_dims(none, rank - 2)
        )
        return Spectrum(left, none, empty)
    images, turned = orthogonalized(node, matrix)
    sizes = node.let(op.sqrt(op.sum(images * images, axis=(rank - 2,))))
    order = node.let(op.argsort(sizes, axis=rank - 2, is_ascend=False, dtype="int64"))
    values = node.let(op.gather(sizes, rank - 2, order))
    images, right = (columns_by(node, one, order) for one in (images, turned))
    triangle, reflections = reflected(node, images)
    left = orthogonal(node, reflections, height if full else width)
    return Spectrum(_with_signs(node, left, triangle, width), values, right)


def symmetric(node: Builder, matrix: Expr) -> tuple[Expr, Expr]:
    """The eigenvalues of symmetric matrices in ascending order, and their vectors as columns."""
    rank = node.rank(matrix)
    if 0 in node.shape(matrix):
        return node.let(op.sum(matrix, axis=(-1,))), matrix
    width = node.static_extent(matrix, -1, "a matrix")
    # without negative eigenvalues, so that singular vectors are those of eigenvalues
    size = op.sqrt(op.sum(matrix * matrix, axis=(rank - 2, rank - 1), keepdims=True))
    positive = node.let(matrix + size * identity_like(node, matrix, width))
    _, turned = orthogonalized(node, positive)
    images = node.let(product(node, matrix, turned))
    values = node.let(op.sum(turned * images, axis=(rank - 2,)))
    order = node.let(op.argsort(values, axis=rank - 2, dtype="int64"))
    return node.let(op.gather(values, rank - 2, order)), columns_by(node, turned, order)


def orthogonalized(node: Builder, matrix: Expr) -> tuple[Expr, Expr]:
    """A V with orthogonal columns, and V, for matrices with elements."""
    rank = node.rank(matrix)
    height, width = (node.static_extent(matrix, axis, "a matrix") for axis in (-2, -1))
    if width == 1:
        return matrix, identity_like(node, first_rows(node, matrix, 1), 1)
    if width % 2:
        zeros = op.zeros_like(op.strided_slice(matrix, [0], [1], axes=(rank - 1,)))
        matrix = node.let(op.concatenate([matrix, zeros], axis=rank - 1))
    even = width + width % 2
    square = const(np.eye(even), node.dtype(matrix))
    start = node.let(op.zeros_like(first_rows(node, matrix, 1)) + square)
    both = node.let(op.concatenate([matrix, start], axis=rank - 2))
    following = int64(_next_pairs(even // 2))
    zero, one, two = (node.number(value, matrix) for value in (0, 1, 2))
    small = node.number(np.finfo(dtypes.to_numpy(node.dtype(matrix))).eps / 4, matrix)

    def body(there: Builder, number: Expr, state: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        (both,) = state
        first, second = (
            there.let(op.strided_slice(both, [side], [even], [2], axes=(rank - 1,)))
            for side in (0, 1)
        )
        top, other = (first_rows(there, side, height) for side in (first, second))
        sizes, others, between = (
            there.let(op.sum(pair[0] * pair[1], axis=(rank - 2,), keepdims=True))
            for pair in ((top, top), (other, other), (top, other))
        )
        limit = small * op.sqrt(sizes) * op.sqrt(others)
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
    images = first_rows(node, found, height)
    turned = op.strided_slice(found, [height], [height + width], axes=(rank - 2,))
    return images, node.let(turned)


def _next_pairs(count: int) -> list[int]:
    """Where the columns of the next turn come from: all but the first move on by one seat."""
    left, right = [*range(count)], [*range(count, 2 * count)]
    if count > 1:
        left, right = (
            [left[0], right[0], *left[1:-1]],
            [*right[1:], left[-1]],
        )
    return [place for pair in zip(left, right, strict=True) for place in pair]


def columns_by(node: Builder, matrix: Expr, order: Expr) -> Expr:
    """The columns of matrices in an order of each of them."""
    rank = node.rank(matrix)
    zeros = op.cast(op.zeros_like(matrix), "int64")
    places = node.let(op.expand_dims(order, rank - 2) + zeros)
    return node.let(op.gather(matrix, rank - 1, places))


def _with_signs(node: Builder, left: Expr, triangle: Expr, width: int) -> Expr:
    """Columns with the signs of the diagonal of a triangle."""
    rank = node.rank(left)
    rows, columns = node.positions(triangle, -2), node.positions(triangle, -1)
    same = op.equal(op.expand_dims(rows, 1), op.expand_dims(columns, 0))
    zero, one = node.number(0, left), node.number(1, left)
    diagonal = op.sum(op.where(same, triangle, zero), axis=(rank - 2,), keepdims=True)
    signs = node.let(op.where(op.less(diagonal, zero), zero - one, one))
    whole = node.static_extent(left, -1, "a matrix")
    if whole == width:
        return node.let(left * signs)
    parts = [
        op.strided_slice(left, [begin], [end], axes=(rank - 1,))
        for begin, end in ((0, width), (width, whole))
    ]
    return node.let(op.concatenate([parts[0] * signs, parts[1]], axis=rank - 1))


def _transposed(node: Builder, matrix: Expr) -> Expr:
    order = [*range(node.rank(matrix))]
    order[-2:] = reversed(order[-2:])
    return node.let(op.transpose(matrix, order))
