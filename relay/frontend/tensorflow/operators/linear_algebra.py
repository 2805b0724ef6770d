"""Bands, diagonals, inverses and determinants of matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.matrices.numbers import real
from relay.frontend.common.matrices.reflections import factors_of
from relay.frontend.common.matrices.rotations import singular, symmetric
from relay.frontend.common.matrices.triangles import inverse_of_triangle, triangle_of
from relay.frontend.common.products import product
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.ir.expr import Expr, const

table = Table()

table.add_unary({"MatrixDeterminant": op.determinant})
ALIGNMENTS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


@table("MatrixInverse")
def matrix_inverse(node: Node, data: Expr) -> Expr:
    found = node.let(op.matrix_inverse(data))
    rank = node.rank(data)
    order = [*range(rank - 2), rank - 1, rank - 2]
    return op.transpose(found, order) if node.flag("adjoint") else found


@table("LogMatrixDeterminant")
def log_matrix_determinant(node: Node, data: Expr) -> Sequence[Expr]:
    found = node.let(op.determinant(data))
    return [op.sign(found), op.log(op.abs(found))]


@table("MatrixSolve")
def matrix_solve(node: Node, matrix: Expr, right: Expr) -> Expr:
    rank = node.rank(matrix)
    if node.flag("adjoint"):
        matrix = node.let(op.transpose(matrix, [*range(rank - 2), rank - 1, rank - 2]))
    return product(node, node.let(op.matrix_inverse(matrix)), right)


@table("MatrixBandPart", "BatchMatrixBandPart")
def band_part(node: Node, data: Expr, lower: Expr, upper: Expr) -> Expr:
    """MatrixBandPart: keeps so many diagonals below and above the main one; negative for all."""
    below, above = (node.let(op.cast(node.scalar(one), "int64")) for one in (lower, upper))
    rank = node.rank(data)
    rows = op.expand_dims(node.positions(data, rank - 2), 1)
    columns = op.expand_dims(node.positions(data, rank - 1), 0)
    away = node.let(rows - columns)
    zero = int64(0)
    low = op.logical_or(below < zero, away <= below)
    high = op.logical_or(above < zero, op.negative(away) <= above)
    return op.where(op.logical_and(low, high), data, node.number(0, data))


@table("Diag")
def diag(node: Node, data: Expr) -> Expr:
    """Diag: data on the main diagonal of a tensor of twice its rank."""
    shape = node.static_shape(data, "data")
    flat = node.let(op.reshape(data, (-1,)))
    size = int(np.prod(shape))
    empty = node.let(op.zeros((size, size), node.dtype(data)))
    return op.reshape(op.matrix_set_diag(empty, flat), (*shape, *shape))


@table("DiagPart")
def diag_part(node: Node, data: Expr) -> Expr:
    shape = node.static_shape(data, "data")
    half = shape[: len(shape) // 2]
    if half * 2 != shape:
        raise node.refused("the axes are not there twice", found=str(shape))
    size = int(np.prod(half))
    flat = op.reshape(data, (size * size,))
    return op.reshape(op.take(flat, int64(np.arange(size) * (size + 1)), axis=0), half)


@table("MatrixDiag", "MatrixDiagV2", "MatrixDiagV3")
def matrix_diag(
    node: Node,
    diagonals: Expr,
    which: Expr | None = None,
    rows: Expr | None = None,
    columns: Expr | None = None,
    filling: Expr | None = None,
) -> Expr:
    """Matrices with these diagonals, elsewhere one value."""
    shape = node.static_shape(diagonals, "diagonals")
    low, high = _band(node, which)
    is_one = low == high
    batch = shape[:-1] if is_one else shape[:-2]
    longest = shape[-1]
    height = _given(node, rows)
    width = _given(node, columns)
    least_rows, least_columns = longest - min(high, 0), longest + max(low, 0)
    if height is None and width is None:
        height = width = max(least_rows, least_columns)
    elif height is None:
        height = least_rows
    elif width is None:
        width = least_columns
    assert height is not None and width is not None
    value = node.number(0, diagonals) if filling is None else node.scalar(filling)
    empty = node.let(op.full(value, (*batch, height, width), node.dtype(diagonals)))
    return op.matrix_set_diag(empty, diagonals, (low, high), _alignment(node))


def _given(node: Node, value: Expr | None) -> int | None:
    if value is None:
        return None
    (number,) = node.numbers(value, "the number of rows and columns")
    return None if number < 0 else int(number)


def _band(node: Node, which: Expr | None) -> tuple[int, int]:
    """The lowest and the highest diagonal."""
    given = [0] if which is None else [int(one) for one in node.numbers(which, "the diagonals")]
    if len(given) not in (1, 2) or given[0] > given[-1]:
        raise node.refused("the diagonals are one or two numbers", found=str(given))
    return given[0], given[-1]


def _alignment(node: Node) -> str:
    default = "RIGHT_LEFT" if node.operator.endswith("V3") else "LEFT_LEFT"
    return node.choice("align", default, ALIGNMENTS)


@table("MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3")
def matrix_set_diag(node: Node, data: Expr, diagonals: Expr, which: Expr | None = None) -> Expr:
    return op.matrix_set_diag(data, diagonals, _band(node, which), _alignment(node))


@table("MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3")
def matrix_diag_part(
    node: Node, data: Expr, which: Expr | None = None, filling: Expr | None = None
) -> Expr:
    """Diagonals as rows, which shorter ones do not fill."""
    low, high = _band(node, which)
    height, width = (node.static_extent(data, axis, "the size of matrices") for axis in (-2, -1))
    align = _alignment(node)
    lengths = [min(height + min(k, 0), width - max(k, 0)) for k in range(high, low - 1, -1)]
    if min(lengths) < 1:
        raise node.refused("a diagonal lies outside of the matrices", found=f"{low}, {high}")
    longest = max(lengths)
    places = np.zeros((len(lengths), longest), "int64")
    is_inside = np.zeros((len(lengths), longest), bool)
    for row, (k, count) in enumerate(zip(range(high, low - 1, -1), lengths, strict=True)):
        side = align.split("_")[0 if k >= 0 else 1]
        first = longest - count if side == "RIGHT" else 0
        steps = np.arange(count)
        places[row, first : first + count] = (steps - min(k, 0)) * width + steps + max(k, 0)
        is_inside[row, first : first + count] = True
    # superdiagonals are aligned by the first word, subdiagonals by the second
    rank = node.rank(data)
    flat = node.let(op.reshape(data, (*[0] * (rank - 2), height * width)))
    if low == high:
        places, is_inside = places[0], is_inside[0]
    found = node.let(op.take(flat, int64(places), axis=rank - 2))
    if is_inside.all():
        return found
    value = node.number(0, data) if filling is None else node.scalar(filling)
    return op.where(const(is_inside, "bool"), found, value)


@table("Cholesky")
def cholesky(node: Node, data: Expr) -> Expr:
    return triangle_of(node, data)


@table("MatrixTriangularSolve")
def matrix_triangular_solve(node: Node, matrix: Expr, right: Expr) -> Expr:
    inverse = inverse_of_triangle(node, real(matrix), upper=not node.flag("lower", True)).real
    if node.flag("adjoint"):
        rank = node.rank(matrix)
        inverse = node.let(op.transpose(inverse, [*range(rank - 2), rank - 1, rank - 2]))
    return product(node, inverse, right)


@table("Qr")
def qr(node: Node, data: Expr) -> Sequence[Expr]:
    found = factors_of(node, real(data), complete=node.flag("full_matrices"))
    return [one.real for one in found]


@table("Svd")
def svd(node: Node, data: Expr) -> Sequence[Expr]:
    """Singular values, and vectors as columns, which are empty where they are not asked for."""
    found = singular(node, real(data), full=node.flag("full_matrices"))
    if node.flag("compute_uv", True):
        return found.values, found.left.real, found.right.real
    empty = node.let(op.zeros((0,), node.dtype(data)))
    return found.values, empty, empty


@table("SelfAdjointEigV2")
def eigh(node: Node, data: Expr) -> Sequence[Expr]:
    """Eigenvalues, and vectors as columns, which are empty where they are not asked for."""
    values, vectors = symmetric(node, real(data))
    if node.flag("compute_v", True):
        return values, vectors.real
    return values, node.let(op.zeros((0,), node.dtype(data)))
