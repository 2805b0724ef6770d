"""Orthogonal factors of matrices: by Householder's reflections, and by Jacobi's rotations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import op
from relay.frontend.common.builder import Builder, int64
from relay.frontend.common.loops import counted
from relay.frontend.common.products import product
from relay.ir.expr import Expr, const

SWEEPS = 12  # over all pairs of columns; rotations converge quadratically


def _swapped(node: Builder, matrix: Expr) -> Expr:
    rank = node.rank(matrix)
    return node.let(op.transpose(matrix, [*range(rank - 2), rank - 1, rank - 2]))


def _unit(node: Builder, matrix: Expr, size: int) -> Expr:
    """Unit matrices beside matrices, as many as there are."""
    first = op.strided_slice(matrix, [0], [1], axes=(node.rank(matrix) - 1,))
    zero = op.sum(first, axis=(-2,), keepdims=True) * node.number(0, matrix)
    return node.let(node.let(zero) + const(np.eye(size), node.dtype(matrix)))


def qr(node: Builder, matrix: Expr, *, complete: bool) -> tuple[Expr, Expr]:
    """Q and R with Q R = matrix: column by column reflected to the diagonal."""
    height = node.static_extent(matrix, -2, "how many rows there are")
    width = node.static_extent(matrix, -1, "how many columns there are")
    count, rank = min(height, width), node.rank(matrix)
    rows = node.let(int64(np.arange(height)))

    def body(there: Builder, number: Expr, state: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        q, r = state
        zero, one = there.number(0, r), there.number(1, r)
        column = there.let(op.take(r, number, axis=rank - 1))
        below = there.let(op.where(op.greater(rows, number), column, zero))
        rest = there.let(op.sum(below * below, axis=(-1,), keepdims=True))
        pivot = there.let(op.expand_dims(op.take(column, number, axis=rank - 2), rank - 2))
        length = there.let(op.sqrt(pivot * pivot + rest))
        end = there.let(op.where(pivot < zero, length, op.negative(length)))
        head = op.where(op.equal(rows, number), pivot - end, below)
        nothing = there.let(op.equal(rest, zero))
        mirror = there.let(op.where(nothing, there.number(0, r), head))
        square = there.let(op.sum(mirror * mirror, axis=(-1,), keepdims=True))
        share = op.where(nothing, zero, there.number(2, r) / op.where(nothing, one, square))
        tall = there.let(op.expand_dims(mirror, rank - 1))
        wide = there.let(op.expand_dims(there.let(mirror * share), rank - 2))
        new_r = there.let(r - product(there, tall, there.let(product(there, wide, r))))
        new_q = there.let(q - product(there, there.let(product(there, q, tall)), wide))
        return [new_q, new_r], []

    begin = [_unit(node, _swapped(node, matrix), height), matrix]
    (q, r), _ = counted(node, body, int64(count), count, begin)
    upper = node.let(const(np.triu(np.ones((height, width))), node.dtype(matrix)))
    r = node.let(r * upper)
    if complete:
        return q, r
    q = node.let(op.strided_slice(q, [0], [count], axes=(rank - 1,)))
    return q, node.let(op.strided_slice(r, [0], [count], axes=(rank - 2,)))


def _pairs(count: int) -> np.ndarray:
    """All pairs of columns, sweep after sweep."""
    one = [(i, j) for i in range(count) for j in range(i + 1, count)]
    return np.asarray(one * SWEEPS, "int64").reshape(-1, 2)


def rotated(node: Builder, matrix: Expr) -> tuple[Expr, Expr]:
    """`matrix V` with orthogonal columns, and V: pairs of columns are rotated until they are."""
    width = node.static_extent(matrix, -1, "how many columns there are")
    rank, numbers = node.rank(matrix), node.let(int64(np.arange(width)))
    pairs = _pairs(width)
    lefts, rights = (node.let(int64(pairs[:, side])) for side in (0, 1))

    def body(there: Builder, number: Expr, state: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        made, turned = state
        zero, one, two = (there.number(value, made) for value in (0, 1, 2))
        places = [there.let(op.take(side, number, axis=0)) for side in (lefts, rights)]
        u, v = (there.let(op.take(made, place, axis=rank - 1)) for place in places)
        a, b, c = (
            there.let(op.sum(x * y, axis=(-1,), keepdims=True)) for x, y in ((u, u), (v, v), (u, v))
        )
        none = there.let(op.equal(c, zero))
        ratio = there.let((b - a) / op.where(none, one, two * c))
        side = op.where(ratio < zero, op.negative(one), one)
        # far from 1, the square of the ratio would overflow
        size = there.let(op.abs(ratio))
        root = op.where(size > there.number(1e9, made), size, op.sqrt(one + ratio * ratio))
        tangent = there.let(op.where(none, zero, side / (size + root)))
        cosine = there.let(op.rsqrt(one + tangent * tangent))
        sine = there.let(cosine * tangent)
        cosine, sine = (there.let(op.expand_dims(one_of, rank - 2)) for one_of in (cosine, sine))
        is_left, is_right = (there.let(op.equal(numbers, place)) for place in places)

        def with_columns(whole: Expr) -> Expr:
            left, right = (
                there.let(op.expand_dims(op.take(whole, place, axis=rank - 1), rank - 1))
                for place in places
            )
            first = there.let(cosine * left - sine * right)
            second = there.let(sine * left + cosine * right)
            return there.let(op.where(is_left, first, op.where(is_right, second, whole)))

        return [with_columns(made), with_columns(turned)], []

    begin = [matrix, _unit(node, matrix, width)]
    (made, turned), _ = counted(node, body, int64(len(pairs)), len(pairs), begin)
    return made, turned


def _ordered(node: Builder, sizes: Expr, *matrices: Expr, rising: bool = False) -> list[Expr]:
    """Numbers in order, and the columns of matrices in the same one."""
    rank = node.rank(sizes)
    order = node.let(op.argsort(sizes, axis=rank - 1, is_ascend=rising, dtype="int64"))
    found = [node.let(op.gather(sizes, rank - 1, order))]
    for one in matrices:
        whole = node.let(op.zeros_like(one))
        places = node.let(op.cast(whole, "int64") + op.expand_dims(order, rank - 1))
        found.append(node.let(op.gather(one, rank, places)))
    return found


def svd(node: Builder, matrix: Expr) -> tuple[Expr, Expr, Expr]:
    """U, s and V with U diag(s) V^T = matrix, as many as there are columns or rows; the largest
    singular value first. Columns of U that belong to zeros are zeros."""
    height = node.static_extent(matrix, -2, "how many rows there are")
    width = node.static_extent(matrix, -1, "how many columns there are")
    if height < width:
        u, s, v = svd(node, _swapped(node, matrix))
        return v, s, u
    made, v = rotated(node, matrix)
    s = node.let(op.sqrt(op.sum(made * made, axis=(-2,))))
    s, made, v = _ordered(node, s, made, v)
    zero, one = node.number(0, s), node.number(1, s)
    by = node.let(op.where(op.equal(s, zero), one, s))
    return node.let(made / op.expand_dims(by, node.rank(s) - 1)), s, v


def eigh(node: Builder, matrix: Expr) -> tuple[Expr, Expr]:
    """The eigenvalues of symmetric matrices, the smallest first, and eigenvectors as columns."""
    width = node.static_extent(matrix, -1, "how many columns there are")
    # moved by their norm, eigenvalues are not negative: they are the singular values
    norm = node.let(op.max(op.sum(op.abs(matrix), axis=(-1,)), axis=(-1,), keepdims=True))
    moved = op.expand_dims(norm, node.rank(matrix) - 2) * const(np.eye(width), node.dtype(matrix))
    _, s, v = svd(node, node.let(matrix + moved))
    values, vectors = _ordered(node, node.let(s - norm), v, rising=True)
    return values, vectors
