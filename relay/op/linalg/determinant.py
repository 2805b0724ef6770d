"""Determinants of the matrices in the last two axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import te
from relay.ir.types import TensorType, Type
from relay.op.building.numerics import rounded_once
from relay.op.building.scalars import wide
from relay.op.gradient_rules import ArgumentGradient, Backward, build
from relay.op.loop_nest import nest, spread
from relay.op.opdef import define, sample
from relay.op.site import FLOATING, Site


def _determinant_type(site: Site) -> Type | None:
    """(…, n, n) -> (…)"""
    site.require_elements(0, FLOATING)
    site.require_rank(0, at_least=2)
    if (data := site.tensor(0)) is None:
        return None
    *batch, rows, columns = data.shape
    site.require_equal(rows, columns, "rows and columns")
    return TensorType(tuple(batch), data.dtype)


def _determinant(data: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.det(data), data.dtype)


def _determinant_loops(data: te.Tensor, out: te.Spec) -> te.Tensor:
    """Gaussian elimination with partial pivoting: the product of the pivots and of the signs of the
    row exchanges."""
    dtype, count = wide(out.dtype), data.shape[-1]

    def write(b: te.Builder, result: te.Buffer) -> None:
        with spread(b, data.shape[:-2]) as batch:
            matrix = b.local(dtype, (count, count), "matrix")
            with nest(b, (count, count)) as (i, j):
                b.store(matrix, (i, j), te.cast(data[(*batch, i, j)], dtype))
            product = b.variable(dtype, 1.0, "product")
            with b.loop(count) as k:
                _exchange(b, matrix, product, count, k)
                pivot = b.let(matrix[k, k])
                b.store(product, (), product[()] * pivot)
                with b.if_(te.not_equal(pivot, te.const(0.0, dtype))), b.loop(count - k - 1) as i:
                    row = b.let(k + 1 + i)
                    factor = b.let(matrix[row, k] / pivot)
                    with b.loop(count - k - 1) as j:
                        column = b.let(k + 1 + j)
                        value = matrix[row, column] - factor * matrix[k, column]
                        b.store(matrix, (row, column), value)
            b.store(result, batch, te.cast(product[()], out.dtype))

    return te.procedure([data], [(out.shape, out.dtype)], write, "determinant")[0]


def _exchange(
    b: te.Builder, matrix: te.Buffer, product: te.Buffer, count: te.Expr, k: te.Expr
) -> None:
    """Swap the row with the largest remaining element of column k to row k."""
    best = b.variable("int64", k, "best")
    with b.loop(count - k - 1) as i:
        row = b.let(k + 1 + i)
        size = te.absolute(matrix[row, k])
        with b.if_(size > te.absolute(matrix[best[()], k])):
            b.store(best, (), row)
    chosen = b.let(best[()])
    with b.if_(te.not_equal(chosen, k)):
        b.store(product, (), -product[()])
        with b.loop(count - k) as j:
            column = b.let(k + j)
            value = b.let(matrix[k, column])
            b.store(matrix, (k, column), matrix[chosen, column])
            b.store(matrix, (chosen, column), value)


def _determinant_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """The determinant times the transposed inverse."""
    rank = len(site.type.shape)
    factor = build("expand_dims", site.gradient * site.output, axis=rank, num_newaxis=2)
    axes = [*range(rank), rank + 1, rank]
    return [factor * build("transpose", build("matrix_inverse", site.args[0]), axes=axes)]


determinant = define(
    "determinant",
    doc="The determinant of each matrix.",
    arguments=[("data", "square matrices, the last two axes")],
    relation=_determinant_type,
    reference=rounded_once(_determinant),
    compute=_determinant_loops,
    samples=[
        sample((3, 3)),
        sample((2, 2, 4, 4), dtype="float64"),
        sample((5, 1, 1), dtype="float16"),
        sample((0, 2, 2)),
        sample((0, 0), dtype="bfloat16"),
    ],
    gradient=_determinant_gradient,
)
