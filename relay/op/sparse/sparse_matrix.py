"""Sparse matrices in CSR and BSR format.

    CSR    data (stored,), indices (stored,), indptr (rows + 1,)
    BSR    data (stored, r, c), indices (stored,), indptr (rows / r + 1,): blocks of r by c

Row (of blocks) i has the elements (blocks) indptr[i] to indptr[i + 1]; `indices` are their columns
(of blocks). Duplicates add up. The number of columns is not stored; it follows from the other
operand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from relay import te
from relay.errors import EvaluationError
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr, TupleGetItem, TupleWrapper, as_expr, const
from relay.ir.types import TensorType, TupleType, Type
from relay.op.building import scalars
from relay.op.building.numerics import matrix_product, rounded_once
from relay.op.building.separable_rules import fixed
from relay.op.gradient_rules import (
    LOWERED,
    ArgumentGradient,
    Backward,
    Composed,
    added_at,
    build,
    numbered,
)
from relay.op.loop_nest import spread
from relay.op.opdef import FusionKind, define, sample
from relay.op.site import INTEGER, NUMERIC, Site

# --- what is stored ----------------------------------------------------------------------------


def stored_rows(site: Site, first: int, ranks: tuple[int, ...] = (1, 3)) -> Dim | None:
    """The number of rows of the matrix in the three arguments from `first`; None while unknown."""
    site.require_elements(first, NUMERIC)
    site.require_elements(first + 1, INTEGER)
    site.require_elements(first + 2, INTEGER)
    data, indices = site.tensor(first), site.tensor(first + 1, rank=1)
    indptr = site.tensor(first + 2, rank=1)
    if data is None or indices is None or indptr is None:
        return None
    site.require(
        len(data.shape) in ranks,
        f"{site.argument(first)} has the wrong rank",
        f"a tensor of rank {' or '.join(map(str, ranks))}",
        str(data),
    )
    for size in data.shape[1:]:
        site.require_some(size, (), "blocks have no elements", "extents of 1 or more", str(data))
    site.require_equal(data.shape[0], indices.shape[0], "numbers of elements and indices")
    site.require_some(
        indptr.shape[0],
        (),
        f"{site.argument(first + 2)} is empty",
        "one element more than there are rows",
        str(indptr),
    )
    rows = dims.subtract(indptr.shape[0], 1)
    return dims.multiply(rows, data.shape[1]) if len(data.shape) > 1 else rows


def require_columns(site: Site, first: int, columns: Dim) -> None:
    """Blocks must divide the columns, if both are known."""
    data = site.tensor(first)
    if data is not None and len(data.shape) == 3:
        width = data.shape[2]
        site.require_multiple(
            columns, width, "columns do not form blocks", f"a multiple of {width}", str(columns)
        )


def to_dense(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, columns: int) -> np.ndarray:
    """The dense matrix with that many columns."""
    blocks = data.reshape(*data.shape, *(1,) * (3 - data.ndim))
    height, width = blocks.shape[1:]
    shape = (len(indptr) - 1, columns // max(width, 1), height, width)
    whole = np.zeros(shape, data.dtype)
    np.add.at(whole, (row_numbers(indptr, len(indices)), checked(indices, shape[1])), blocks)
    return whole.swapaxes(1, 2).reshape(shape[0] * height, shape[1] * width)


def row_numbers(indptr: np.ndarray, stored: int) -> np.ndarray:
    """The row of each stored element."""
    bounds = indptr.astype(np.int64)
    counts = bounds[1:] - bounds[:-1]
    if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != stored or (counts < 0).any():
        raise EvaluationError.of(
            "these are no bounds of rows",
            expected=f"numbers that grow from 0 to {stored}",
            found=np.array2string(indptr, threshold=8),
        )
    return np.repeat(np.arange(len(counts)), counts)


def checked(indices: np.ndarray, columns: int) -> np.ndarray:
    """Column indices, checked to be in range."""
    if len(indices) and not (indices.min() >= 0 and indices.max() < columns):
        raise EvaluationError.of(
            "a stored element is outside of its matrix",
            expected=f"columns from 0 to {columns - 1}",
            found=np.array2string(indices, threshold=8),
        )
    return indices.astype(np.int64)


def parts_of(matrix: Any) -> tuple[Expr, Expr, Expr]:
    """data, indices and indptr of a sparse matrix of SciPy, or of a sequence of the three."""
    if hasattr(matrix, "indptr"):
        matrix = (matrix.data, matrix.indices, matrix.indptr)
    data, indices, indptr = (
        const(part, str(part.dtype)) if isinstance(part, np.ndarray) else as_expr(part)
        for part in matrix
    )
    return data, indices, indptr


def stored_at(data: te.Tensor, number: te.Expr, y: te.Expr, x: te.Expr) -> te.Expr:
    """An element of a stored block; missing axes have extent 1."""
    return data[(number, y, x)[: data.rank]]


def block_shape(data: te.Tensor) -> tuple[te.Expr, te.Expr]:
    """The height and width of the stored blocks."""
    height, width = (*data.shape[1:], te.index(1), te.index(1))[:2]
    return height, width


@contextmanager
def stored_in_row(
    b: te.Builder, indices: te.Tensor, indptr: te.Tensor, row: te.Expr, columns: te.Expr
) -> Iterator[tuple[te.Expr, te.Expr]]:
    """The index and the column of each stored block of a row.

    Bounds and columns out of range end the run, as in the interpreter.
    """
    stored = indices.shape[0]
    begin, end = (b.let(te.cast(indptr[i], "int64")) for i in (row, row + 1))
    with b.if_((begin < 0) | (begin > stored)):
        b.fail(begin, stored + 1, "where a row of a sparse matrix begins")
    with b.if_((end < begin) | (end > stored)):
        b.fail(end, stored + 1, "where a row of a sparse matrix ends")
    with b.loop(end - begin) as i:
        number = b.let(begin + i)
        column = b.let(te.cast(indices[number], "int64"))
        with b.if_((column >= 0) & (column < columns)):
            yield number, column
        with b.else_():
            b.fail(column, columns, "the column of a stored element")


PARTS = [
    ("sparse_data", "the stored elements, or blocks of them"),
    ("sparse_indices", "their columns"),
    ("sparse_indptr", "the start and end of each row"),
]

# a CSR matrix of 4 rows and 5 columns, and a BSR matrix of 4 rows and 6 columns in blocks of 2 x 3
_CSR = (np.array([3, 0, 4, 1, 1], "int32"), np.array([0, 2, 2, 3, 5], "int32"))
_BSR = (np.array([1, 0, 1], "int32"), np.array([0, 1, 3], "int32"))

# --- gradients ----------------------------------------------------------------------------------


def dense_matrix(site: Backward, first: int, columns: Dim) -> Expr:
    """The matrix in the three arguments from `first` as a dense one, of other operators."""
    data, indices, indptr = site.args[first : first + 3]
    ty = site.tensor_type(data)
    block = (*ty.shape[1:], *(1,) * (3 - len(ty.shape)))
    rows = dims.subtract(site.tensor_type(indptr).shape[0], 1)
    known = fixed(site, (rows, columns, *block))
    shape = (known[0], known[1] // known[2 + 1], *known[2:])
    numbers = numbered([indices], site.tensor_type)[0]
    row = build("searchsorted", indptr.astype("int64"), numbers, right=True, dtype="int64")
    places = build("stack", [row - const(1, "int64"), indices.astype("int64")])
    blocks = build("reshape", data, newshape=(-1, *shape[2:]))
    zeros = build("zeros", shape=shape, dtype=ty.dtype)
    whole = build("scatter_nd", zeros, places, blocks, mode="add")
    return build("reshape", build("transpose", whole, axes=(0, 2, 1, 3)), newshape=(-3, -3))


def _dense_product(site: Backward) -> Expr:
    dense = site.args[0]
    whole = dense_matrix(site, 1, site.tensor_type(dense).shape[1])
    return build("nn.dense", *((whole, dense) if site.attrs.sparse_lhs else (dense, whole)))


def _dense_sum(site: Backward) -> Expr:
    dense = site.args[0]
    return dense + dense_matrix(site, 1, site.tensor_type(dense).shape[1])


def _transpose_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """Gradients go back to where the elements came from."""
    data, *rest = site.args
    gradient = site.gradients[0]
    if gradient is None:
        return []
    (numbers,) = numbered([data], site.tensor_type)
    moved = TupleGetItem(build("nn.sparse_transpose", numbers, *rest), 0)
    return [added_at(build("zeros_like", data), moved, gradient)]


# --- products ----------------------------------------------------------------------------------


@attrs
class SparseDenseAttrs(Attrs):
    """sparse_lhs: the sparse matrix is the left operand"""

    sparse_lhs: bool = False


def _sparse_dense_type(site: Site) -> Type | None:
    """(m, k) x sparse (n, k) -> (m, n), or (n, m) with the sparse matrix on the left"""
    dense, rows = site.tensor(0, rank=2), stored_rows(site, 1)
    data = site.tensor(1)
    if dense is None or rows is None or data is None:
        return None
    site.require_same_dtype(dense, data)
    require_columns(site, 1, dense.shape[1])
    shape = (rows, dense.shape[0]) if site.attrs.sparse_lhs else (dense.shape[0], rows)
    return TensorType(shape, dense.dtype)


def _sparse_dense(
    dense: np.ndarray,
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    sparse_lhs: bool,
) -> Any:
    whole = to_dense(data, indices, indptr, dense.shape[1])
    return matrix_product(whole, dense.T) if sparse_lhs else matrix_product(dense, whole.T)


def _sparse_dense_loops(
    dense: te.Tensor,
    data: te.Tensor,
    indices: te.Tensor,
    indptr: te.Tensor,
    sparse_lhs: bool,
    out: te.Spec,
) -> te.Tensor:
    height, width = block_shape(data)
    rows, columns = indptr.shape[0] - 1, dense.shape[1] // width
    wide = scalars.wide(out.dtype)

    def write(b: te.Builder, result: te.Buffer) -> None:
        with spread(b, (dense.shape[0], rows)) as (m, row), b.loop(height) as y:
            total = b.variable(wide, 0, "total")
            with (
                stored_in_row(b, indices, indptr, row, columns) as (number, column),
                b.loop(width) as x,
            ):
                left = scalars.widened(stored_at(data, number, y, x))
                right = scalars.widened(dense[m, column * width + x])
                b.store(total, (), total[()] + left * right)
            n = row * height + y
            b.store(result, (n, m) if sparse_lhs else (m, n), te.cast(total[()], out.dtype))

    inputs = [dense, data, indices, indptr]
    return te.procedure(inputs, [(out.shape, out.dtype)], write, "sparse_dense")[0]


def sparse_dense(dense_mat: Expr, sparse_mat: Any, sparse_lhs: bool = False) -> Call:
    """`dense` with a sparse weight: a matrix of SciPy, or (data, indices, indptr)."""
    return SPARSE_DENSE(dense_mat, *parts_of(sparse_mat), sparse_lhs=sparse_lhs)


_PRODUCT_SAMPLES = (
    sample((2, 5), (5,), *_CSR),
    sample((3, 5), (5,), *_CSR, sparse_lhs=True, dtype="int32"),
    sample((2, 6), (3, 2, 3), *_BSR, dtype="float64"),
    sample((2, 6), (3, 2, 3), *_BSR, sparse_lhs=True, dtype="float16"),
)

SPARSE_DENSE = define(
    "nn.sparse_dense",
    doc="A dense matrix times the transpose of a sparse one; or, with `sparse_lhs`, the sparse one "
    "times the transpose of the dense one.",
    arguments=[("dense_data", "a matrix, (m, k)"), *PARTS],
    attrs=SparseDenseAttrs,
    relation=_sparse_dense_type,
    reference=rounded_once(_sparse_dense),
    compute=_sparse_dense_loops,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    helper=sparse_dense,
    samples=_PRODUCT_SAMPLES,
    gradient=Composed(_dense_product),
)

sparse_dense_padded = define(
    "nn.internal.sparse_dense_padded",
    doc="`nn.sparse_dense` of a matrix with rows padded by stored zeros.",
    arguments=[
        ("data", "a matrix, (m, k)"),
        *((name.replace("sparse", "weight"), meaning) for name, meaning in PARTS),
    ],
    attrs=SparseDenseAttrs,
    relation=_sparse_dense_type,
    reference=rounded_once(_sparse_dense),
    compute=_sparse_dense_loops,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    samples=_PRODUCT_SAMPLES,
    gradient=LOWERED,
)

# --- sums and transposes -----------------------------------------------------------------------


def _sparse_add_type(site: Site) -> Type | None:
    """(m, n) + sparse (m, n) -> (m, n)"""
    dense, rows = site.tensor(0, rank=2), stored_rows(site, 1)
    data = site.tensor(1)
    if dense is None or rows is None or data is None:
        return None
    site.require_same_dtype(dense, data)
    require_columns(site, 1, dense.shape[1])
    rows = site.require_equal(dense.shape[0], rows, "rows of the two matrices")
    return TensorType((rows, dense.shape[1]), dense.dtype)


def _sparse_add_loops(
    dense: te.Tensor, data: te.Tensor, indices: te.Tensor, indptr: te.Tensor, out: te.Spec
) -> te.Tensor:
    height, width = block_shape(data)
    columns = dense.shape[1]
    wide = scalars.wide(out.dtype)

    def write(b: te.Builder, result: te.Buffer) -> None:
        with spread(b, (indptr.shape[0] - 1, height)) as (row, y):
            place = b.let(row * height + y)
            sums = b.local(wide, (columns,), "sums")
            with b.loop(columns) as i:
                b.store(sums, i, scalars.widened(dense[place, i]))
            with (
                stored_in_row(b, indices, indptr, row, columns // width) as (number, column),
                b.loop(width) as x,
            ):
                i = b.let(column * width + x)
                b.store(sums, i, sums[i] + scalars.widened(stored_at(data, number, y, x)))
            with b.loop(columns) as i:
                b.store(result, (place, i), te.cast(sums[i], out.dtype))

    inputs = [dense, data, indices, indptr]
    return te.procedure(inputs, [(out.shape, out.dtype)], write, "sparse_add")[0]


def sparse_add(dense_mat: Expr, sparse_mat: Any) -> Call:
    """dense_mat plus a sparse matrix: one of SciPy, or (data, indices, indptr)."""
    return SPARSE_ADD(dense_mat, *parts_of(sparse_mat))


SPARSE_ADD = define(
    "nn.sparse_add",
    doc="A dense matrix plus a sparse one; integers wrap.",
    arguments=[("dense_data", "a matrix"), *PARTS],
    relation=_sparse_add_type,
    reference=rounded_once(
        lambda dense, data, indices, indptr: dense + to_dense(data, indices, indptr, dense.shape[1])
    ),
    compute=_sparse_add_loops,
    helper=sparse_add,
    samples=[
        sample((4, 5), (5,), *_CSR),
        sample((4, 6), (3, 2, 3), *_BSR, dtype="bfloat16"),
        sample((4, 5), (5,), *_CSR, dtype="int8", low=-128, high=128),
    ],
    gradient=Composed(_dense_sum),
)


def _sparse_transpose_type(site: Site) -> Type | None:
    """Three parts in, three parts of the same types out."""
    if stored_rows(site, 0, ranks=(1,)) is None:
        return None
    return TupleType(tuple(site.args))


def _sparse_transpose(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Sort by column, then by row."""
    size = len(indptr) - 1
    rows, columns = row_numbers(indptr, len(indices)), checked(indices, size)
    order = np.argsort(columns, kind="stable")
    ends = np.cumsum(np.bincount(columns, minlength=size))
    return (
        data[order],
        rows[order].astype(indices.dtype),
        np.concatenate(([0], ends)).astype(indptr.dtype),
    )


def _sparse_transpose_loops(
    data: te.Tensor, indices: te.Tensor, indptr: te.Tensor, out: tuple[te.Spec, ...]
) -> tuple[te.Tensor, ...]:
    """A counting sort by column."""
    size = indptr.shape[0] - 1

    def write(b: te.Builder, values: te.Buffer, rows: te.Buffer, bounds: te.Buffer) -> None:
        # ends[c] is the position of the next element of column c
        ends = b.local("int64", (size + 1,), "ends")
        with b.loop(size + 1) as i:
            b.store(ends, i, 0)
        with b.loop(size) as row, stored_in_row(b, indices, indptr, row, size) as (_, column):
            b.store(ends, column + 1, ends[column + 1] + 1)
        with b.loop(size) as i:
            b.store(ends, i + 1, ends[i + 1] + ends[i])
        with b.loop(size + 1) as i:
            b.store(bounds, i, te.cast(ends[i], bounds.dtype))
        with b.loop(size) as row, stored_in_row(b, indices, indptr, row, size) as (number, column):
            place = b.let(ends[column])
            b.store(values, place, data[number])
            b.store(rows, place, te.cast(row, rows.dtype))
            b.store(ends, column, place + 1)

    outputs = [(spec.shape, spec.dtype) for spec in out]
    return te.procedure([data, indices, indptr], outputs, write, "sparse_transpose")


def sparse_transpose(x: Any) -> TupleWrapper:
    """The transpose of a sparse matrix of SciPy, or of (data, indices, indptr)."""
    return TupleWrapper(SPARSE_TRANSPOSE(*parts_of(x)), 3)


SPARSE_TRANSPOSE = define(
    "nn.sparse_transpose",
    doc="The transpose of a square CSR matrix in CSR format, with sorted columns.",
    arguments=PARTS,
    relation=_sparse_transpose_type,
    reference=_sparse_transpose,
    compute=_sparse_transpose_loops,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    helper=sparse_transpose,
    samples=[
        sample((5,), np.array([3, 0, 4, 1, 1]), np.array([0, 2, 2, 3, 5, 5])),
        sample(
            (4,), np.array([1, 0, 2, 0], "int32"), np.array([0, 2, 3, 4], "int32"), dtype="int8"
        ),
        sample((0,), np.zeros(0, "int32"), np.array([0, 0], "int32")),
    ],
    gradient=_transpose_gradient,
)
