"""Interpolation along axes.

A position on an axis is a real number: 2.0 is the third element, 2.5 is halfway to the next. The
value at a position is a weighted sum of nearby elements; `Taps` holds their indices and weights for
many positions. Several axes are interpolated one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from relay import dtypes
from relay.errors import EvaluationError
from relay.immutable import frozen
from relay.op.building.numerics import computing_dtype, convert, is_integral

# The mapping of positions of a resized axis to the original.
CoordinateMode = Literal[
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
]
# The rounding to the nearest element; "" depends on the mode.
Rounding = Literal["", "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]


@frozen
class Taps:
    """For each position: the indices of its elements and their weights."""

    positions: np.ndarray  # (positions, taps)
    weights: np.ndarray  # (positions, taps)


@frozen
class Method:
    """The interpolation method and its parameters."""

    name: str
    rounding: str = "round"
    alpha: float = -0.5
    exclude_outside: bool = False

    def taps(self, places: np.ndarray, extent: int) -> Taps:
        """The taps for positions on an axis of that extent."""
        if self.name == "linear":
            return linear_taps(places, extent)
        return cubic_taps(places, extent, self.alpha, self.exclude_outside)


def read(data: np.ndarray, places: Sequence[np.ndarray], method: Method) -> np.ndarray:
    """Interpolate the last axes of data; in floating point unless elements are only copied."""
    first = data.ndim - len(places)
    if method.name == "nearest_neighbor":
        for axis, along in enumerate(places, first):
            data = np.take(data, nearest(along, data.shape[axis], method.rounding), axis)
        return data
    data = in_floats(data)
    for axis, along in enumerate(places, first):
        data = resampled(data, axis, method.taps(along, data.shape[axis]))
    return data


def resampled(data: np.ndarray, axis: int, taps: Taps) -> Any:
    """Interpolate floating-point data along one axis."""
    shape = [-1 if a == axis else 1 for a in range(data.ndim)]
    weights = taps.weights.astype(data.dtype).T
    parts = [
        np.take(data, positions, axis) * weight.reshape(shape)
        for positions, weight in zip(taps.positions.T, weights, strict=True)
    ]
    return sum(parts[1:], parts[0])


def outside(places: Sequence[np.ndarray], extents: Sequence[int]) -> np.ndarray:
    """Whether a position is outside of one of the axes."""
    count = len(places)
    found = np.zeros((1,) * count, bool)
    for axis, (along, extent) in enumerate(zip(places, extents, strict=True)):
        beyond = (along < 0) | (along > extent - 1)
        found = found | beyond.reshape([-1 if a == axis else 1 for a in range(count)])
    return found


# Weighted sums are rounded to a multiple of 1 / FINEST before they are rounded to an integer, so
# that ties do not depend on the order of summation or on fma.
FINEST = 2.0**20


def as_dtype(values: np.ndarray, dtype: str) -> np.ndarray:
    """Interpolated values as elements of that type; integers are rounded, ties to even."""
    if dtypes.is_integer(dtype) and dtypes.is_float(values.dtype.name):
        with np.errstate(over="ignore"):  # values beyond all integers stay
            values = np.rint(np.rint(values * FINEST) / FINEST)
    return convert(values, dtype)


def in_floats(data: np.ndarray) -> np.ndarray:
    """`data` in the type of weighted sums."""
    wide = np.dtype(np.float64) if is_integral(data) else computing_dtype(data.dtype)
    return data.astype(wide, copy=False)


# --- positions -----------------------------------------------------------------------------------


def source_places(
    count: int, extent: int, mode: str, region: tuple[float, float] = (0.0, 1.0)
) -> np.ndarray:
    """The positions of `count` elements on an axis of that extent, which is resized to `count`.

    Numerators and denominators are integers where possible, so that elements and midpoints are
    exact.
    """
    if extent == 0 and count:
        raise EvaluationError.of(
            "an axis without elements is resized",
            expected="an extent of 1 or more",
            found="0",
        )
    index = np.arange(count)
    match mode:
        case "asymmetric":
            return index * extent / count
        case "align_corners":
            return index * (extent - 1) / max(count - 1, 1)
        case "tf_half_pixel_for_nn":
            return (2 * index + 1) * extent / (2 * count)
        case "tf_crop_and_resize":
            return region_places(count, extent, *region)
        case "pytorch_half_pixel" if count == 1:
            return np.zeros(1)
    return ((2 * index + 1) * extent - count) / (2 * count)


def region_places(count: int, extent: int, start: float, end: float) -> np.ndarray:
    """`count` evenly spaced positions from one fraction of an axis to another, where 0 is its first
    element and 1 its last; a single one is in the middle."""
    last = extent - 1
    if count == 1:
        return np.array([0.5 * (start + end) * last])
    return start * last + np.arange(count) * ((end - start) * last) / (count - 1)


# --- taps --------------------------------------------------------------------------------------


def _inside(positions: np.ndarray, extent: int) -> np.ndarray:
    clipped: np.ndarray = np.clip(positions, 0, extent - 1)
    return clipped.astype(np.int64)


def nearest(places: np.ndarray, extent: int, rounding: str) -> np.ndarray:
    """The nearest element of each position. Ties go up in "round" and "round_prefer_ceil"."""
    match rounding:
        case "floor":
            return _inside(np.floor(places), extent)
        case "ceil":
            return _inside(np.ceil(places), extent)
        case "round_prefer_floor":
            return _inside(np.ceil(places - 0.5), extent)
    return _inside(np.floor(places + 0.5), extent)


def default_rounding(mode: str) -> str:
    """The meaning of `rounding_method=""`."""
    return "round" if mode == "align_corners" else "floor"


def linear_taps(places: np.ndarray, extent: int) -> Taps:
    """The elements on both sides of each position, clamped to the axis."""
    low = np.floor(places)
    share = places - low
    positions = _inside(np.stack((low, low + 1), 1), extent)
    return Taps(positions, np.stack((1 - share, share), 1))


def cubic_taps(places: np.ndarray, extent: int, alpha: float, exclude_outside: bool) -> Taps:
    """Two elements on each side of a position. Elements beyond an end repeat the end, or are
    excluded and the other weights renormalized."""
    low = np.floor(places)
    positions = low[:, None] + np.arange(-1, 3)
    weights = cubic_weights(places - low, alpha)
    if exclude_outside:
        weights = np.where((positions >= 0) & (positions < extent), weights, 0)
        weights = weights / weights.sum(1, keepdims=True)
    return Taps(_inside(positions, extent), weights)


def cubic_weights(share: np.ndarray, alpha: float) -> np.ndarray:
    """Cubic weights with slope `alpha` at distance 1, of the elements at distances 1 + share,
    share, 1 - share and 2 - share."""

    def near(distance: np.ndarray) -> Any:
        return ((alpha + 2) * distance - (alpha + 3)) * distance**2 + 1

    def far(distance: np.ndarray) -> Any:
        return ((alpha * distance - 5 * alpha) * distance + 8 * alpha) * distance - 4 * alpha

    return np.stack((far(1 + share), near(share), near(1 - share), far(2 - share)), -1)
