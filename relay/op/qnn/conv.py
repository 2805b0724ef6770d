"""Quantized convolutions."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from relay import te
from relay.ir import dims
from relay.ir.attrs import attrs
from relay.ir.dims import Dim
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building.helper import helper
from relay.op.building.layout_rules import CONVOLUTION
from relay.op.building.layouts import read_layout, unblocked
from relay.op.building.views import place_in, view
from relay.op.conv import conv as dense_conv
from relay.op.conv import conv_transpose
from relay.op.conv.conv_compute import convolution, transposed_convolution
from relay.op.gradient_rules import INTEGER_ARITHMETIC
from relay.op.opdef import DType, FusionKind, Tensor, define, sample
from relay.op.qnn import products
from relay.op.qnn.parameters import int8, is_scalar, parameter_at, spread, uint8
from relay.op.site import Site

# --- convolution -------------------------------------------------------------------------------


@attrs
class Conv2DAttrs(dense_conv.Conv2DAttrs):
    """padding: zero points around data; for each axis, or before and then after each
    out_dtype: the element type of the sums: int16, int32 or int64
    """

    out_dtype: DType | None = products.SUM_DTYPE


def _channels(site: Site, result: Type | None) -> Dim | None:
    """The output channels of a convolution."""
    if not isinstance(result, TensorType):
        return None
    layout = read_layout(site.attrs.out_layout or site.attrs.data_layout)
    outer, *_ = layout.places("C")
    return dims.multiply(result.shape[outer], prod(layout.blocks("C")))


def _conv2d_type(site: Site) -> Type | None:
    """(n, c, h, w) * (o, c / groups, kh, kw) -> (n, o, windows…)"""
    result = dense_conv.convolution_type(products.factors(site))
    return products.with_parameters(site, result, _channels(site, result))


def _conv2d(
    data: np.ndarray,
    weight: np.ndarray,
    input_zero_point: np.ndarray,
    kernel_zero_point: np.ndarray,
    input_scale: np.ndarray,
    kernel_scale: np.ndarray,
    known: Conv2DAttrs,
) -> Any:
    assert known.out_dtype is not None
    whole = unblocked(weight, known.kernel_layout, "OIHW")
    zero_point = kernel_zero_point
    if zero_point.size == prod(whole.shape[:2]) != whole.shape[0]:
        zero_point = zero_point.reshape(*whole.shape[:2], 1, 1)  # depthwise: (channels, multiplier)
    else:
        zero_point = spread(zero_point, 4, 0)
    return dense_conv.convolve(
        products.shifted(data, input_zero_point.reshape(()), known.out_dtype),
        products.shifted(whole, zero_point, known.out_dtype),
        replace(known, kernel_layout="OIHW"),
    )


def _conv2d_compute(
    data: te.Tensor,
    weight: te.Tensor,
    input_zero_point: te.Tensor,
    kernel_zero_point: te.Tensor,
    *_scales: te.Tensor,
    out: te.Spec,
    known: Conv2DAttrs,
) -> te.Tensor:
    kernel = view(weight, known.kernel_layout)
    outputs, each = kernel.extent("O"), kernel.extent("I")

    def zero_point(*i: te.Expr) -> te.Expr:
        if is_scalar(kernel_zero_point):
            return parameter_at(kernel_zero_point)
        place = place_in(kernel.layout, i, weight.shape)
        row, column = place["O"].whole, place["I"].whole
        # depthwise, (channels, multiplier): one for each pair
        by_row = te.equal(kernel_zero_point.shape[0], outputs)
        return parameter_at(kernel_zero_point, te.select(by_row, row, row * each + column))

    return convolution(
        products.shifted_by_one(data, input_zero_point, out.dtype),
        products.shifted_compute(weight, zero_point, out.dtype),
        out,
        known,
    )


CONV2D = define(
    "qnn.conv2d",
    gradient=INTEGER_ARITHMETIC,
    doc="The convolution of data and weight, each minus its zero point. Padding is the zero point. "
    "The scale of the result is input_scale * kernel_scale.",
    arguments=[
        ("data", "quantized images"),
        ("weight", "a window of channels for each output channel"),
        *products.PARAMETERS,
    ],
    attrs=Conv2DAttrs,
    relation=_conv2d_type,
    reference=with_attrs(Conv2DAttrs, _conv2d),
    compute=with_attrs(Conv2DAttrs, _conv2d_compute),
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    layout=CONVOLUTION,
    samples=[
        sample(int8(2, 3, 5, 6), int8(4, 3, 3, 2), *products.scalars(3, -7)),
        sample(
            uint8(1, 3, 6, 5),
            int8(4, 3, 3, 3),
            *products.vectors(4),
            strides=(2, 1),
            padding=(1, 0, 2, 1),
            dilation=(1, 2),
            channels=4,
            kernel_size=3,
        ),
        sample(
            uint8(1, 5, 4, 4),
            uint8(3, 2, 2, 6),
            *products.vectors(6),
            groups=2,
            data_layout="NHWC",
            kernel_layout="HWIO",
            out_layout="NCHW",
        ),
        sample(int8(1, 3, 4, 4), int8(3, 2, 3, 3), *products.vectors(6), groups=3),
        sample(
            int8(1, 1, 3, 3, 4),
            int8(1, 1, 2, 2, 4, 4),
            *products.vectors(4),
            data_layout="NCHW4c",
            kernel_layout="OIHW4i4o",
        ),
        sample(
            Tensor((1, 2, 3, 3), "int16", -9999, 9999),
            Tensor((2, 2, 2, 2), "int16", -9, 9),
            *products.scalars(1),
            out_dtype="int64",
        ),
        sample(int8(1, 2, 3, 3), int8(2, 2, 2, 2), *products.scalars(1), out_dtype="int16"),
        sample(int8(0, 2, 3, 3), int8(2, 2, 2, 2), *products.scalars(1)),
    ],
)
conv2d = helper(
    CONV2D,
    "A quantized convolution.",
    renamed={"weight": "kernel"},
    first=("kernel_size", "channels"),
    padding=(0, 0),
)

# --- transposed convolution --------------------------------------------------------------------


@attrs
class Conv2DTransposeAttrs(conv_transpose.Conv2DTransposeAttrs):
    """out_dtype: the element type of the sums: int16, int32 or int64"""

    out_dtype: DType | None = products.SUM_DTYPE


def _conv2d_transpose_type(site: Site) -> Type | None:
    """(n, c, h, w) * (c, o / groups, kh, kw) -> (n, o, extents…)"""
    result = conv_transpose.transposed_type(products.factors(site))
    return products.with_parameters(site, result, _channels(site, result))


def _conv2d_transpose(
    data: np.ndarray,
    weight: np.ndarray,
    input_zero_point: np.ndarray,
    kernel_zero_point: np.ndarray,
    input_scale: np.ndarray,
    kernel_scale: np.ndarray,
    known: Conv2DTransposeAttrs,
) -> Any:
    assert known.out_dtype is not None
    groups, whole = known.groups, unblocked(weight, known.kernel_layout, "IOHW")
    rows, each = whole.shape[:2]
    zero_point = kernel_zero_point
    if zero_point.size > 1:
        # each group has its own rows of the weight and its own output channels
        grouped = np.repeat(zero_point.reshape(groups, each), rows // groups, 0)
        zero_point = grouped.reshape(rows, each, 1, 1)
    return conv_transpose.convolve_transposed(
        products.shifted(data, input_zero_point.reshape(()), known.out_dtype),
        products.shifted(whole, zero_point, known.out_dtype),
        replace(known, kernel_layout="IOHW"),
    )


def _conv2d_transpose_compute(
    data: te.Tensor,
    weight: te.Tensor,
    input_zero_point: te.Tensor,
    kernel_zero_point: te.Tensor,
    *_scales: te.Tensor,
    out: te.Spec,
    known: Conv2DTransposeAttrs,
) -> te.Tensor:
    kernel = view(weight, known.kernel_layout)
    rows, each = kernel.extent("I") // known.groups, kernel.extent("O")

    def zero_point(*i: te.Expr) -> te.Expr:
        if is_scalar(kernel_zero_point):
            return parameter_at(kernel_zero_point)
        place = place_in(kernel.layout, i, weight.shape)
        # each group has its own rows of the weight and its own output channels
        group, _row = place["I"].divided(rows)
        return parameter_at(kernel_zero_point, group.whole * each + place["O"].whole)

    return transposed_convolution(
        products.shifted_by_one(data, input_zero_point, out.dtype),
        products.shifted_compute(weight, zero_point, out.dtype),
        out,
        known,
    )


CONV2D_TRANSPOSE = define(
    "qnn.conv2d_transpose",
    gradient=INTEGER_ARITHMETIC,
    doc="The transposed convolution of data and weight, each minus its zero point. The scale of "
    "the result is input_scale * kernel_scale.",
    arguments=[
        ("data", "quantized images"),
        ("weight", "a window of output channels for each channel"),
        *products.PARAMETERS,
    ],
    attrs=Conv2DTransposeAttrs,
    relation=_conv2d_transpose_type,
    reference=with_attrs(Conv2DTransposeAttrs, _conv2d_transpose),
    compute=with_attrs(Conv2DTransposeAttrs, _conv2d_transpose_compute),
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    layout=CONVOLUTION,
    samples=[
        sample(int8(2, 3, 4, 3), int8(3, 4, 3, 2), *products.scalars(3, -7)),
        sample(
            uint8(1, 4, 3, 3),
            int8(4, 2, 3, 2),
            *products.vectors(4),
            groups=2,
            strides=(2, 3),
            output_padding=(1, 2),
            padding=(0, 1, 1, 0),
            dilation=(1, 2),
        ),
        sample(
            int8(1, 3, 4, 2),
            uint8(2, 2, 3, 2),
            *products.vectors(3),
            data_layout="NHWC",
            kernel_layout="HWOI",
            out_layout="NCHW",
            channels=3,
            kernel_size=2,
            out_dtype="int64",
        ),
    ],
)
conv2d_transpose = helper(CONV2D_TRANSPOSE, "A quantized transposed convolution.", padding=(0, 0))
