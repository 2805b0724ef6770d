"""fixed_point_multiply: integers times a 31-bit fraction and a power of two.

    data * multiplier / 2**31 * 2**shift, rounded to the nearest integer, ties up

Results wrap to 32 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relay import te
from relay.ir.attrs import Attrs, attrs
from relay.ir.types import TensorType, Type
from relay.op.building import layout_rules
from relay.op.building.elements import elementwise
from relay.op.building.numerics import limits
from relay.op.gradient_rules import NO_FLOATS
from relay.op.opdef import FusionKind, Tensor, define, sample
from relay.op.site import Elements, Site

INT32 = Elements("int32", frozenset(("int32",)))
FRACTION_BITS = 31


def _scaled(data: np.ndarray, multiplier: Any, shift: Any) -> Any:
    """The product; multiplier and shift are numbers, or arrays that broadcast against data."""
    product = data.astype(np.int64) * multiplier
    right = np.asarray(FRACTION_BITS - shift, np.int64)
    # floor((p + 2**(r - 1)) / 2**r) without overflow; NumPy shifts by 64 bits
    # or more give the sign, or 0
    rounded = (np.right_shift(product, np.maximum(right - 1, 0)) + 1) >> 1
    found = np.where(right > 0, rounded, np.left_shift(product, np.maximum(-right, 0)))
    return found.astype(np.int32)


def _scaled_element(data: te.Expr, multiplier: te.Expr, shift: te.Expr) -> te.Expr:
    product = te.cast(data, "int64") * multiplier
    right = FRACTION_BITS - shift
    rounded = ((product >> te.maximum(right - 1, 0)) + 1) >> 1
    found = te.select(right > 0, rounded, product << te.maximum(-right, 0))
    return te.cast(found, "int32")


# --- one factor --------------------------------------------------------------------------------


@attrs
class FixedPointMultiplyAttrs(Attrs):
    """multiplier: the fraction, in units of 2**-31
    shift: the power of two
    """

    multiplier: int
    shift: int


def _fixed_point_type(site: Site) -> Type | None:
    """The type of data, which is int32."""
    site.require_elements(0, INT32)
    low, high = limits(np.dtype(np.int32))
    multiplier = site.attrs.multiplier
    site.require(
        low <= multiplier <= high, "`multiplier` is out of range", "32 bits", str(multiplier)
    )
    if (data := site.tensor(0)) is not None:
        return data
    if (result := site.known_result) is not None:
        site.assign(0, result)
    return site.known_result


fixed_point_multiply = define(
    "fixed_point_multiply",
    doc="data times a fraction and a power of two, rounded to the nearest integer, ties up.",
    arguments=[("data", "int32 numbers")],
    attrs=FixedPointMultiplyAttrs,
    relation=_fixed_point_type,
    reference=_scaled,
    compute=elementwise(
        lambda data, multiplier, shift: _scaled_element(
            data, te.const(multiplier, "int64"), te.const(shift, "int64")
        )
    ),
    fusion=FusionKind.ELEMWISE,
    layout=layout_rules.elementwise,
    samples=[
        sample((2, 3), dtype="int32", low=-999, high=999, multiplier=1431655765, shift=-3),
        sample((5,), dtype="int32", low=-(2**31), high=2**31, multiplier=2**30, shift=1),
        sample((4,), dtype="int32", low=-9, high=9, multiplier=3, shift=40),
        sample(np.array([-3, -1, 1, 3], "int32"), multiplier=2**30, shift=0),
        sample((), dtype="int32", multiplier=-(2**31), shift=-40),
    ],
    gradient=NO_FLOATS,
)

# --- one factor for each channel ---------------------------------------------------------------


@attrs
class FixedPointMultiplyPerAxisAttrs(Attrs):
    """is_lshift_required: whether left_shift is used
    is_rshift_required: whether right_shift is used
    axes: the axes of the multipliers and shifts
    """

    is_lshift_required: bool = False
    is_rshift_required: bool = False
    axes: tuple[int, ...]


def _fixed_point_per_axis_type(site: Site) -> Type | None:
    """The type of data; the other arguments have the extents of the axes."""
    site.require_elements(0, INT32)
    if (data := site.tensor(0)) is None:
        return None
    axes = site.axes(site.attrs.axes, len(data.shape), name="axes")
    shape = list(data.shape)
    for index in (1, 2, 3):
        found = site.expect(index, [shape[axis] for axis in axes], "int32")
        for axis, extent in zip(axes, found.shape, strict=True):
            shape[axis] = extent
    return TensorType(tuple(shape), data.dtype)


def _scaled_per_axis(
    data: np.ndarray,
    fp_multiplier: np.ndarray,
    left_shift: np.ndarray,
    right_shift: np.ndarray,
    is_lshift_required: bool,
    is_rshift_required: bool,
    axes: tuple[int, ...],
) -> Any:
    places = [axis % data.ndim for axis in axes]
    shape = [data.shape[a] if a in places else 1 for a in range(data.ndim)]

    def spread(values: np.ndarray) -> np.ndarray:
        wide: np.ndarray = values.astype(np.int64).transpose(np.argsort(places)).reshape(shape)
        return wide

    shift = spread(left_shift) * is_lshift_required - spread(right_shift) * is_rshift_required
    return _scaled(data, spread(fp_multiplier), shift)


def _scaled_per_axis_compute(
    data: te.Tensor,
    fp_multiplier: te.Tensor,
    left_shift: te.Tensor,
    right_shift: te.Tensor,
    out: te.Spec,
    is_lshift_required: bool,
    is_rshift_required: bool,
    axes: tuple[int, ...],
) -> te.Tensor:
    def element(*i: te.Expr) -> te.Expr:
        at = tuple(i[axis] for axis in axes)
        shift: te.Expr = te.const(0, "int64")
        if is_lshift_required:
            shift = shift + te.cast(left_shift[at], "int64")
        if is_rshift_required:
            shift = shift - te.cast(right_shift[at], "int64")
        return _scaled_element(data[i], te.cast(fp_multiplier[at], "int64"), shift)

    return te.compute(out.shape, element)


fixed_point_multiply_per_axis = define(
    "fixed_point_multiply_per_axis",
    doc="data times fractions and powers of two per axis, rounded to the nearest integer, ties up.",
    arguments=[
        ("data", "int32 numbers"),
        ("fp_multiplier", "the fractions, in units of 2**-31"),
        ("left_shift", "the powers of two to multiply with"),
        ("right_shift", "the powers of two to divide by"),
    ],
    attrs=FixedPointMultiplyPerAxisAttrs,
    relation=_fixed_point_per_axis_type,
    reference=_scaled_per_axis,
    compute=_scaled_per_axis_compute,
    fusion=FusionKind.BROADCAST,
    samples=[
        sample(
            Tensor((2, 3, 4), "int32", -999, 999),
            Tensor((3,), "int32", 2**30, 2**31 - 1),
            Tensor((3,), "int32", 0, 4),
            Tensor((3,), "int32", 0, 4),
            axes=(1,),
            is_lshift_required=True,
            is_rshift_required=True,
        ),
        sample(
            Tensor((2, 3), "int32", -999, 999),
            Tensor((3, 2), "int32", 2**29, 2**31 - 1),
            Tensor((3, 2), "int32", 0, 4),
            Tensor((3, 2), "int32", 0, 9),
            axes=(-1, 0),
            is_rshift_required=True,
        ),
        sample(
            Tensor((4,), "int32", -999, 999),
            *(Tensor((4,), "int32", 1, 9),) * 3,
            axes=(0,),
            is_lshift_required=True,
        ),
    ],
    gradient=NO_FLOATS,
)
