"""Quantized matrix products."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from relay import te
from relay.ir.attrs import attrs
from relay.ir.types import TensorType, Type
from relay.op.building.helper import helper
from relay.op.building.layouts import read_layout, unblocked
from relay.op.building.numerics import matrix_product
from relay.op.building.views import place_in
from relay.op.gradient_rules import INTEGER_ARITHMETIC
from relay.op.linalg import matmul
from relay.op.opdef import DType, FusionKind, OpDef, Tensor, define, sample
from relay.op.qnn import products
from relay.op.qnn.parameters import int8, parameter_at, spread, uint8
from relay.op.site import Relation, Site


@attrs
class DenseAttrs(matmul.DenseAttrs):
    """out_dtype: the element type of the sums: int16, int32 or int64"""

    out_dtype: DType | None = products.SUM_DTYPE


def _dense_type(record: OpDef) -> Relation:
    """The relation of the float operator, and of scales and zero points."""

    def relation(site: Site) -> Type | None:
        assert record.relation is not None
        result = record.relation(products.factors(site))
        units = result.shape[-1] if isinstance(result, TensorType) else None
        return products.with_parameters(site, result, units)

    return relation


def _dense(
    data: np.ndarray, weight: np.ndarray, *parameters: np.ndarray, out_dtype: str, **_: Any
) -> Any:
    input_zero_point, kernel_zero_point = parameters[:2]
    left = products.shifted(data, input_zero_point.reshape(()), out_dtype)
    right = products.shifted(weight, spread(kernel_zero_point, 2, 0), out_dtype)
    return matrix_product(left, right.T)


def _dense_compute(
    data: te.Tensor,
    weight: te.Tensor,
    input_zero_point: te.Tensor,
    kernel_zero_point: te.Tensor,
    *_scales: te.Tensor,
    out: te.Spec,
    weight_layout: str = "NC",
    **_: Any,
) -> te.Tensor:
    layout = read_layout(weight_layout)

    def zero_point(*i: te.Expr) -> te.Expr:
        return parameter_at(kernel_zero_point, place_in(layout, i, weight.shape)["N"].whole)

    return matmul.dense_compute(
        products.shifted_by_one(data, input_zero_point, out.dtype),
        products.shifted_compute(weight, zero_point, out.dtype),
        out,
        weight_layout,
    )


_DENSE_DOC = (
    "data minus its zero point, times the transpose of weight minus its zero point. The scale of "
    "the result is input_scale * kernel_scale."
)

DENSE = define(
    "qnn.dense",
    gradient=INTEGER_ARITHMETIC,
    doc=_DENSE_DOC,
    arguments=[
        ("data", "integers, (…, k)"),
        ("weight", "one row per output, (units, k)"),
        *products.PARAMETERS,
    ],
    attrs=DenseAttrs,
    relation=_dense_type(matmul.dense),
    reference=_dense,
    compute=_dense_compute,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    samples=[
        sample(int8(2, 3), int8(4, 3), *products.scalars(3, -7)),
        sample(uint8(5, 2, 3), int8(4, 3), *products.vectors(4), units=4),
        sample(
            Tensor((3,), "uint16", 0, 2**16),
            Tensor((4, 3), "int16", -(2**15), 2**15),
            *products.scalars(2**15, 1),
            out_dtype="int64",
        ),
        sample(int8(0, 3), int8(4, 3), *products.vectors(4)),
    ],
)
dense = helper(DENSE, "A quantized dense layer.")


@attrs
class DensePackAttrs(matmul.DensePackAttrs):
    """out_dtype: the element type of the sums: int16, int32 or int64"""

    out_dtype: DType | None = products.SUM_DTYPE


def _dense_pack(
    data: np.ndarray, weight: np.ndarray, *parameters: Any, weight_layout: str, **known: Any
) -> Any:
    return _dense(data, unblocked(weight, weight_layout, "NC"), *parameters, **known)


DENSE_PACK = define(
    "qnn.contrib_dense_pack",
    gradient=INTEGER_ARITHMETIC,
    doc=_DENSE_DOC + " The weight may be blocked.",
    arguments=[
        ("data", "integers, (…, k)"),
        ("weight", "one row per output, blocked"),
        *products.PARAMETERS,
    ],
    attrs=DensePackAttrs,
    relation=_dense_type(matmul.contrib_dense_pack),
    reference=_dense_pack,
    compute=_dense_compute,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    samples=[
        sample(int8(2, 3), int8(4, 3), *products.scalars(3, -7)),
        sample(
            uint8(2, 8),
            int8(3, 2, 2, 4),
            *products.vectors(6),
            units=6,
            weight_layout="NC2n4c",
            out_dtype="int64",
        ),
    ],
)
contrib_dense_pack = helper(
    DENSE_PACK,
    "A quantized dense layer with a blocked weight.",
    renamed={"weight_layout": "kernel_layout"},
    first=("weight_layout",),
)


@attrs
class BatchMatmulAttrs(matmul.BatchMatmulAttrs):
    """out_dtype: the element type of the sums: int16, int32 or int64"""

    out_dtype: DType | None = products.SUM_DTYPE


def _batch_matmul_type(site: Site) -> Type | None:
    """(b, m, k) x (b, k, n) -> (b, m, n), with either transposed before; a batch of 1 broadcasts"""
    assert matmul.BATCH_MATMUL.relation is not None
    return products.with_parameters(
        site, matmul.BATCH_MATMUL.relation(products.factors(site)), None
    )


def _batch_matmul(
    x: np.ndarray,
    y: np.ndarray,
    *parameters: np.ndarray,
    out_dtype: str,
    transpose_a: bool,
    transpose_b: bool,
) -> Any:
    left, right = (
        products.shifted(matrices, zero_point.reshape(()), out_dtype)
        for matrices, zero_point in zip((x, y), parameters[:2], strict=True)
    )
    return matrix_product(
        left.swapaxes(1, 2) if transpose_a else left,
        right.swapaxes(1, 2) if transpose_b else right,
    )


def _batch_matmul_compute(
    x: te.Tensor, y: te.Tensor, *parameters: te.Tensor, out: te.Spec, **known: Any
) -> te.Tensor:
    left, right = (
        products.shifted_by_one(matrices, zero_point, out.dtype)
        for matrices, zero_point in zip((x, y), parameters[:2], strict=True)
    )
    return matmul.matmul_compute(left, right, out, **known)


BATCH_MATMUL = define(
    "qnn.batch_matmul",
    gradient=INTEGER_ARITHMETIC,
    doc="The products of two batches of matrices minus their zero points; a batch of one is "
    "broadcast. The scale of the result is x_scale * y_scale.",
    arguments=[
        ("x", "quantized matrices, (b, m, k)"),
        ("y", "quantized matrices, (b, k, n)"),
        ("x_zero_point", "the zero point of x"),
        ("y_zero_point", "the zero point of y"),
        ("x_scale", "the scale of x"),
        ("y_scale", "the scale of y"),
    ],
    attrs=BatchMatmulAttrs,
    relation=_batch_matmul_type,
    reference=_batch_matmul,
    compute=_batch_matmul_compute,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    samples=[
        sample(int8(5, 2, 3), int8(5, 3, 4), *products.scalars(3, -7)),
        sample(uint8(5, 2, 3), int8(1, 4, 3), *products.scalars(128, 1), transpose_b=True),
        sample(
            int8(1, 3, 2), int8(5, 3, 4), *products.scalars(1), transpose_a=True, out_dtype="int64"
        ),
    ],
)
batch_matmul = helper(
    BATCH_MATMUL,
    "Batched matrix products; the second matrices are transposed.",
    without=("transpose_a", "transpose_b"),
    build=partial(BATCH_MATMUL, transpose_b=True),
)
