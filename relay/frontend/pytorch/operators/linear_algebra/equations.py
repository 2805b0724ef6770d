"""Determinants, inverses, and solutions of linear equations.

The factors and pivots that torch gives beside them are not there.
"""

from __future__ import annotations

from relay import op
from relay.frontend.common.matrices.triangles import inverse_of_triangle, triangle_of
from relay.frontend.common.products import product
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.shapes import swapped
from relay.ir.expr import Expr

table = Converters()


@table("linalg_det", "det")
def det(node: Node, A: Expr) -> Expr:
    return op.determinant(A)


@table("_linalg_det")
def det_with_factors(node: Node, A: Expr) -> list[Expr | None]:
    return [op.determinant(A), None, None]


@table("linalg_slogdet", "slogdet", "_linalg_slogdet")
def slogdet(node: Node, A: Expr) -> list[Expr | None]:
    """The sign and the logarithm of the size of determinants."""
    found = node.let(op.determinant(A))
    results: list[Expr | None] = [op.sign(found), op.log(op.abs(found))]
    return [*results, None, None] if node.operator.startswith("aten._") else results


@table("logdet")
def logdet(node: Node, self: Expr) -> Expr:
    return op.log(op.determinant(self))


@table("linalg_inv", "inverse")
def inverse(node: Node, A: Expr) -> Expr:
    return op.matrix_inverse(A)


def no_errors(node: Node, matrices: Expr) -> Expr:
    """0 for each matrix."""
    return op.cast(op.zeros_like(op.sum(matrices, axis=(-2, -1))), "int32")


@table("linalg_inv_ex")
def inverse_with_errors(node: Node, A: Expr, *, check_errors: bool = False) -> list[Expr]:
    return [op.matrix_inverse(A), no_errors(node, A)]


@table("linalg_solve")
def solve(node: Node, A: Expr, B: Expr, *, left: bool = True) -> Expr:
    """`X` of `A @ X = B`, or of `X @ A = B`."""
    factors = node.let(op.matrix_inverse(A))
    is_vector = node.rank(B) == 1 or (
        node.rank(B) == node.rank(A) - 1 and node.shape(B) == node.shape(A)[:-1]
    )
    right = node.let(op.expand_dims(B, node.rank(B))) if is_vector else B
    found = product(node, factors, right) if left else product(node, right, factors)
    return op.squeeze(node.let(found), (-1,)) if is_vector else found


@table("_linalg_solve_ex", "linalg_solve_ex")
def solve_with_errors(
    node: Node, A: Expr, B: Expr, *, left: bool = True, check_errors: bool = False
) -> list[Expr | None]:
    found = node.let(solve(node, A, B, left=left))
    if node.operator == "aten.linalg_solve_ex":
        return [found, no_errors(node, A)]
    return [found, None, None, no_errors(node, A)]


@table("linalg_matrix_power", "matrix_power")
def matrix_power(node: Node, self: Expr, n: int) -> Expr:
    """matrix_power by repeated squaring."""
    base = node.let(op.matrix_inverse(self)) if n < 0 else self
    found: Expr | None = None
    left = abs(n)
    while left:
        if left % 2:
            found = base if found is None else node.let(product(node, found, base))
        left //= 2
        if left:
            base = node.let(product(node, base, base))
    if found is not None:
        return found
    rows, columns = node.positions(self, -2), node.positions(self, -1)
    same = node.let(op.equal(op.expand_dims(rows, 1), op.expand_dims(columns, 0)))
    return op.zeros_like(self) + op.cast(same, node.dtype(self))


# --- triangles, row by row -----------------------------------------------------------------------


@table("linalg_cholesky", "cholesky")
def cholesky(node: Node, self: Expr, upper: bool = False) -> Expr:
    matrix = swapped(node, self) if upper else self
    found = triangle_of(node, matrix)
    return swapped(node, found) if upper else found


@table("linalg_cholesky_ex")
def cholesky_with_errors(
    node: Node, self: Expr, *, upper: bool = False, check_errors: bool = False
) -> list[Expr]:
    return [cholesky(node, self, upper), no_errors(node, self)]


@table("linalg_solve_triangular")
def solve_triangular(
    node: Node,
    self: Expr,
    B: Expr,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Expr:
    """`X` of `self @ X = B`, for a triangle."""
    factors = inverse_of_triangle(node, self, upper=upper, unit=unitriangular)
    return product(node, factors, B) if left else product(node, B, factors)


@table("triangular_solve")
def triangular_solve(
    node: Node,
    self: Expr,
    A: Expr,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> list[Expr]:
    """triangular_solve: the solution, and a copy of the coefficients."""
    matrix, is_upper = (swapped(node, A), not upper) if transpose else (A, upper)
    found = solve_triangular(node, matrix, self, upper=is_upper, unitriangular=unitriangular)
    return [found, A]


@table("cholesky_solve")
def cholesky_solve(node: Node, self: Expr, input2: Expr, upper: bool = False) -> Expr:
    other = swapped(node, input2)
    left, right = (other, input2) if upper else (input2, other)
    matrix = node.let(product(node, left, right))
    return product(node, node.let(op.matrix_inverse(matrix)), self)


@table("cholesky_inverse")
def cholesky_inverse(node: Node, self: Expr, upper: bool = False) -> Expr:
    other = swapped(node, self)
    left, right = (other, self) if upper else (self, other)
    return op.matrix_inverse(node.let(product(node, left, right)))
