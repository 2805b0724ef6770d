"""Gaussian elimination with partial pivoting: the rows of a matrix in another order are L U."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.builder import Builder, int64
from relay.frontend.common.loops import counted
from relay.frontend.common.matrices.numbers import Numbers, divided, minus, number, times, where
from relay.ir.expr import Expr


def eliminated(node: Builder, given: Numbers) -> tuple[Numbers, Expr, Expr]:
    """U with L below it, the row that each turn took to its place, and where rows come from."""
    matrix = given.real
    rank = node.rank(matrix)
    height, width = (node.static_extent(matrix, axis, "a matrix") for axis in (-2, -1))
    count = min(height, width)
    rows, columns = node.positions(matrix, -2), node.positions(matrix, -1)
    order, pivots = _in_order(node, matrix, count)
    if 0 in node.shape(matrix):
        return given, pivots, order
    places = node.positions(pivots, -1)

    def body(there: Builder, turn: Expr, state: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        *parts, pivots, order = state
        rest = Numbers(tuple(parts))
        column = _size(there, rest.each(there, lambda part: op.take(part, turn, axis=rank - 1)))
        open_rows = op.greater_equal(rows, turn)
        sizes = there.let(op.where(open_rows, column, there.number(-1, column)))
        largest = there.let(op.cast(op.argmax(sizes, axis=(rank - 2,)), "int64"))
        moved = _exchanged(there, rows, turn, largest)
        along = _along_rows(there, moved, rest.real)
        rest = rest.each(there, lambda part: op.gather(part, rank - 2, along))
        order = there.let(op.gather(order, rank - 2, moved))
        taken = op.expand_dims(largest, rank - 2)
        pivots = there.let(op.where(op.equal(places, turn), taken, pivots))
        row = rest.each(
            there, lambda part: op.expand_dims(op.take(part, turn, axis=rank - 2), rank - 2)
        )
        beside = rest.each(
            there, lambda part: op.expand_dims(op.take(part, turn, axis=rank - 1), rank - 1)
        )
        pivot = beside.each(
            there,
            lambda part: op.expand_dims(op.take(part, turn, axis=rank - 2), rank - 2),
        )
        is_zero = there.let(op.equal(_size(there, pivot), there.number(0, matrix)))
        one, zero = number(there, 1, rest), number(there, 0, rest)
        share = divided(there, beside, where(there, is_zero, one, pivot))
        below = there.let(op.expand_dims(op.greater(rows, turn), 1))
        share = where(there, below, share, zero)
        found = minus(there, rest, times(there, share, row))
        found = where(there, op.greater(columns, turn), found, rest)
        is_own = there.let(op.logical_and(op.equal(columns, turn), below))
        return [*where(there, is_own, share, found).parts, pivots, order], []

    begin = [*given.parts, pivots, order]
    (*parts, pivots, order), _ = counted(node, body, int64(count), count, begin)
    return Numbers(tuple(parts)), pivots, order


def _size(there: Builder, value: Numbers) -> Expr:
    """By what pivots are chosen: of complex numbers, as LAPACK does, the sum of both sizes."""
    total = there.let(op.abs(value.real))
    for part in value.parts[1:]:
        total = there.let(total + op.abs(part))
    return total


def order_of(node: Builder, pivots: Expr, height: int) -> Expr:
    """Where rows come from if each turn takes a row to its place, (…, height)."""
    rank = node.rank(pivots)
    count = node.static_extent(pivots, -1, "the number of pivots")
    rows = node.let(op.arange(int64(height), dtype="int64"))
    if count:
        none = op.zeros_like(op.strided_slice(pivots, [0], [1], axes=(rank - 1,)))
    else:
        none = op.zeros_like(op.sum(pivots, axis=(-1,), keepdims=True))
    begin = node.let(op.cast(none, "int64") + rows)
    if 0 in node.shape(pivots):
        return begin

    def body(there: Builder, number: Expr, state: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        other = there.let(op.cast(op.take(pivots, number, axis=rank - 1), "int64"))
        moved = _exchanged(there, rows, number, other)
        return [there.let(op.gather(state[0], rank - 1, moved))], []

    (found,), _ = counted(node, body, int64(count), count, [begin])
    return found


def permutation(node: Builder, order: Expr, dtype: str) -> Expr:
    """The matrix P with A = P B, where row i of B is row `order[i]` of A."""
    rank = node.rank(order)
    rows = op.expand_dims(node.positions(order, -1), 1)
    same = op.equal(rows, op.expand_dims(order, rank - 1))
    return node.let(op.cast(same, dtype))


def _exchanged(there: Builder, rows: Expr, one: Expr, other: Expr) -> Expr:
    """The numbers of rows, of which `one` and, for each matrix, `other` are exchanged."""
    rank = there.rank(other)
    wide = there.let(op.expand_dims(other, rank))
    kept = op.where(op.equal(rows, wide), one, rows)
    return there.let(op.where(op.equal(rows, one), wide, kept))


def _along_rows(there: Builder, order: Expr, like: Expr) -> Expr:
    """The same order for each column."""
    zeros = op.cast(op.zeros_like(like), "int64")
    return there.let(op.expand_dims(order, there.rank(order)) + zeros)


def _in_order(node: Builder, matrix: Expr, count: int) -> tuple[Expr, Expr]:
    """All rows where they are: for each row, and for each of the first ones."""
    rank = node.rank(matrix)
    none = node.let(op.cast(op.zeros_like(op.sum(matrix, axis=(-1,))), "int64"))
    order = node.let(none + node.positions(matrix, -2))
    return order, node.let(op.strided_slice(order, [0], [count], axes=(rank - 2,)))
