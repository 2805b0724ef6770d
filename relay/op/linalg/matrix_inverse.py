"""Inverses of the matrices in the last two axes."""

from __future__ import annotations

import math
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


def _inverse_type(site: Site) -> Type | None:
    """(…, n, n) -> (…, n, n)"""
    site.require_elements(0, FLOATING)
    site.require_rank(0, at_least=2)
    if (data := site.tensor(0)) is None:
        return None
    *batch, rows, columns = data.shape
    site.require_equal(rows, columns, "rows and columns")
    return TensorType((*batch, rows, rows), data.dtype)


def _inverse(data: np.ndarray) -> np.ndarray:
    found = np.full(data.shape, np.nan, data.dtype)
    for place in np.ndindex(data.shape[:-2]):
        try:
            found[place] = np.linalg.inv(data[place])
        except np.linalg.LinAlgError:
            continue  # singular
    return found


def _inverse_loops(data: te.Tensor, out: te.Spec) -> te.Tensor:
    """Gauss-Jordan elimination with partial pivoting."""
    dtype, count = wide(out.dtype), data.shape[-1]

    def write(b: te.Builder, result: te.Buffer) -> None:
        with spread(b, data.shape[:-2]) as batch:
            # the augmented matrix
            both = b.local(dtype, (count, count * 2), "both")
            with nest(b, (count, count)) as (i, j):
                b.store(both, (i, j), te.cast(data[(*batch, i, j)], dtype))
                one = te.select(te.equal(i, j), te.const(1.0, dtype), te.const(0.0, dtype))
                b.store(both, (i, count + j), one)
            with b.loop(count) as k:
                _exchange(b, both, count, k)
                pivot = b.let(both[k, k])
                # a zero pivot means a singular matrix
                none = te.equal(pivot, te.const(0.0, dtype))
                scale = b.let(te.select(none, te.const(math.nan, dtype), 1.0 / pivot))
                with b.loop(count * 2) as j:
                    b.store(both, (k, j), both[k, j] * scale)
                with b.loop(count) as i, b.if_(te.not_equal(i, k)):
                    factor = b.let(both[i, k])
                    with b.loop(count * 2) as j:
                        b.store(both, (i, j), both[i, j] - factor * both[k, j])
            with nest(b, (count, count)) as (i, j):
                b.store(result, (*batch, i, j), te.cast(both[i, count + j], out.dtype))

    return te.procedure([data], [(out.shape, out.dtype)], write, "matrix_inverse")[0]


def _exchange(b: te.Builder, both: te.Buffer, count: te.Expr, k: te.Expr) -> None:
    """Swap the row with the largest remaining element of column k to row k."""
    best = b.variable("int64", k, "best")
    with b.loop(count - k - 1) as i:
        row = b.let(k + 1 + i)
        with b.if_(te.absolute(both[row, k]) > te.absolute(both[best[()], k])):
            b.store(best, (), row)
    chosen = b.let(best[()])
    with b.if_(te.not_equal(chosen, k)), b.loop(count * 2) as j:
        value = b.let(both[k, j])
        b.store(both, (k, j), both[chosen, j])
        b.store(both, (chosen, j), value)


_SAMPLE = np.array([[4.0, 1.0, -1.0], [1.0, -3.0, 0.5], [0.0, 1.0, 5.0]])


def _inverse_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """-y g y, with y, the inverse, transposed."""
    shape = site.type.shape
    rank = len(shape)
    axes = [*range(rank - 2), rank - 1, rank - 2]
    y = build("transpose", site.output, axes=axes)
    rest = "".join(chr(ord("a") + axis) for axis in range(rank - 2))
    equation = f"{rest}wx,{rest}xy,{rest}yz->{rest}wz"
    return [-build("einsum", [y, site.gradient, y], equation=equation)]


matrix_inverse = define(
    "matrix_inverse",
    doc="The inverse of each matrix; NaN for a singular one.",
    arguments=[("data", "square matrices, the last two axes")],
    relation=_inverse_type,
    reference=rounded_once(_inverse),
    compute=_inverse_loops,
    samples=[
        sample(_SAMPLE.astype("float32")),
        sample(np.stack([_SAMPLE[::-1], _SAMPLE * 2])),
        sample(np.array([[[2.0]], [[-4.0]]], "float16")),
        sample((0, 2, 2)),
        sample((0, 0), dtype="bfloat16"),
    ],
    gradient=_inverse_gradient,
)
