"""quantize, dequantize and requantize."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np

from relay import te
from relay.ir.attrs import Attrs, attrs
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building import layout_rules
from relay.op.building.helper import helper
from relay.op.building.numerics import convert, widened
from relay.op.building.scalars import widened as widened_element
from relay.op.gradient_rules import INTEGER_ARITHMETIC
from relay.op.opdef import DType, FusionKind, Tensor, define, sample
from relay.op.qnn import words
from relay.op.qnn.fixed_point import Rounding, centered, nearest, saturated, scaled
from relay.op.qnn.parameters import (
    PARAMETERS,
    QUANTIZED,
    STORED,
    SUMS,
    affine,
    affine_vectors,
    axis_extent,
    channel_of,
    channels_of,
    distance,
    parameter_at,
    parameters_at,
    parameters_known,
    places,
    quantized,
    quantized_element,
    require_dtype,
    spread,
    with_zero_point,
)
from relay.op.site import FLOATING, Elements, Relation, Site

_REALS = Elements("float32 or narrower", frozenset(("float32", "float16", "bfloat16")))

# --- quantize ----------------------------------------------------------------------------------


@attrs
class QuantizeAttrs(Attrs):
    """out_dtype: the element type of the result
    axis: the axis that scales and zero points belong to, if they are per axis
    """

    out_dtype: DType
    axis: int = -1


def _conversion(given: Elements, made: Elements) -> Relation:
    """The shape of data, with `out_dtype` elements."""

    def relation(site: Site) -> Type | None:
        site.require_elements(0, given)
        dtype = require_dtype(site, site.attrs.out_dtype, made)
        if (data := site.tensor(0)) is None:
            return None
        known = parameters_known(site, (1,), (2,), axis_extent(site, data, "axis", 1, 2))
        return TensorType(data.shape, dtype) if known else None

    return relation


def _quantize(data: np.ndarray, *parameters: np.ndarray, out_dtype: str, axis: int) -> Any:
    scale, zero_point = (spread(p, data.ndim, axis) for p in parameters)
    return quantized(widened(data), scale, zero_point, out_dtype)


def _quantize_compute(
    data: te.Tensor, *parameters: te.Tensor, out: te.Spec, axis: int, out_dtype: str
) -> te.Tensor:
    def element(*i: te.Expr) -> te.Expr:
        step, zero = parameters_at(parameters, i, axis)
        return quantized_element(widened_element(data[i]), step, zero, out.dtype)

    return te.compute(out.shape, element)


_SPECIAL: Final = np.array([np.nan, np.inf, -np.inf, 1.25, 1.75, -0.75], "float32")

QUANTIZE = define(
    "qnn.quantize",
    gradient=INTEGER_ARITHMETIC,
    doc="round(data / output_scale) + output_zero_point, saturating; ties round to even, NaN "
    "becomes 0.",
    arguments=[
        ("data", "the input"),
        ("output_scale", "the scale"),
        ("output_zero_point", "the zero point"),
    ],
    attrs=QuantizeAttrs,
    relation=_conversion(_REALS, STORED),
    reference=_quantize,
    compute=_quantize_compute,
    fusion=FusionKind.ELEMWISE,
    layout=layout_rules.scaled,
    samples=[
        sample((2, 3), *affine(0.02, 3), out_dtype="int8"),
        sample((2, 3), *affine_vectors(3), out_dtype="uint8"),
        sample((2, 3, 4), *affine_vectors(3), out_dtype="int16", axis=1, dtype="float16"),
        sample(_SPECIAL, *affine(0.5, -1), out_dtype="int32"),
        sample((), *affine(0.125, 30000), out_dtype="uint16", dtype="bfloat16"),
        sample((2, 9), *affine(0.2, 3), out_dtype="uint4"),
        sample((2, 3), *affine_vectors(2), out_dtype="int4", axis=0),
    ],
)
quantize = helper(QUANTIZE, "Quantize real values to integers.", first=("axis",), out_dtype="int8")

# --- dequantize --------------------------------------------------------------------------------


def _dequantize(data: np.ndarray, *parameters: np.ndarray, out_dtype: str, axis: int) -> Any:
    scale, zero_point = (spread(p, data.ndim, axis) for p in parameters)
    return convert(centered(data, zero_point).astype(np.float32) * scale, out_dtype)[0]


def _dequantize_compute(
    data: te.Tensor, *parameters: te.Tensor, out: te.Spec, axis: int, out_dtype: str
) -> te.Tensor:
    def element(*i: te.Expr) -> te.Expr:
        factor, zero = parameters_at(parameters, i, axis)
        return te.cast(distance(data[i], zero) * factor, out.dtype)

    return te.compute(out.shape, element)


DEQUANTIZE = define(
    "qnn.dequantize",
    gradient=INTEGER_ARITHMETIC,
    doc="input_scale * (data - input_zero_point), computed in float32.",
    arguments=[
        ("data", "quantized integers"),
        ("input_scale", "the scale"),
        ("input_zero_point", "the zero point"),
    ],
    attrs=QuantizeAttrs,
    relation=_conversion(SUMS, FLOATING),
    reference=_dequantize,
    compute=_dequantize_compute,
    fusion=FusionKind.ELEMWISE,
    layout=layout_rules.scaled,
    samples=[
        sample(Tensor((2, 3), "int8", -128, 128), *affine(0.02, 3), out_dtype="float32"),
        sample(Tensor((2, 3, 4), "uint8", 0, 256), *affine_vectors(3), out_dtype="float16", axis=1),
        sample(Tensor((), "int32", -(2**31), 2**31), *affine(1e-6, 7), out_dtype="float32"),
        sample((0, 2), *affine(2, 0), dtype="int16", out_dtype="bfloat16"),
        sample(Tensor((2, 3), "int4", -8, 8), *affine_vectors(3), out_dtype="float32"),
    ],
)
dequantize = helper(
    DEQUANTIZE, "Dequantize integers to real values.", first=("axis",), out_dtype="float32"
)

# --- requantize --------------------------------------------------------------------------------


@attrs
class RequantizeAttrs(Attrs):
    """axis: the axis that scales and zero points belong to, if they are per axis
    rounding: of ties: "UPWARD" toward plus infinity, "TONEAREST" away from zero, "TOEVEN" to even,
        for which `compute_dtype` must be a float; "None" is "UPWARD"
    compute_dtype: "int64" multiplies by the quotient of the scales in fixed point, "float32" and
        "float64" in that type; "None" is "int64"
    out_dtype: the element type of the result; None is that of data
    """

    axis: int = -1
    rounding: Literal["None", "UPWARD", "TONEAREST", "TOEVEN"] = "None"
    compute_dtype: Literal["None", "int64", "float32", "float64"] = "None"
    out_dtype: DType | None = None

    @property
    def ties(self) -> Rounding:
        return "UPWARD" if self.rounding == "None" else self.rounding


def _requantize_type(site: Site) -> Type | None:
    """The shape of data, with integer elements."""
    site.require_elements(0, SUMS)
    site.require(
        site.attrs.rounding != "TOEVEN" or site.attrs.compute_dtype.startswith("float"),
        "ties round to even in floating point only",
        'compute_dtype = "float32" or "float64"',
        f'compute_dtype = "{site.attrs.compute_dtype}"',
    )
    if (data := site.tensor(0)) is None:
        return None
    dtype = require_dtype(site, site.attrs.out_dtype or data.dtype, QUANTIZED)
    extent = axis_extent(site, data, "axis", 1, 2, 3, 4)
    if not parameters_known(site, (1, 3), (2, 4), extent):
        return None
    return TensorType(data.shape, dtype)


def _requantize(data: np.ndarray, *parameters: np.ndarray, known: RequantizeAttrs) -> Any:
    scale, zero_point, new_scale, new_zero_point = (
        spread(p, data.ndim, known.axis) for p in parameters
    )
    result, how, compute = known.out_dtype or data.dtype.name, known.ties, known.compute_dtype
    if not compute.startswith("float"):
        return rescaled(data, scale, zero_point, new_scale, new_zero_point, result, how)
    factor = scale.astype(compute) / new_scale.astype(compute)
    product = centered(data, zero_point).astype(compute) * factor
    return convert(nearest(product, how).astype(np.float64) + new_zero_point, result)[0]


def rescaled(
    data: np.ndarray,
    scale: np.ndarray,
    zero_point: np.ndarray,
    new_scale: np.ndarray,
    new_zero_point: np.ndarray,
    dtype: str,
    rounding: Rounding = "UPWARD",
) -> Any:
    """Integers requantized to a new scale and zero point."""
    factor = scale.astype(np.float64) / new_scale.astype(np.float64)
    return saturated(scaled(centered(data, zero_point), factor, rounding) + new_zero_point, dtype)


def _requantize_compute(
    data: te.Tensor, *parameters: te.Tensor, out: te.Spec, known: RequantizeAttrs
) -> te.Tensor:
    axis, compute_dtype = known.axis, known.compute_dtype
    if not compute_dtype.startswith("float"):
        return rescaled_tensor(data, *parameters, out=out, axis=axis, rounding=known.ties)
    scales, zero_points = parameters[::2], parameters[1::2]

    def quotient(*channel: te.Expr) -> te.Expr:
        old, new = (te.cast(parameter_at(p, *channel), compute_dtype) for p in scales)
        return old / new

    # computed once per channel
    factors = te.compute(channels_of(*scales), quotient, "factor")

    def element(*i: te.Expr) -> te.Expr:
        zero, new_zero = parameters_at(zero_points, i, axis)
        factor = factors[places(factors.shape, channel_of(i, axis, *scales))]
        product = distance(data[i], zero, compute_dtype) * factor
        whole = _nearest(product, known.ties)
        return te.cast(with_zero_point(whole, new_zero, out.dtype), out.dtype)

    return te.compute(out.shape, element)


def _nearest(value: te.Expr, rounding: Rounding) -> te.Expr:
    if rounding == "TOEVEN":
        return te.call("round", value)
    size = te.absolute(value) if rounding == "TONEAREST" else value
    floor = te.call("floor", size)
    whole = te.select(size - floor >= 0.5, floor + 1.0, floor)
    return te.call("copysign", whole, value) if rounding == "TONEAREST" else whole


def rescaled_tensor(
    data: te.Tensor,
    *parameters: te.Tensor,
    out: te.Spec,
    axis: int = -1,
    rounding: Rounding = "UPWARD",
) -> te.Tensor:
    """`rescaled` in tensor expressions; parameters may be vectors along the axis."""
    scales, zero_points = parameters[::2], parameters[1::2]

    def quotient(*channel: te.Expr) -> te.Expr:
        old, new = (te.cast(parameter_at(p, *channel), "float64") for p in scales)
        return old / new

    factor = words.factors(channels_of(*scales), quotient)

    def element(*i: te.Expr) -> te.Expr:
        zero, new_zero = parameters_at(zero_points, i, axis)
        own = factor(*channel_of(i, axis, *scales))
        if te.width(data.dtype) > 32:
            found = words.scaled_long(words.difference(data[i], zero), own, rounding)
        else:
            found = words.scaled(words.centered(data[i], zero), own, rounding)
        return words.saturated(found + te.cast(new_zero, "int64"), out.dtype)

    return te.compute(out.shape, element)


_SMALL: Final = Tensor((4, 5), "int32", -99, 99)
_LARGE: Final = Tensor((9,), "int32", -(2**31), 2**31)

REQUANTIZE = define(
    "qnn.requantize",
    gradient=INTEGER_ARITHMETIC,
    doc="round((data - input_zero_point) * input_scale / output_scale) + output_zero_point, "
    "saturating.",
    arguments=[("data", "quantized integers"), *PARAMETERS],
    attrs=RequantizeAttrs,
    relation=_requantize_type,
    reference=with_attrs(RequantizeAttrs, _requantize),
    compute=with_attrs(RequantizeAttrs, _requantize_compute),
    fusion=FusionKind.ELEMWISE,
    layout=layout_rules.scaled,
    samples=[
        sample(_SMALL, *affine(0.3, 0), *affine(0.7, 5), out_dtype="int8"),
        sample(_SMALL, *affine(0.5, 0), *affine(1, 0), rounding="UPWARD", compute_dtype="int64"),
        sample(_SMALL, *affine(0.5, 0), *affine(1, 0), rounding="TONEAREST"),
        sample(
            _SMALL, *affine(0.5, 0), *affine(1, 0), rounding="TONEAREST", compute_dtype="float32"
        ),
        sample(_SMALL, *affine(0.5, 1), *affine(1, 9), compute_dtype="float64", out_dtype="uint8"),
        sample(
            _SMALL,
            *affine(0.5, 0),
            *affine(1, -3),
            rounding="TOEVEN",
            compute_dtype="float32",
            out_dtype="int8",
        ),
        sample((2, 3, 4), *affine_vectors(3), *affine(0.002, 99), axis=1, dtype="uint8"),
        sample((2, 3), *affine(0.1, 0), *affine_vectors(3), dtype="int8", low=-128, high=128),
        sample(_LARGE, *affine(3e-8, -(2**31)), *affine(1, 0), out_dtype="int32"),
        sample(_LARGE, *affine(2, 2**31 - 1), *affine(0.001, -1), out_dtype="int32"),
        sample(_LARGE, *affine(4e9, 0), *affine(1, 0), rounding="TONEAREST", out_dtype="int16"),
        sample(
            Tensor((9,), "int64", -(2**62), 2**62),
            *affine(1, 1),
            *affine(1e9, 0),
            out_dtype="int32",
        ),
        sample(Tensor((), "int8", -128, 128), *affine(1, -128), *affine(1, 0), out_dtype="uint8"),
        sample((0, 2), *affine(2, 0), *affine(1, 0), dtype="int16"),
    ],
)
requantize = helper(REQUANTIZE, "Requantize to another scale and zero point.", out_dtype="int8")
