"""Reading between the elements of an axis.

A place on an axis is a number: 2.0 is the third element, 2.5 lies halfway between it and the next.
What is read at a place is a weighted sum of elements near it; `Taps` holds, for many places at
once, which elements these are and what they weigh. Where several axes are read, one after the
other is, so that an image is resized with taps for its rows and taps for its columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from relay import dtypes
from relay.errors import Diagnostic, EvaluationError
from relay.immutable import frozen
from relay.op.building.numerics import computing_dtype, convert, is_integral

# How places of a resized axis correspond to places of the original.
CoordinateMode = Literal[
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
]
# Which element is the nearest; "" leaves it to the mode.
Rounding = Literal["", "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]


@frozen
class Taps:
    """For each place: the elements it reads, which exist, and their weights."""

    positions: np.ndarray  # (places, taps)
    weights: np.ndarray  # (places, taps)


@frozen
class Method:
    """How to read at a place: "nearest_neighbor", "linear" or "cubic", and what goes with it."""

    name: str
    rounding: str = "round"
    alpha: float = -0.5
    exclude_outside: bool = False

    def taps(self, places: np.ndarray, extent: int) -> Taps:
        """What is read at places of an axis of that extent."""
        if self.name == "linear":
            return linear_taps(places, extent)
        return cubic_taps(places, extent, self.alpha, self.exclude_outside)


def read(data: np.ndarray, places: Sequence[np.ndarray], method: Method) -> np.ndarray:
    """The last axes of data, each read at places of its own; in floating point unless elements are
    only copied."""
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
    """Floating-point data, read at places of one axis."""
    shape = [-1 if a == axis else 1 for a in range(data.ndim)]
    weights = taps.weights.astype(data.dtype).T
    parts = [
        np.take(data, positions, axis) * weight.reshape(shape)
        for positions, weight in zip(taps.positions.T, weights, strict=True)
    ]
    return sum(parts[1:], parts[0])


def outside(places: Sequence[np.ndarray], extents: Sequence[int]) -> np.ndarray:
    """Whether a place lies beyond the first or the last element of one of the axes."""
    count = len(places)
    found = np.zeros((1,) * count, bool)
    for axis, (along, extent) in enumerate(zip(places, extents, strict=True)):
        beyond = (along < 0) | (along > extent - 1)
        found = found | beyond.reshape([-1 if a == axis else 1 for a in range(count)])
    return found


# Weighted sums are rounded to a multiple of 1 / FINEST before they are rounded to an integer. What
# lies halfway between two integers is not to be found exactly there: in which order a sum adds up,
# and whether a product is rounded before it is added, would decide about it.
FINEST = 2.0**20


def as_dtype(values: np.ndarray, dtype: str) -> np.ndarray:
    """Values that were read, as elements of that type: on the way from floating point to integers
    they are rounded, halves to even, so that what is the same everywhere stays so."""
    if dtypes.is_integer(dtype) and dtypes.is_float(values.dtype.name):
        with np.errstate(over="ignore"):  # what is beyond all integers stays there
            values = np.rint(np.rint(values * FINEST) / FINEST)
    return convert(values, dtype)


def in_floats(data: np.ndarray) -> np.ndarray:
    """`data` in the type that weighted sums of it are computed in."""
    wide = np.dtype(np.float64) if is_integral(data) else computing_dtype(data.dtype)
    return data.astype(wide, copy=False)


# --- places ------------------------------------------------------------------------------------


def source_places(
    count: int, extent: int, mode: str, region: tuple[float, float] = (0.0, 1.0)
) -> np.ndarray:
    """Where each of `count` elements lies on an axis of that extent, which is resized to `count`.

    Numerators and denominators are whole numbers as far as they can be, so that a place which is
    an element, or halfway between two, is exactly that.
    """
    if extent == 0 and count:
        raise EvaluationError(
            Diagnostic(
                "an axis without elements is resized",
                expected="an extent of 1 or more",
                found="0",
            )
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
    """`count` places from one share of an axis to another; 0 is its first element, 1 its last. A
    single place lies in the middle."""
    last = extent - 1
    if count == 1:
        return np.array([0.5 * (start + end) * last])
    return start * last + np.arange(count) * ((end - start) * last) / (count - 1)


# --- taps --------------------------------------------------------------------------------------


def _inside(positions: np.ndarray, extent: int) -> np.ndarray:
    clipped: np.ndarray = np.clip(positions, 0, extent - 1)
    return clipped.astype(np.int64)


def nearest(places: np.ndarray, extent: int, rounding: str) -> np.ndarray:
    """The nearest element of each place. Halves go up in "round" and "round_prefer_ceil"."""
    match rounding:
        case "floor":
            return _inside(np.floor(places), extent)
        case "ceil":
            return _inside(np.ceil(places), extent)
        case "round_prefer_floor":
            return _inside(np.ceil(places - 0.5), extent)
    return _inside(np.floor(places + 0.5), extent)


def default_rounding(mode: str) -> str:
    """What `rounding_method=""` stands for."""
    return "round" if mode == "align_corners" else "floor"


def linear_taps(places: np.ndarray, extent: int) -> Taps:
    """The elements on both sides of each place; beyond an end, that end."""
    low = np.floor(places)
    share = places - low
    positions = _inside(np.stack((low, low + 1), 1), extent)
    return Taps(positions, np.stack((1 - share, share), 1))


def cubic_taps(places: np.ndarray, extent: int, alpha: float, exclude_outside: bool) -> Taps:
    """Two elements on each side of a place. Beyond an end stands that end, or nothing at all, and
    then the weights of the others grow to make up for it."""
    low = np.floor(places)
    positions = low[:, None] + np.arange(-1, 3)
    weights = cubic_weights(places - low, alpha)
    if exclude_outside:
        weights = np.where((positions >= 0) & (positions < extent), weights, 0)
        weights = weights / weights.sum(1, keepdims=True)
    return Taps(_inside(positions, extent), weights)


def cubic_weights(share: np.ndarray, alpha: float) -> np.ndarray:
    """Weights of the elements at distances 1 + share, share, 1 - share and 2 - share: cubic
    polynomials with the slope `alpha` at distance 1."""

    def near(distance: np.ndarray) -> Any:
        return ((alpha + 2) * distance - (alpha + 3)) * distance**2 + 1

    def far(distance: np.ndarray) -> Any:
        return ((alpha * distance - 5 * alpha) * distance + 8 * alpha) * distance - 4 * alpha

    return np.stack((far(1 + share), near(share), near(1 - share), far(2 - share)), -1)
