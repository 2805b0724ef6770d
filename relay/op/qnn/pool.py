"""Quantized average pooling."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from relay import te
from relay.ir.attrs import attrs
from relay.ir.types import Type
from relay.op.attributes import with_attrs
from relay.op.building.helper import REQUIRED, helper
from relay.op.building.layout_rules import POOL
from relay.op.building.layouts import read_layout
from relay.op.building.numerics import convert
from relay.op.building.views import LayoutIndex, along, extent_in, fill, indices_in, view
from relay.op.gradient_rules import INTEGER_ARITHMETIC
from relay.op.opdef import FusionKind, Tensor, define, sample
from relay.op.pool import pool, pool_compute
from relay.op.qnn import parameters as qnn
from relay.op.qnn import words
from relay.op.qnn.fixed_point import centered, saturated, scaled
from relay.op.site import Site


@attrs
class QuantizedAvgPool2DAttrs(pool.AvgPool2DAttrs):
    """compute_dtype: "int64" multiplies the sum in fixed point, with ties rounded up; "float32" in
    that type, with ties to even; "None" is "int64"
    """

    compute_dtype: Literal["None", "int64", "float32"] = "None"


def _avg_pool2d_type(site: Site) -> Type | None:
    """(n, c, h, w) -> (n, c, windows…)"""
    site.require_elements(0, qnn.QUANTIZED)
    result = pool.pooled_type(site, 0)
    return result if qnn.parameters_known(site, (1, 3), (2, 4)) else None


def _avg_pool2d(data: np.ndarray, *parameters: np.ndarray, known: QuantizedAvgPool2DAttrs) -> Any:
    scale, zero_point, new_scale, new_zero_point = (p.reshape(()) for p in parameters)

    def mean(x: np.ndarray) -> Any:
        (values,) = centered(x, zero_point)
        total = pool.pool_windows(values, 0, known).sum((-2, -1))[None]
        count = pool.counted(x.shape[2:], known)
        factor = scale.astype(np.float64) / (new_scale.astype(np.float64) * count)
        if known.compute_dtype == "float32":
            whole = np.rint(total.astype(np.float32) * factor.astype(np.float32))
            return convert(whole.astype(np.float64) + new_zero_point, x.dtype.name)[0]
        return saturated(scaled(total, factor) + new_zero_point, x.dtype.name)

    return pool.on_unblocked(data, known, mean)


def _avg_pool2d_compute(
    data: te.Tensor, *parameters: te.Tensor, out: te.Spec, known: QuantizedAvgPool2DAttrs
) -> te.Tensor:
    """The sum of each window, scaled by the factor for its number of elements."""
    axes, target = pool_compute.slides(known), read_layout(known.out_layout or known.layout)
    input_scale, zero, output_scale, new_zero = map(qnn.parameter_at, parameters)
    values = te.compute(data.shape, lambda *i: words.centered(data[i], zero), "centred")
    images = view(values, known.layout)
    element, taps = pool_compute.window_elements(images, axes, out, target, 0)
    scale, new_scale = (te.cast(one, "float64") for one in (input_scale, output_scale))

    def factor_at(*position: te.Expr) -> te.Expr:
        place = {
            letter: along(index, extent_in(target, out.shape, letter))
            for letter, index in zip(axes, position, strict=True)
        }
        shape, include_pad = out.shape, known.count_include_pad
        count = pool_compute.counted(images, axes, place, shape, target, include_pad)
        return scale / (new_scale * te.cast(count, "float64"))

    positions = [extent_in(target, out.shape, letter) for letter in axes]
    sums = fill(out.shape, target, lambda place: te.sum(element(place), taps), "sums")
    if known.compute_dtype == "float32":
        factors = te.compute(positions, lambda *i: te.cast(factor_at(*i), "float32"), "factor")

        def rounded(place: LayoutIndex) -> te.Expr:
            own = factors[tuple(place[letter].whole for letter in axes)]
            whole = te.call("round", te.cast(sums[indices_in(target, place)], "float32") * own)
            zero_point = te.cast(new_zero, "float64")
            return te.cast(te.cast(whole, "float64") + zero_point, out.dtype)

        return fill(out.shape, target, rounded, "mean")
    factor = words.factors(positions, factor_at)

    def mean(place: LayoutIndex) -> te.Expr:
        total = words.long(sums[indices_in(target, place)])
        scaled = words.scaled_long(total, factor(*(place[letter].whole for letter in axes)))
        shifted = scaled + te.cast(new_zero, "int64")
        return words.saturated(shifted, out.dtype)

    return fill(out.shape, target, mean, "mean")


AVG_POOL2D = define(
    "qnn.avg_pool2d",
    gradient=INTEGER_ARITHMETIC,
    doc="The mean of each window, over its elements in data, or including the padding of zero "
    "points. The sum is multiplied once, in fixed point with ties rounded up, by input_scale / "
    "(output_scale * count), unless `compute_dtype` is float32.",
    arguments=[("data", "quantized images"), *qnn.PARAMETERS],
    attrs=QuantizedAvgPool2DAttrs,
    relation=_avg_pool2d_type,
    reference=with_attrs(QuantizedAvgPool2DAttrs, _avg_pool2d),
    compute=with_attrs(QuantizedAvgPool2DAttrs, _avg_pool2d_compute),
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    layout=POOL,
    samples=[
        sample(qnn.int8(1, 2, 5, 6), *qnn.affine(0.1, 3), *qnn.affine(0.05, -9), pool_size=(2, 3)),
        sample(
            qnn.uint8(1, 2, 6, 7),
            *qnn.affine(0.5, 128),
            *qnn.affine(0.5, 128),
            pool_size=2,
            strides=(2, 3),
            padding=(1, 0, 0, 1),
            ceil_mode=True,
        ),
        sample(
            qnn.int8(1, 5, 5, 2),
            *qnn.affine(0.2, 4),
            *qnn.affine(0.3, 1),
            pool_size=3,
            padding=1,
            count_include_pad=True,
            layout="NHWC",
            out_layout="NCHW",
        ),
        sample(
            Tensor((1, 2, 6, 5), "int16", -999, 999),
            *qnn.affine(0.2, 4),
            *qnn.affine(0.1, 1),
            pool_size=(3, 2),
            dilation=(2, 1),
        ),
        sample(
            qnn.uint8(1, 2, 6, 7),
            *qnn.affine(0.5, 128),
            *qnn.affine(0.5, 3),
            pool_size=2,
            padding=(1, 0, 0, 1),
            compute_dtype="float32",
        ),
    ],
)
avg_pool2d = helper(
    AVG_POOL2D,
    "The mean of each window, of quantized integers.",
    first=("pool_size", "strides", "padding", "dilation", "ceil_mode", "count_include_pad"),
    count_include_pad=True,
    layout="NHWC",
    strides=REQUIRED,
    padding=REQUIRED,
    dilation=REQUIRED,
)
