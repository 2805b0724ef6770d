"""Matrix products. They are accumulated in the element type of the result, narrow floats in
float32; integers wrap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from relay import dtypes, te
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import ANY, Dim
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType, Type
from relay.op.building.contraction import Factors, contraction
from relay.op.building.elements import stretched_index
from relay.op.building.helper import helper
from relay.op.building.layouts import blocked_shape, require_layout, unblocked, unblocked_shape
from relay.op.building.numerics import computing_dtype, matrix_product
from relay.op.building.views import Digits, along, running, view
from relay.op.facts import Precision, Trait
from relay.op.gradient_rules import Backward, Composed, build
from relay.op.opdef import DType, FusionKind, Tensor, define, sample
from relay.op.quantization import product
from relay.op.site import NUMERIC, Site
from relay.op.tensor.collapse import collapse_sum_like
from relay.op.tensor.reshape import RESHAPE
from relay.op.tensor.shape import expand_dims

# --- element types of products, for convolutions too -------------------------------------------


def product_dtype(site: Site, left: TensorType, right: TensorType | None) -> str:
    """The element type of a product of two tensors: `out_dtype`, else that of the first.

    Floats must agree. Integers of different types may be mixed when `out_dtype` is given.
    """
    for index in (0, 1):
        site.require_elements(index, NUMERIC)
    wanted: str | None = site.attrs.out_dtype
    if right is not None and right.dtype != left.dtype:
        mixed = dtypes.is_integer(left.dtype) and dtypes.is_integer(right.dtype)
        if not (mixed and wanted):
            site.require_same_dtype(left, right)
    if wanted and dtypes.is_float(left.dtype) and not dtypes.is_float(wanted):
        site.fail(
            "`out_dtype` would cut off fractions",
            "a floating-point type",
            f'out_dtype = "{wanted}" for {left}',
            "convert the result with `cast`",
        )
    return wanted or left.dtype


def multiplied(product: Any, left: np.ndarray, right: np.ndarray, out_dtype: str | None) -> Any:
    """`product(left, right)` computed in, and rounded to, the element type of the result."""
    result = dtypes.to_numpy(out_dtype) if out_dtype else left.dtype
    wide = computing_dtype(result)
    operands = (side.astype(wide, copy=False) for side in (left, right))
    return np.asarray(product(*operands)).astype(result, copy=False)


# --- dense -------------------------------------------------------------------------------------


@attrs
class DenseAttrs(Attrs):
    """units: the number of outputs; determines the type of an unknown weight
    out_dtype: the element type of the result; None is that of data
    """

    units: int | None = None
    out_dtype: DType | None = None


def _dense_type(site: Site) -> Type | None:
    """(…, k) x (units, k) -> (…, units)"""
    site.require_rank(0, at_least=1)
    data, weight = site.tensor(0), site.tensor(1, rank=2)
    if data is None:
        return None
    units: Dim | None = site.attrs.units
    if weight is None:
        if units is None:
            return None
        site.assign(1, TensorType((units, data.shape[-1]), data.dtype))
    else:
        site.require_equal(data.shape[-1], weight.shape[1], "last extents of data and weight")
        rows = weight.shape[0]
        units = rows if units is None else site.require_equal(rows, units, "rows and `units`")
    return TensorType((*data.shape[:-1], units), product_dtype(site, data, weight))


def dense_compute(
    data: te.Tensor, weight: te.Tensor, out: te.Spec, weight_layout: str = "NC", **_: Any
) -> te.Tensor:
    """The product of data and the transposed weight, which may be blocked."""
    rows = view(weight, weight_layout)
    index, axes = running(data.shape[-1], rows.layout.blocks("C"), "r")
    head, blocks = out.shape[:-1], rows.layout.blocks("N")
    units = (out.shape[-1] // prod(blocks), *map(te.index, blocks))

    def factors(*i: te.Expr) -> Factors:
        unit = Digits(tuple(zip(i[len(head) :], units, strict=True)))
        return data[(*i[: len(head)], index.whole)], rows.at(N=unit, C=index)

    sums = contraction(te.Spec((*head, *units), out.dtype), factors, axes, "dense")
    if not blocks:
        return sums
    return te.compute(
        out.shape, lambda *i: sums[(*i[:-1], *along(i[-1], out.shape[-1]).cut(blocks))], "result"
    )


def _rows(data: Expr, ty: TensorType) -> Expr:
    """(…, n) as (rows, n)"""
    for _ in ty.shape[2:]:
        data = RESHAPE(data, newshape=(-3, -2))
    return data


def _dense_gradient(site: Backward) -> Sequence[Expr]:
    data, weight = site.args
    ty = site.tensor_type(data)
    gradient = site.as_type_of(data)
    by_data = build("nn.matmul", gradient, weight)
    if len(ty.shape) == 1:
        data, gradient = expand_dims(data, 0), expand_dims(gradient, 0)
    else:
        data, gradient = _rows(data, ty), _rows(gradient, site.type)
    return [by_data, build("nn.matmul", gradient, data, transpose_a=True)]


dense = define(
    "nn.dense",
    doc="data times the transpose of weight: a dense layer.",
    arguments=[("data", "the input, (…, k)"), ("weight", "one row per output, (units, k)")],
    attrs=DenseAttrs,
    relation=_dense_type,
    reference=lambda data, weight, units, out_dtype: multiplied(
        lambda x, w: matrix_product(x, w.T), data, weight, out_dtype
    ),
    compute=dense_compute,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    traits=Trait.BILINEAR,
    quantization=product(lambda attrs: 0),
    gradient=_dense_gradient,
    precision=Precision.ALWAYS,
    samples=[
        sample((2, 3), (4, 3)),
        sample((2, 5, 3), (4, 3), units=4),
        sample((2, 3), (4, 3), dtype="int8", low=-99, high=99, out_dtype="int32"),
        sample((2, 3), Tensor((4, 3), "int8"), dtype="uint8", out_dtype="int32"),
        sample((3,), (4, 3), dtype="bfloat16"),
        sample((0, 3), (4, 3), dtype="float16", out_dtype="float32"),
    ],
)


@attrs
class DensePackAttrs(Attrs):
    """weight_layout: the order of the axes of weight: N outputs, C inputs, and blocks of them
    units: the number of outputs; determines the type of an unknown weight
    out_dtype: the element type of the result; None is that of data
    """

    weight_layout: str = "NC"
    units: int | None = None
    out_dtype: DType | None = None


def _dense_pack_type(site: Site) -> Type | None:
    """(…, k) x blocked (units, k) -> (…, units)"""
    site.require_rank(0, at_least=1)
    layout = require_layout(site, "weight_layout", site.attrs.weight_layout, "NC")
    data, weight = site.tensor(0), unblocked_shape(site, 1, layout, "NC")
    if data is None:
        return None
    units: Dim | None = site.attrs.units
    if weight is None:
        if units is None:
            return None
        shape = blocked_shape(site, (units, data.shape[-1]), "NC", layout)
        site.assign(1, TensorType(shape, data.dtype))
    else:
        rows, depth = weight
        site.require_equal(data.shape[-1], depth, "last extents of data and weight")
        units = rows if units is None else site.require_equal(rows, units, "rows and `units`")
    return TensorType((*data.shape[:-1], units), product_dtype(site, data, site.tensor(1)))


def _unpacked_dense(site: Backward) -> Expr:
    """`dense` with the weight unblocked."""
    data, weight = site.args
    known = {"src_layout": site.attrs.weight_layout, "dst_layout": "NC"}
    plain = weight if known["src_layout"] == "NC" else build("layout_transform", weight, **known)
    return dense(data, plain, out_dtype=site.attrs.out_dtype)


contrib_dense_pack = define(
    "nn.contrib_dense_pack",
    doc="`nn.dense` with a blocked weight.",
    arguments=[("data", "the input, (…, k)"), ("weight", "one row per output, blocked")],
    attrs=DensePackAttrs,
    relation=_dense_pack_type,
    reference=lambda data, weight, weight_layout, units, out_dtype: multiplied(
        lambda x, w: matrix_product(x, w.T), data, unblocked(weight, weight_layout, "NC"), out_dtype
    ),
    compute=dense_compute,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    precision=Precision.ALWAYS,
    samples=[
        sample((2, 6), (2, 6, 4), weight_layout="NC4n", units=8),
        sample((3, 6), (2, 3, 4, 2), weight_layout="NC4n2c", dtype="float16"),
        sample((2, 4), (3, 4), dtype="int8", low=-99, high=99, out_dtype="int32"),
        sample(
            (2, 4),
            Tensor((4, 2, 3), "int8"),
            weight_layout="CN3n",
            dtype="uint8",
            out_dtype="int32",
        ),
    ],
    gradient=Composed(_unpacked_dense),
)

# --- matmul ------------------------------------------------------------------------------------


@attrs
class MatmulAttrs(DenseAttrs):
    """transpose_a: transpose the first matrix
    transpose_b: transpose the second matrix
    """

    transpose_a: bool = False
    transpose_b: bool = False


@attrs
class BatchMatmulAttrs(Attrs):
    """out_dtype: the element type of the result; None is that of the first matrix
    transpose_a: transpose the first matrices
    transpose_b: transpose the second matrices
    """

    out_dtype: DType | None = None
    transpose_a: bool = False
    transpose_b: bool = False


def _matmul_type(site: Site) -> Type | None:
    """(…, m, k) x (k, n) -> (…, m, n), with either matrix transposed first"""
    site.require_rank(0, at_least=2 if site.attrs.transpose_a else 1)
    left, right = site.tensor(0), site.tensor(1, rank=2)
    if left is None:
        return None
    *batch, rows, inner = (1, *left.shape) if len(left.shape) == 1 else left.shape
    if site.attrs.transpose_a:
        rows, inner = inner, rows
    units: Dim | None = site.attrs.units
    if right is None:
        if units is None:
            return None
        shape = (units, inner) if site.attrs.transpose_b else (inner, units)
        site.assign(1, TensorType(shape, left.dtype))
    else:
        depth, columns = right.shape[::-1] if site.attrs.transpose_b else right.shape
        site.require_equal(inner, depth, "inner extents")
        units = columns if units is None else site.require_equal(columns, units, "`units`")
    head = (*batch, rows) if len(left.shape) > 1 else ()
    return TensorType((*head, units), product_dtype(site, left, right))


def _matmul(
    a: np.ndarray,
    b: np.ndarray,
    out_dtype: str | None,
    transpose_a: bool,
    transpose_b: bool,
    units: int | None = None,
) -> Any:
    left = np.swapaxes(a, -1, -2) if transpose_a else a
    right = np.swapaxes(b, -1, -2) if transpose_b else b
    return multiplied(matrix_product, left, right, out_dtype)


def matmul_compute(
    a: te.Tensor,
    b: te.Tensor,
    out: te.Spec,
    transpose_a: bool,
    transpose_b: bool,
    **_: Any,
) -> te.Tensor:
    """The matrix product; a missing batch is broadcast."""
    inner = te.axis(a.shape[-2 if transpose_a else -1], "r")

    def factors(*i: te.Expr) -> Factors:
        *batch, row, column = i if a.rank > 1 else (te.index(0), *i)
        left = (inner, row) if transpose_a else (row, inner)
        right = (column, inner) if transpose_b else (inner, column)
        return _of_batch(a, batch, left, out), _of_batch(b, batch, right, out)

    return contraction(out, factors, [inner], "matmul")


def _of_batch(
    tensor: te.Tensor, batch: Sequence[te.Expr], place: tuple[te.Expr, te.Expr], out: te.Spec
) -> te.Expr:
    """An element of a matrix of a batch; a vector is a matrix of one row."""
    if tensor.rank < 2:
        return tensor[place[1]]
    return tensor[(*stretched_index(tensor.shape[:-2], tuple(batch), out.shape[:-2]), *place)]


def matmul(
    tensor_a: Expr,
    tensor_b: Expr,
    units: int | None = None,
    out_dtype: str = "",
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Call:
    """tensor_a times tensor_b; with only the second transposed this is `dense`."""
    if transpose_b and not transpose_a:
        return dense(tensor_a, tensor_b, units=units, out_dtype=out_dtype)
    return MATMUL(tensor_a, tensor_b, units, out_dtype, transpose_a, transpose_b)


def _factor_gradients(site: Backward, product: Callable[..., Expr]) -> Sequence[Expr]:
    """The gradients of c = a b, with either transposed first."""
    left, right = site.args
    a, b = bool(site.attrs.transpose_a), bool(site.attrs.transpose_b)

    def of(x: Expr, y: Expr, transpose_x: bool, transpose_y: bool) -> Expr:
        return product(x, y, transpose_a=transpose_x, transpose_b=transpose_y)

    g = site.as_type_of(left)
    by_left = of(right, g, b, True) if a else of(g, right, False, not b)
    by_right = of(g, left, True, a) if b else of(left, g, not a, False)
    return [by_left, by_right]


def _matmul_gradient(site: Backward) -> Sequence[Expr]:
    left, right = site.args
    if len(site.tensor_type(left).shape) == 2:
        return _factor_gradients(site, matmul)
    # all matrices on the left are merged into one
    transposed = bool(site.attrs.transpose_b)
    gradient = site.as_type_of(left)
    rows, gradients = _rows(left, site.tensor_type(left)), _rows(gradient, site.type)
    sides = (gradients, rows) if transposed else (rows, gradients)
    by_left = matmul(gradient, right, transpose_b=not transposed)
    return [by_left, matmul(*sides, transpose_a=True)]


def _batch_matmul_gradient(site: Backward) -> Sequence[Expr]:
    """A matrix that was used for all of a batch gets the sum."""
    found = _factor_gradients(site, batch_matmul)
    shapes = [site.tensor_type(arg).shape for arg in site.args]
    if shapes[0][0] == shapes[1][0] and shapes[0][0] is not ANY:
        return found
    return [collapse_sum_like(g, arg) for g, arg in zip(found, site.args, strict=True)]


MATMUL = define(
    "nn.matmul",
    doc="The product of matrices with one matrix, with either transposed first.",
    arguments=[("tensor_a", "matrices, (…, m, k)"), ("tensor_b", "a matrix, (k, n)")],
    attrs=MatmulAttrs,
    relation=_matmul_type,
    reference=_matmul,
    compute=matmul_compute,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    traits=Trait.BILINEAR,
    quantization=product(lambda attrs: 0 if attrs.transpose_b else 1),
    gradient=_matmul_gradient,
    precision=Precision.ALWAYS,
    helper=matmul,
    samples=[
        sample((2, 3), (3, 4)),
        sample((5, 2, 3), (3, 4), units=4),
        sample((3, 2), (3, 4), transpose_a=True),
        sample((2, 3), (4, 3), transpose_b=True, dtype="float64"),
        sample((3, 2), (4, 3), transpose_a=True, transpose_b=True, dtype="float16"),
        sample((2, 3), (3, 4), dtype="int8", low=-99, high=99, out_dtype="int32"),
    ],
)


def _batch_matmul_type(site: Site) -> Type | None:
    """(b, m, k) x (b, k, n) -> (b, m, n), with either transposed first; a batch of 1 is
    broadcast"""
    if (operands := site.tensors(rank=3)) is None:
        return None
    left, right = operands
    batch, rows, inner = left.shape
    other, depth, columns = right.shape
    if site.attrs.transpose_a:
        rows, inner = inner, rows
    if site.attrs.transpose_b:
        depth, columns = columns, depth
    site.require_equal(inner, depth, "inner extents")
    joined = site.broadcast(batch, other)
    if joined is None:
        site.fail("batches differ", "equal batches, or one of 1", f"{left} and {right}")
    return TensorType((joined, rows, columns), product_dtype(site, left, right))


BATCH_MATMUL = define(
    "nn.batch_matmul",
    doc="Batched matrix products; a batch of one is broadcast.",
    arguments=[("tensor_a", "matrices, (b, m, k)"), ("tensor_b", "matrices, (b, k, n)")],
    attrs=BatchMatmulAttrs,
    relation=_batch_matmul_type,
    reference=_matmul,
    compute=matmul_compute,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    traits=Trait.BILINEAR,
    quantization=product(lambda attrs: None),
    gradient=_batch_matmul_gradient,
    precision=Precision.ALWAYS,
    samples=[
        sample((5, 2, 3), (5, 3, 4)),
        sample((5, 2, 3), (1, 4, 3), transpose_b=True, dtype="float64"),
        sample((1, 3, 2), (5, 3, 4), transpose_a=True, dtype="bfloat16"),
        sample((5, 2, 3), (5, 3, 4), dtype="int8", low=-99, high=99, out_dtype="int32"),
    ],
)
batch_matmul: Callable[..., Call] = helper(
    BATCH_MATMUL,
    "Batched matrix products; the second matrices are transposed by default.",
    out_dtype="",
    transpose_b=True,
)
