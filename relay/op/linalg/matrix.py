"""Triangles and diagonals of the matrices in the last two axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import te
from relay.errors import RelayError
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr, TupleWrapper, const
from relay.ir.types import TensorType, Type
from relay.op.facts import Precision
from relay.op.gradient_rules import build, scattering
from relay.op.opdef import FusionKind, define, sample
from relay.op.site import INTEGER, Site

# --- triangles ---------------------------------------------------------------------------------


@attrs
class TriluAttrs(Attrs):
    """upper: keep the upper triangle instead of the lower"""

    upper: bool = True


def _trilu_type(site: Site) -> Type | None:
    """The type of data; the diagonal is a scalar."""
    site.tensor(1, rank=0)
    site.require_elements(1, INTEGER)
    site.require_rank(0, at_least=2)
    return site.tensor(0)


def _trilu(data: np.ndarray, k: np.ndarray, upper: bool) -> np.ndarray:
    rows, columns = np.ogrid[: data.shape[-2], : data.shape[-1]]
    above = columns - rows
    kept = above >= int(k) if upper else above <= int(k)
    return np.where(kept, data, np.zeros(()).astype(data.dtype))


def _trilu_compute(data: te.Tensor, k: te.Tensor, out: te.Spec, upper: bool) -> te.Tensor:
    def element(*i: te.Expr) -> te.Expr:
        above, first = i[-1] - i[-2], te.cast(k[()], "int64")
        return te.select(above >= first if upper else above <= first, data[i], 0)

    return te.compute(out.shape, element, "triangle")


def trilu(data: Expr, k: int | Expr, upper: bool = True) -> Call:
    """The triangle of each matrix from diagonal `k`; 0 is the main diagonal, 1 the one above it."""
    number = k if isinstance(k, Expr | TupleWrapper) else const(k, "int32")
    return TRILU(data, number, upper=upper)


TRILU = define(
    "trilu",
    doc="Each matrix with zeros below or above a diagonal; 0 is the main diagonal, positive ones "
    "are above it.",
    arguments=[("data", "matrices"), ("k", "the diagonal, an integer scalar")],
    attrs=TriluAttrs,
    relation=_trilu_type,
    reference=_trilu,
    compute=_trilu_compute,
    fusion=FusionKind.ELEMWISE,
    precision=Precision.FOLLOW,
    helper=trilu,
    samples=[
        sample((3, 4), np.array(0, "int32")),
        sample((2, 4, 3), np.array(-1, "int64"), upper=False, dtype="int32"),
        sample((3, 3), np.array(2, "int8"), dtype="bool"),
        sample((0, 2), np.array(9, "int32"), dtype="bfloat16"),
    ],
    gradient=lambda site: [build("trilu", site.gradient, site.args[1], upper=site.attrs.upper)],
)

# --- diagonals ---------------------------------------------------------------------------------


@attrs
class MatrixSetDiagAttrs(Attrs):
    """k1: the lowest diagonal; 0 is the main one, those above it have positive numbers
    k2: the highest diagonal
    super_diag_right_align: the main diagonal and those above it end, not start, in one column
    sub_diag_right_align: the diagonals below it end, not start, in one column
    """

    k1: int = 0
    k2: int = 0
    super_diag_right_align: bool = True
    sub_diag_right_align: bool = False


def _matrix_set_diag_type(site: Site) -> Type | None:
    """The type of input; diagonals are rows, the highest first."""
    known: MatrixSetDiagAttrs = site.attrs
    site.require_rank(0, at_least=2)
    site.require(
        known.k1 <= known.k2,
        "`k1` is above `k2`",
        "the lower diagonal first",
        f"k1 = {known.k1}, k2 = {known.k2}",
    )
    if (matrix := site.tensor(0)) is None:
        return None
    *batch, rows, columns = matrix.shape
    for k in (known.k1, known.k2):
        if k:
            room = dims.add(rows, k - 1) if k < 0 else dims.subtract(columns, k + 1)
            site.require_natural(
                room, f"there is no diagonal {k}", f"a diagonal of {matrix}", f"{k}"
            )
    count = known.k2 - known.k1 + 1
    shape = (*batch, *((count,) if count > 1 else ()), _longest(rows, columns, known))
    diagonal = site.expect(1, shape, matrix.dtype)
    return TensorType((*diagonal.shape[: len(batch)], rows, columns), matrix.dtype)


def _longest(rows: Dim, columns: Dim, known: MatrixSetDiagAttrs) -> Dim:
    """The length of the longest diagonal from k1 to k2."""
    return dims.minimum(dims.add(rows, min(known.k2, 0)), dims.subtract(columns, max(known.k1, 0)))


def _matrix_set_diag(matrix: np.ndarray, diagonal: np.ndarray, **keywords: int) -> np.ndarray:
    known = MatrixSetDiagAttrs(**keywords)  # type: ignore[arg-type]
    rows, columns = matrix.shape[-2:]
    result = matrix.copy()
    for k in range(known.k1, known.k2 + 1):
        length = min(rows + min(k, 0), columns - max(k, 0))
        line = diagonal if known.k1 == known.k2 else diagonal[..., known.k2 - k, :]
        right = known.super_diag_right_align if k >= 0 else known.sub_diag_right_align
        start = line.shape[-1] - length if right else 0
        places = np.arange(length)
        result[..., places - min(k, 0), places + max(k, 0)] = line[..., start : start + length]
    return result


def _matrix_set_diag_compute(
    matrix: te.Tensor, diagonal: te.Tensor, out: te.Spec, **keywords: int
) -> te.Tensor:
    known = MatrixSetDiagAttrs(**keywords)  # type: ignore[arg-type]
    rows, columns = matrix.shape[-2:]

    def element(*i: te.Expr) -> te.Expr:
        *batch, row, column = i
        k = column - row
        length = te.minimum(rows + te.minimum(k, 0), columns - te.maximum(k, 0))
        right = diagonal.shape[-1] - length
        start = te.select(
            k >= 0,
            right if known.super_diag_right_align else te.index(0),
            right if known.sub_diag_right_align else te.index(0),
        )
        line = () if known.k1 == known.k2 else (known.k2 - k,)
        return te.select(
            te.every(k >= known.k1, k <= known.k2),
            diagonal[(*batch, *line, start + te.minimum(row, column))],
            matrix[i],
        )

    return te.compute(out.shape, element, "diagonals")


def matrix_set_diag(
    data: Expr,
    diagonal: Expr,
    k: int | Sequence[int] = 0,
    align: str = "RIGHT_LEFT",
) -> Call:
    """Replace the diagonal `k`, or those from k[0] to k[1], of each matrix. `align` is the side on
    which the diagonals above and below the main one are padded."""
    low, high = (k, k) if isinstance(k, int) else (k[0], k[-1])
    sides = align.split("_")
    if len(sides) != 2 or not set(sides) <= {"LEFT", "RIGHT"}:
        raise RelayError(
            f'`align` must be two of LEFT and RIGHT, as in "RIGHT_LEFT", found {align!r}'
        )
    above, below = (side == "RIGHT" for side in sides)
    return MATRIX_SET_DIAG(
        data,
        diagonal,
        k1=low,
        k2=high,
        super_diag_right_align=above,
        sub_diag_right_align=below,
    )


MATRIX_SET_DIAG = define(
    "matrix_set_diag",
    doc="Each matrix with some diagonals replaced. They are rows, the highest first, as long as "
    "the longest; shorter ones are aligned to the left or right.",
    arguments=[
        ("input", "matrices"),
        ("diagonal", "the diagonals of each matrix: one row, or one each for k2, …, k1"),
    ],
    attrs=MatrixSetDiagAttrs,
    relation=_matrix_set_diag_type,
    reference=_matrix_set_diag,
    compute=_matrix_set_diag_compute,
    fusion=FusionKind.INJECTIVE,
    precision=Precision.FOLLOW,
    helper=matrix_set_diag,
    samples=[
        sample((3, 4), (3,)),
        sample((2, 4, 3), (2, 2), k1=1, k2=1, dtype="int32"),
        sample((2, 3, 4), (2, 4, 3), k1=-1, k2=2),
        sample((4, 3), (3, 3), k1=-2, k2=0, super_diag_right_align=False, dtype="int8"),
        sample((3, 5), (3, 3), k1=-1, k2=1, sub_diag_right_align=True, dtype="float16"),
        sample((0, 2, 2), (0, 2), dtype="bool"),
    ],
    gradient=scattering(2),
)
