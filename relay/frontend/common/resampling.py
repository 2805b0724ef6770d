"""Interpolation between the elements of a tensor, one axis at a time.

Positions and weights are small vectors, which are folded at import where extents are static.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import dtypes, op
from relay.frontend.common.builder import Builder, int64
from relay.frontend.common.indices import clamped
from relay.immutable import frozen
from relay.ir.dims import Dim
from relay.ir.expr import Expr, const


@frozen
class Interpolation:
    """How tensors are resized."""

    mode: str  # nearest, linear or cubic
    coordinates: str  # how positions of the result map to those of data
    rounding: str = ""  # of positions, in mode nearest
    alpha: float = -0.75  # of cubic weights
    exclude_outside: bool = False
    antialias: bool = False
    beyond: float = 0.0  # the value outside of data where a region is cropped

    @property
    def crops(self) -> bool:
        return self.coordinates == "tf_crop_and_resize"


@frozen
class ResizedAxis:
    """An axis that is resized. Expressions are scalars, the factor and the region in float64."""

    number: int
    old: Dim
    new: Dim  # the new extent, as far as it is known
    extent: Expr
    count: Expr  # the new extent
    above: Expr
    below: Expr
    is_exact: bool  # the factor is the ratio of the extents
    region: tuple[Expr, Expr] | None = None  # start and end, from 0 to 1

    @property
    def factor(self) -> Expr:
        return self.above / self.below


def real(value: float) -> Expr:
    """A float64 constant, the type of positions."""
    return const(value, "float64")


def axis_by_axis(node: Builder, data: Expr, axes: Sequence[ResizedAxis], by: Interpolation) -> Expr:
    """Data resized along axes."""
    dtype, rank = node.dtype(data), node.rank(data)
    found = data
    if by.mode != "nearest":
        # weighted sums are computed in float32 or float64, those of integers in float64
        floats = "float32" if dtypes.bits(dtype) < 64 else "float64"
        found = op.cast(data, floats if dtypes.is_float(dtype) else "float64")
    outside: Expr | None = None
    for axis in axes:
        places = node.let(_places(node, axis, by))
        found = node.let(found)
        if by.mode == "nearest":
            nearest = clamped(_nearest(axis, places, by), axis.extent)
            found = op.take(found, node.let(nearest), axis=axis.number)
        else:
            found = _weighted(node, found, axis, places, by)
        if by.crops:
            last = op.cast(axis.extent, "float64") - real(1)
            is_beyond = op.logical_or(places < real(0), places > last)
            beyond = _along(is_beyond, rank - axis.number - 1)
            outside = beyond if outside is None else op.logical_or(outside, beyond)
    if dtypes.is_integer(dtype) and by.mode != "nearest":
        found = op.round(found)
    if by.mode != "nearest":
        found = op.cast(found, dtype)
    if outside is None:
        return found
    return op.where(outside, const(by.beyond, dtype), found)


def _along(values: Expr, after: int) -> Expr:
    """A vector with axes of extent 1 after it."""
    return op.expand_dims(values, -1, num_newaxis=after) if after else values


def _places(node: Builder, axis: ResizedAxis, by: Interpolation) -> Expr:
    """The positions in data of the elements of the result, as a float64 vector."""
    counted = op.arange(axis.count, dtype="int64")
    index = op.cast(node.declare(counted, (axis.new,), "int64"), "float64")
    extent, count = (op.cast(one, "float64") for one in (axis.extent, axis.count))
    above, below, two = axis.above, axis.below, real(2)
    # with a single element there are no corners to align
    is_single = axis.count <= int64(1)
    if by.coordinates in ("align_corners", "tf_crop_and_resize"):
        last = extent - real(1)
        end = op.where(is_single, real(1), extent * above / below - real(1))
        if axis.region is None:
            return index * last / end
        start, stop = axis.region
        middle = real(0.5) * (start + stop) * last
        return op.where(is_single, middle, start * last + index * ((stop - start) * last) / end)
    match by.coordinates:
        case "asymmetric":
            return index * below / above
        case "tf_half_pixel_for_nn":
            return (two * index * below + below) / (two * above)
    half = below - above
    if by.coordinates == "half_pixel_symmetric":
        half = half + (extent * above - count * below)
    place = (two * index * below + half) / (two * above)
    if by.coordinates == "pytorch_half_pixel":
        return op.where(is_single, real(0), place)
    return place


def _nearest(axis: ResizedAxis, places: Expr, by: Interpolation) -> Expr:
    """The nearest elements to positions, which may be outside."""
    match by.rounding:
        case "floor":
            found = op.floor(places)
        case "ceil":
            found = op.ceil(places)
        case "round_prefer_floor":
            found = op.ceil(places - real(0.5))
        case "round_prefer_ceil":
            found = op.floor(places + real(0.5))
        case _:
            is_larger = axis.factor >= real(1)
            found = op.where(is_larger, op.floor(places), op.ceil(places))
    return op.cast(found, "int64")


def _weighted(
    node: Builder, data: Expr, axis: ResizedAxis, places: Expr, by: Interpolation
) -> Expr:
    """A weighted sum of the elements around each position."""
    low = node.let(op.floor(places))
    share = op.expand_dims(places - low, 1)
    reach = 1 if by.mode == "linear" else 2
    if by.antialias:
        # when shrinking, the kernel is stretched over more elements of data
        width = node.let(op.minimum(axis.factor, real(1)))
        wide = op.floor(real(-reach) / width)
        first = node.let(op.cast(wide, "int64") + int64(1))
        steps = node.let(op.arange(first, int64(2) - first, dtype="int64"))
        distance = op.abs(op.cast(steps, "float64") - share) * width
    else:
        steps = node.let(int64(np.arange(1 - reach, 1 + reach)))
        distance = op.abs(op.cast(steps, "float64") - share)
    linear = by.mode == "linear"
    weights = (
        op.maximum(real(1) - distance, real(0)) if linear else _cubic(node.let(distance), by.alpha)
    )
    positions = node.let(op.expand_dims(op.cast(low, "int64"), 1) + steps)
    if by.exclude_outside:
        inside = op.logical_and(positions >= int64(0), positions < axis.extent)
        weights = op.where(inside, weights, real(0))
    if by.exclude_outside or by.antialias:
        weights = node.let(weights)
        total = op.sum(weights, axis=1, keepdims=True)
        weights = weights / op.where(op.equal(total, real(0)), real(1), total)
    weights = node.let(op.cast(weights, node.dtype(data)))
    taken = op.take(data, clamped(positions, axis.extent), axis=axis.number)
    spread = _along(weights, node.rank(data) - axis.number - 1)
    return op.sum(taken * spread, axis=axis.number + 1)


def _cubic(distance: Expr, alpha: float) -> Expr:
    """The cubic convolution kernel with coefficient `alpha`."""
    factors = [real(one) for one in (alpha + 2, alpha + 3, alpha, 5, 8, 4, 2)]
    steep, flat, slope, five, eight, four, two = factors
    near = (steep * distance - flat) * distance * distance + real(1)
    far = slope * (((distance - five) * distance + eight) * distance - four)
    outer = op.where(distance < two, far, real(0))
    return op.where(distance <= real(1), near, outer)
