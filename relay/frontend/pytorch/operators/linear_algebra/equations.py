"""Determinants, inverses, and solutions of linear equations.

The factors and pivots that torch gives beside them are not there.
"""

from __future__ import annotations

from typing import Any

from relay import op
from relay.frontend.common.matrices.elimination import eliminated
from relay.frontend.common.matrices.numbers import (
    Numbers,
    adjoint,
    divided,
    product,
    real,
    sizes,
    times,
    transposed,
    where,
)
from relay.frontend.common.matrices.numbers import inverse as inverse_of
from relay.frontend.common.matrices.numbers import number as number_of
from relay.frontend.common.matrices.triangles import cholesky as factor_of
from relay.frontend.common.matrices.triangles import inverse_of_triangle
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.operators.linear_algebra.kinds import BothKinds, given, numbers
from relay.ir.expr import Expr

both = BothKinds()
tables = both.tables


def determinant(node: Node, A: Any) -> Numbers:
    """Determinants; those of complex matrices as products of pivots."""
    matrix = numbers(node, A)
    if not matrix.is_complex:
        return real(node.let(op.determinant(A)))
    return products_of(node, pivots_of(node, matrix))


def pivots_of(node: Node, matrix: Numbers) -> Numbers:
    """Numbers whose product is the determinant."""
    rank = node.rank(matrix.real)
    factors, taken, _ = eliminated(node, matrix)
    rows, columns = node.positions(matrix.real, -2), node.positions(matrix.real, -1)
    same = node.let(op.equal(op.expand_dims(rows, 1), op.expand_dims(columns, 0)))
    on_diagonal = where(node, same, factors, number_of(node, 0, matrix))
    diagonal = on_diagonal.each(node, lambda part: op.sum(part, axis=(rank - 2,)))
    one = node.number(1, matrix.real)
    is_exchanged = op.not_equal(taken, columns)
    signs = node.let(op.where(is_exchanged, op.negative(one), one))
    return times(node, diagonal, real(signs))


def products_of(node: Node, values: Numbers) -> Numbers:
    """The products along the last axis, of pairs in turn."""
    rank, last = node.rank(values.real), node.rank(values.real) - 1
    count = node.static_extent(values.real, -1, "a matrix")
    if not count:
        empty = values.each(node, lambda part: op.sum(part, axis=(last,)))
        ones = node.let(op.add(empty.real, node.number(1, empty.real)))
        return Numbers((ones, *empty.parts[1:]))

    def some(one: Numbers, begin: int, end: int) -> Numbers:
        return one.each(node, lambda part: op.strided_slice(part, [begin], [end], axes=(last,)))

    while count > 1:
        half = count // 2
        found = times(node, some(values, 0, half), some(values, half, 2 * half))
        if count % 2:
            rest = some(values, count - 1, count).parts
            pairs = zip(found.parts, rest, strict=True)
            found = Numbers(tuple(node.let(op.concatenate(pair, axis=last)) for pair in pairs))
        values, count = found, half + count % 2
    return values.each(node, lambda part: op.squeeze(part, (rank - 1,)))


@both("linalg_det", "det")
def det(node: Node, A: Any) -> Any:
    return given(node, determinant(node, A))


@both("_linalg_det")
def det_with_factors(node: Node, A: Any) -> list[Any]:
    return [det(node, A), None, None]


@both("linalg_slogdet", "slogdet", "_linalg_slogdet")
def slogdet(node: Node, A: Any) -> list[Any]:
    """The sign, of complex numbers the direction, and the logarithm of the size of determinants."""
    matrix = numbers(node, A)
    if matrix.is_complex:
        pivots = pivots_of(node, matrix)
        size = sizes(node, pivots)
        none, one = node.number(0, size), node.number(1, size)
        is_none = node.let(op.equal(size, none))
        shares = divided(node, pivots, real(node.let(op.where(is_none, one, size))))
        sign = given(node, products_of(node, shares))
        logarithm = op.sum(op.log(size), axis=(node.rank(size) - 1,))
    else:
        found = node.let(op.determinant(A))
        sign, logarithm = op.sign(found), op.log(op.abs(found))
    results: list[Any] = [sign, logarithm]
    return [*results, None, None] if node.operator.startswith("aten._") else results


@both("linalg_inv", "inverse")
def inverse(node: Node, A: Any) -> Any:
    return given(node, inverse_of(node, numbers(node, A)))


def no_errors(node: Node, matrices: Any) -> Expr:
    """0 for each matrix."""
    data = numbers(node, matrices).real
    return op.cast(op.zeros_like(op.sum(data, axis=(-2, -1))), "int32")


@both("linalg_inv_ex")
def inverse_with_errors(node: Node, A: Any, *, check_errors: bool = False) -> list[Any]:
    return [inverse(node, A), no_errors(node, A)]


@both("linalg_solve")
def solve(node: Node, A: Any, B: Any, *, left: bool = True) -> Any:
    """`X` of `A @ X = B`, or of `X @ A = B`."""
    matrix, right = numbers(node, A), numbers(node, B)
    factors = inverse_of(node, matrix)
    rank, wide = node.rank(right.real), node.rank(matrix.real)
    is_vector = rank == 1 or (
        rank == wide - 1 and node.shape(right.real) == node.shape(matrix.real)[:-1]
    )
    if is_vector:
        right = right.each(node, lambda part: op.expand_dims(part, rank))
    found = product(node, factors, right) if left else product(node, right, factors)
    if is_vector:
        found = found.each(node, lambda part: op.squeeze(part, (-1,)))
    return given(node, found)


@both("_linalg_solve_ex", "linalg_solve_ex")
def solve_with_errors(
    node: Node, A: Any, B: Any, *, left: bool = True, check_errors: bool = False
) -> list[Any]:
    found = solve(node, A, B, left=left)
    if node.operator == "aten.linalg_solve_ex":
        return [found, no_errors(node, A)]
    return [found, None, None, no_errors(node, A)]


@both("linalg_matrix_power", "matrix_power")
def matrix_power(node: Node, self: Any, n: int) -> Any:
    """matrix_power by repeated squaring."""
    matrix = numbers(node, self)
    base = inverse_of(node, matrix) if n < 0 else matrix
    found: Numbers | None = None
    left = abs(n)
    while left:
        if left % 2:
            found = base if found is None else product(node, found, base)
        left //= 2
        if left:
            base = product(node, base, base)
    if found is None:
        rows, columns = node.positions(matrix.real, -2), node.positions(matrix.real, -1)
        same = node.let(op.equal(op.expand_dims(rows, 1), op.expand_dims(columns, 0)))
        zeros = matrix.each(node, op.zeros_like)
        found = where(node, same, number_of(node, 1, matrix), zeros)
    return given(node, found)


# --- triangles, row by row -----------------------------------------------------------------------


@both("linalg_cholesky", "cholesky")
def cholesky(node: Node, self: Any, upper: bool = False) -> Any:
    matrix = numbers(node, self)
    found = factor_of(node, adjoint(node, matrix) if upper else matrix)
    return given(node, adjoint(node, found) if upper else found)


@both("linalg_cholesky_ex")
def cholesky_with_errors(
    node: Node, self: Any, *, upper: bool = False, check_errors: bool = False
) -> list[Any]:
    return [cholesky(node, self, upper), no_errors(node, self)]


@both("linalg_solve_triangular")
def solve_triangular(
    node: Node,
    self: Any,
    B: Any,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Any:
    """`X` of `self @ X = B`, for a triangle."""
    matrix, right = numbers(node, self), numbers(node, B)
    factors = inverse_of_triangle(node, matrix, upper=upper, unit=unitriangular)
    pair = (factors, right) if left else (right, factors)
    return given(node, product(node, *pair))


@both("triangular_solve")
def triangular_solve(
    node: Node,
    self: Any,
    A: Any,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> list[Any]:
    """triangular_solve: the solution, and a copy of the coefficients."""
    matrix = numbers(node, A)
    factors = inverse_of_triangle(node, matrix, upper=upper, unit=unitriangular)
    factors = transposed(node, factors) if transpose else factors
    return [given(node, product(node, factors, numbers(node, self))), A]


@both("cholesky_solve")
def cholesky_solve(node: Node, self: Any, input2: Any, upper: bool = False) -> Any:
    matrix = _of_factor(node, numbers(node, input2), upper)
    return given(node, product(node, inverse_of(node, matrix), numbers(node, self)))


@both("cholesky_inverse")
def cholesky_inverse(node: Node, self: Any, upper: bool = False) -> Any:
    return given(node, inverse_of(node, _of_factor(node, numbers(node, self), upper)))


def _of_factor(node: Node, factor: Numbers, upper: bool) -> Numbers:
    """The matrix of a factor of Cholesky."""
    other = adjoint(node, factor)
    return product(node, other, factor) if upper else product(node, factor, other)
