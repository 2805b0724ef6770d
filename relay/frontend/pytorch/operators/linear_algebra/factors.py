"""Factors of matrices: QR by reflections, LU by elimination."""

from __future__ import annotations

from typing import Any

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.matrices.elimination import eliminated, order_of, permutation
from relay.frontend.common.matrices.numbers import (
    Numbers,
    minus,
    plus,
    product,
    with_zeros,
)
from relay.frontend.common.matrices.numbers import adjoint as adjoint_of
from relay.frontend.common.matrices.reflections import (
    applied,
    below_diagonal,
    factors_of,
    first_columns,
    first_rows,
    identity,
    orthogonal,
    packed,
    reflected,
    unpacked,
)
from relay.frontend.common.matrices.triangles import inverse_of_triangle
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.operators.linear_algebra.equations import no_errors
from relay.frontend.pytorch.operators.linear_algebra.kinds import BothKinds, given, numbers
from relay.ir.expr import Expr

both = BothKinds()
tables = both.tables


def _extents(node: Node, matrix: Numbers) -> tuple[int, int]:
    height, width = (node.static_extent(matrix.real, axis, "a matrix") for axis in (-2, -1))
    return height, width


def _none(node: Node, like: Numbers) -> Any:
    """An empty result."""
    return given(node, like.each(node, lambda part: node.zeros((0,), node.dtype(part))))


# --- reflections ---------------------------------------------------------------------------------


@both("linalg_qr")
def qr(node: Node, A: Any, mode: str = "reduced") -> list[Any]:
    matrix = numbers(node, A)
    if mode == "r":
        triangle, _ = reflected(node, matrix)
        rows = first_rows(node, triangle, min(_extents(node, matrix)))
        return [_none(node, matrix), given(node, rows)]
    found = factors_of(node, matrix, complete=mode == "complete")
    return [given(node, one) for one in found]


@both("qr")
def old_qr(node: Node, self: Any, some: bool = True) -> list[Any]:
    return qr(node, self, "reduced" if some else "complete")


@both("geqrf")
def geqrf(node: Node, self: Any) -> list[Any]:
    triangle, reflections = reflected(node, numbers(node, self))
    return [
        given(node, packed(node, triangle, reflections)),
        given(node, reflections.factors),
    ]


@both("linalg_householder_product", "orgqr")
def householder_product(node: Node, input: Any, tau: Any) -> Any:
    matrix = numbers(node, input)
    reflections = unpacked(node, matrix, numbers(node, tau))
    return given(node, orthogonal(node, reflections, _extents(node, matrix)[1]))


@both("ormqr")
def ormqr(
    node: Node, self: Any, input2: Any, input3: Any, left: bool = True, transpose: bool = False
) -> Any:
    """Q, or its adjoint, on one side of a matrix."""
    reflections = unpacked(node, numbers(node, self), numbers(node, input2))
    data = numbers(node, input3)
    if left:
        return given(node, applied(node, reflections, data, adjoint=transpose))
    found = applied(node, reflections, adjoint_of(node, data), adjoint=not transpose)
    return given(node, adjoint_of(node, found))


# --- elimination ---------------------------------------------------------------------------------


@both("linalg_lu_factor_ex")
def lu_factor_with_errors(
    node: Node, A: Any, *, pivot: bool = True, check_errors: bool = False
) -> list[Any]:
    _must_pivot(node, pivot)
    found, pivots, _ = eliminated(node, numbers(node, A))
    return [given(node, found), op.cast(pivots + int64(1), "int32"), no_errors(node, A)]


@both("linalg_lu_factor")
def lu_factor(node: Node, A: Any, *, pivot: bool = True) -> list[Any]:
    return lu_factor_with_errors(node, A, pivot=pivot)[:2]


def _must_pivot(node: Node, pivot: bool) -> None:
    if not pivot:
        raise node.refused("it has pivots on a CPU", hint="call it with pivot=True")


@both("linalg_lu")
def lu(node: Node, A: Any, *, pivot: bool = True) -> list[Any]:
    _must_pivot(node, pivot)
    found, _, order = eliminated(node, numbers(node, A))
    return [given(node, one) for one in (_rows(node, order, found), *_triangles(node, found))]


@both("lu_unpack")
def lu_unpack(
    node: Node,
    LU_data: Any,
    LU_pivots: Expr,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> list[Any]:
    factors = numbers(node, LU_data)
    results = [_none(node, factors) for _ in range(3)]
    if unpack_pivots:
        results[0] = given(node, _rows(node, _order(node, factors, LU_pivots), factors))
    if unpack_data:
        results[1:] = [given(node, one) for one in _triangles(node, factors)]
    return results


@both("linalg_lu_solve")
def lu_solve(
    node: Node, LU: Any, pivots: Expr, B: Any, *, left: bool = True, adjoint: bool = False
) -> Any:
    """`X` of `P @ L @ U @ X = B`, of `X @ P @ L @ U = B`, or with the adjoint of the factors."""
    factors, data = numbers(node, LU), numbers(node, B)
    rows = _rows(node, _order(node, factors, pivots), factors)
    lower = inverse_of_triangle(node, factors, upper=False, unit=True)
    upper = inverse_of_triangle(node, factors, upper=True)
    if left != adjoint:  # the inverse, or the adjoint of it
        steps = [adjoint_of(node, rows), lower, upper]
    else:
        steps = [adjoint_of(node, upper), adjoint_of(node, lower), rows]
    found = data if left else adjoint_of(node, data)
    for one in steps:
        found = product(node, one, found)
    return given(node, found if left else adjoint_of(node, found))


@both("lu_solve")
def old_lu_solve(node: Node, self: Any, LU_data: Any, LU_pivots: Expr) -> Any:
    return lu_solve(node, LU_data, LU_pivots, self)


def _rows(node: Node, order: Expr, like: Numbers) -> Numbers:
    """The matrix that puts rows into an order."""
    return with_zeros(node, permutation(node, order, node.dtype(like.real)), like)


def _order(node: Node, factors: Numbers, pivots: Expr) -> Expr:
    height, _ = _extents(node, factors)
    places = node.let(node.as_dtype(pivots, "int64") - int64(1))
    return order_of(node, places, height)


def _triangles(node: Node, factors: Numbers) -> list[Numbers]:
    """L with ones on the diagonal, and U."""
    height, width = _extents(node, factors)
    count = min(height, width)
    left = first_columns(node, factors, count)
    lower = plus(node, below_diagonal(node, left), identity(node, left, count))
    upper = minus(node, factors, below_diagonal(node, factors))
    return [lower, first_rows(node, upper, count)]
