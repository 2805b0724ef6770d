"""Triangular matrices: Cholesky's factors, and inverses."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.builder import Builder, int64
from relay.frontend.common.loops import counted
from relay.frontend.common.matrices.numbers import (
    Numbers,
    embedded,
    extracted,
    inverse,
    number,
    where,
)
from relay.ir.expr import Expr


def triangle_of(node: Builder, matrix: Expr) -> Expr:
    """Cholesky: the lower triangle whose product with its transpose is the matrix, by columns."""
    if 0 in node.shape(matrix):
        return matrix
    numbers, rank = node.positions(matrix, -1), node.rank(matrix)

    def body(there: Builder, number: Expr, state: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        (made,) = state
        row = op.expand_dims(op.take(made, number, axis=rank - 2), rank - 2)
        known = there.let(op.sum(made * row, axis=(rank - 1,)))
        rest = there.let(op.take(matrix, number, axis=rank - 1) - known)
        pivot = op.sqrt(op.expand_dims(op.take(rest, number, axis=rank - 2), rank - 2))
        below = op.greater_equal(numbers, number)
        column = there.let(op.where(below, rest / pivot, there.number(0, rest)))
        is_own = op.equal(numbers, number)
        return [there.let(op.where(is_own, op.expand_dims(column, rank - 1), made))], []

    begin = node.let(op.zeros_like(matrix))
    (found,), _ = counted(node, body, node.size(matrix, -1), node.shape(matrix)[-1], [begin])
    return found


def cholesky(node: Builder, matrix: Numbers) -> Numbers:
    """Cholesky of complex numbers: on its diagonal the triangle is real, so that the real matrix
    that stands for it is a triangle."""
    if not matrix.is_complex or 0 in node.shape(matrix.real):
        return matrix.each(node, lambda part: triangle_of(node, part))
    return extracted(node, triangle_of(node, embedded(node, matrix)))


def inverse_of_triangle(
    node: Builder, matrix: Numbers, *, upper: bool, unit: bool = False
) -> Numbers:
    """The inverse of the triangle of a matrix, whose diagonal may count as ones."""
    rows, columns = (node.positions(matrix.real, axis) for axis in (-2, -1))
    apart = node.let(op.expand_dims(columns, 0) - op.expand_dims(rows, 1))
    zero = int64(0)
    inside = op.greater_equal(apart, zero) if upper else op.less_equal(apart, zero)
    zeros, ones = (number(node, value, matrix) for value in (0, 1))
    triangle = where(node, node.let(inside), matrix, zeros)
    if unit:
        triangle = where(node, node.let(op.equal(apart, zero)), ones, triangle)
    return inverse(node, triangle)
