"""Factors of matrices: QR by reflections, LU by elimination."""

from __future__ import annotations

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.matrices.elimination import eliminated, order_of, permutation
from relay.frontend.common.matrices.reflections import (
    applied,
    below_diagonal,
    factors_of,
    first_columns,
    first_rows,
    identity_like,
    orthogonal,
    packed,
    reflected,
    unpacked,
)
from relay.frontend.common.matrices.triangles import inverse_of_triangle
from relay.frontend.common.products import product
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.operators.linear_algebra.equations import no_errors
from relay.frontend.pytorch.shapes import swapped
from relay.ir.expr import Expr

table = Converters()


def _extents(node: Node, matrix: Expr) -> tuple[int, int]:
    height, width = (node.static_extent(matrix, axis, "a matrix") for axis in (-2, -1))
    return height, width


# --- reflections ---------------------------------------------------------------------------------


@table("linalg_qr")
def qr(node: Node, A: Expr, mode: str = "reduced") -> list[Expr]:
    if mode == "r":
        triangle, _ = reflected(node, A)
        rows = first_rows(node, triangle, min(_extents(node, A)))
        return [node.zeros((0,), node.dtype(A)), rows]
    return [*factors_of(node, A, complete=mode == "complete")]


@table("qr")
def old_qr(node: Node, self: Expr, some: bool = True) -> list[Expr]:
    return qr(node, self, "reduced" if some else "complete")


@table("geqrf")
def geqrf(node: Node, self: Expr) -> list[Expr]:
    triangle, reflections = reflected(node, self)
    return [packed(node, triangle, reflections), reflections.factors]


@table("linalg_householder_product", "orgqr")
def householder_product(node: Node, input: Expr, tau: Expr) -> Expr:
    _, width = _extents(node, input)
    return orthogonal(node, unpacked(node, input, tau), width)


@table("ormqr")
def ormqr(
    node: Node, self: Expr, input2: Expr, input3: Expr, left: bool = True, transpose: bool = False
) -> Expr:
    """Q, or its transpose, on one side of a matrix."""
    reflections = unpacked(node, self, input2)
    if left:
        return applied(node, reflections, input3, transposed=transpose)
    found = applied(node, reflections, swapped(node, input3), transposed=not transpose)
    return swapped(node, found)


# --- elimination ---------------------------------------------------------------------------------


@table("linalg_lu_factor_ex")
def lu_factor_with_errors(
    node: Node, A: Expr, *, pivot: bool = True, check_errors: bool = False
) -> list[Expr]:
    _must_pivot(node, pivot)
    found, pivots, _ = eliminated(node, A)
    return [found, op.cast(pivots + int64(1), "int32"), no_errors(node, A)]


@table("linalg_lu_factor")
def lu_factor(node: Node, A: Expr, *, pivot: bool = True) -> list[Expr]:
    return lu_factor_with_errors(node, A, pivot=pivot)[:2]


def _must_pivot(node: Node, pivot: bool) -> None:
    if not pivot:
        raise node.refused("it has pivots on a CPU", hint="call it with pivot=True")


@table("linalg_lu")
def lu(node: Node, A: Expr, *, pivot: bool = True) -> list[Expr]:
    _must_pivot(node, pivot)
    found, _, order = eliminated(node, A)
    return [permutation(node, order, node.dtype(A)), *_triangles(node, found)]


@table("lu_unpack")
def lu_unpack(
    node: Node,
    LU_data: Expr,
    LU_pivots: Expr,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> list[Expr]:
    none, dtype = node.zeros((0,), node.dtype(LU_data)), node.dtype(LU_data)
    results = [none, none, none]
    if unpack_pivots:
        results[0] = permutation(node, _order(node, LU_data, LU_pivots), dtype)
    if unpack_data:
        results[1:] = _triangles(node, LU_data)
    return results


@table("linalg_lu_solve")
def lu_solve(
    node: Node, LU: Expr, pivots: Expr, B: Expr, *, left: bool = True, adjoint: bool = False
) -> Expr:
    """`X` of `P @ L @ U @ X = B`, of `X @ P @ L @ U = B`, or with the transpose of the factors."""
    rows = permutation(node, _order(node, LU, pivots), node.dtype(LU))
    lower = inverse_of_triangle(node, LU, upper=False, unit=True)
    upper = inverse_of_triangle(node, LU, upper=True)
    if left != adjoint:  # the inverse, or the transpose of it
        steps = [swapped(node, rows), lower, upper]
    else:
        steps = [swapped(node, upper), swapped(node, lower), rows]
    found = B if left else swapped(node, B)
    for one in steps:
        found = node.let(product(node, one, found))
    return found if left else swapped(node, found)


@table("lu_solve")
def old_lu_solve(node: Node, self: Expr, LU_data: Expr, LU_pivots: Expr) -> Expr:
    return lu_solve(node, LU_data, LU_pivots, self)


def _order(node: Node, factors: Expr, pivots: Expr) -> Expr:
    height, _ = _extents(node, factors)
    places = node.let(node.as_dtype(pivots, "int64") - int64(1))
    return order_of(node, places, height)


def _triangles(node: Node, factors: Expr) -> list[Expr]:
    """L with ones on the diagonal, and U."""
    height, width = _extents(node, factors)
    count = min(height, width)
    left = first_columns(node, factors, count)
    lower = below_diagonal(node, left) + identity_like(node, left, count)
    upper = node.let(factors - below_diagonal(node, factors))
    return [node.let(lower), first_rows(node, upper, count)]
