"""Interpolation along axes, in tensor expressions.

The indices and weights of each position are computed once, in small tensors; then one axis after
the other is interpolated. Where positions are fractions of integers, the nearest element is an
integer expression of the index and needs no tensor: for a factor of two, the index divided by two.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from math import gcd

from relay import dtypes, te
from relay.immutable import frozen
from relay.op.building import views
from relay.op.building.interpolation import FINEST, Method
from relay.op.building.layouts import Layout
from relay.op.building.scalars import wide

REAL = "float64"  # the type of positions


def real(value: te.Scalar) -> te.Expr:
    """The number in the type of positions."""
    return te.cast(value, REAL) if isinstance(value, te.Expr) else te.const(value, REAL)


# --- positions -----------------------------------------------------------------------------------


@frozen
class Fraction:
    """The positions (slope * index + offset) / denominator, with integer parameters."""

    slope: te.Expr
    offset: te.Expr
    denominator: te.Expr

    def at(self, index: te.Expr) -> te.Expr:
        """The position."""
        return real(self.slope * index + self.offset) / real(self.denominator)

    def nearest(self, index: te.Expr, rounding: str) -> te.Expr:
        """The nearest element; ties go up in "round" and "round_prefer_ceil"."""
        match rounding:
            case "floor":
                return self._floor(index)
            case "ceil":
                return -self._negated()._floor(index)
            case "round_prefer_floor":
                return -self._negated()._half_higher()._floor(index)
        return self._half_higher()._floor(index)

    def _floor(self, index: te.Expr) -> te.Expr:
        slope, offset, denominator = self.slope, self.offset, self.denominator
        if isinstance(slope, te.Const) and isinstance(denominator, te.Const):
            # floor((g * a + b) / (g * c)) is floor((a + floor(b / g)) / c)
            common = gcd(int(slope.value), int(denominator.value))
            slope, offset, denominator = slope // common, offset // common, denominator // common
        return (slope * index + offset) // denominator

    def _negated(self) -> Fraction:
        return Fraction(-self.slope, -self.offset, self.denominator)

    def _half_higher(self) -> Fraction:
        return Fraction(self.slope * 2, self.offset * 2 + self.denominator, self.denominator * 2)


@frozen
class Region:
    """Evenly spaced positions from one fraction of an axis to another, where 0 is its first element
    and 1 its last; a single one is in the middle."""

    count: te.Expr
    extent: te.Expr
    start: te.Expr
    end: te.Expr

    def at(self, index: te.Expr) -> te.Expr:
        """The position."""
        last = real(self.extent - 1)
        steps = real(index) * ((self.end - self.start) * last) / real(self.count - 1)
        middle = 0.5 * (self.start + self.end) * last
        return te.select(te.equal(self.count, 1), middle, self.start * last + steps)


Places = Fraction | Region


def nearest(place: te.Expr, rounding: str) -> te.Expr:
    """The integer nearest to a position; ties go up in "round" and "round_prefer_ceil"."""
    match rounding:
        case "floor" | "ceil":
            return te.call(rounding, place)
        case "round_prefer_floor":
            return te.call("ceil", place - 0.5)
    return te.call("floor", place + 0.5)


def source_places(count: te.Expr, extent: te.Expr, mode: str) -> Fraction:
    """The positions of `count` elements on an axis of that extent, which is resized to `count`;
    `relay.op.building.interpolation` has the same for numbers."""
    zero = te.index(0)
    match mode:
        case "asymmetric":
            return Fraction(extent, zero, count)
        case "align_corners":
            return Fraction(extent - 1, zero, te.maximum(count - 1, 1))
        case "tf_half_pixel_for_nn":
            return Fraction(extent * 2, extent, count * 2)
    slope, offset = extent * 2, extent - count
    if mode == "pytorch_half_pixel":
        is_single = te.equal(count, 1)
        slope, offset = te.select(is_single, zero, slope), te.select(is_single, zero, offset)
    return Fraction(slope, offset, count * 2)


# --- taps --------------------------------------------------------------------------------------


def inside(position: te.Expr, extent: te.Expr) -> te.Expr:
    """An index clamped to the axis; NaN becomes 0."""
    last = extent - 1 if position.dtype == "int64" else real(extent - 1)
    return te.cast(te.minimum(te.maximum(position, 0), last), "int64")


Taps = list[tuple[te.Expr, te.Expr]]  # elements and their weights


def taps(place: te.Expr, extent: te.Expr, method: Method) -> Taps:
    """The taps of a position."""
    low = te.call("floor", place)
    if method.name == "linear":
        share = place - low
        return [(inside(low, extent), 1 - share), (inside(low + 1, extent), share)]
    positions = [low + step for step in (-1, 0, 1, 2)]
    weights = cubic_weights(place - low, method.alpha)
    if method.exclude_outside:
        weights = [
            te.select(te.every(position >= 0, position < real(extent)), weight, 0)
            for position, weight in zip(positions, weights, strict=True)
        ]
        total = weights[0] + weights[1] + weights[2] + weights[3]
        weights = [weight / total for weight in weights]
    return [(inside(p, extent), weight) for p, weight in zip(positions, weights, strict=True)]


def cubic_weights(share: te.Expr, alpha: float) -> list[te.Expr]:
    """Cubic weights of the elements at distances 1 + share, share, 1 - share and 2 - share."""

    def near(distance: te.Expr) -> te.Expr:
        return ((alpha + 2) * distance - (alpha + 3)) * (distance * distance) + 1

    def far(distance: te.Expr) -> te.Expr:
        return ((alpha * distance - 5 * alpha) * distance + 8 * alpha) * distance - 4 * alpha

    return [far(1 + share), near(share), near(1 - share), far(2 - share)]


# --- interpolation
# ----------------------------------------------------------------------------------


def floats(dtype: str) -> str:
    """The type of weighted sums of elements."""
    return wide(dtype) if dtypes.is_float(dtype) else REAL


def as_dtype(value: te.Expr, dtype: str) -> te.Expr:
    """An interpolated value as an element; integers are rounded, ties to even."""
    if dtypes.is_integer(dtype) and dtypes.is_float(value.dtype):
        value = te.call("round", te.call("round", value * FINEST) * (1 / FINEST))
    return te.cast(value, dtype)


Reader = Callable[[views.LayoutIndex], te.Expr]


@frozen
class Grid:
    """What to interpolate: elements of data by position, and the positions of each spatial axis,
    possibly per image."""

    read: Reader
    dtype: str
    extents: Mapping[str, te.Expr]
    places: Mapping[str, Callable[[te.Expr], Places]]  # by image
    per_image: bool = False

    def table(
        self,
        letter: str,
        shape: Mapping[str, te.Expr],
        body: Callable[[te.Expr], tuple[te.Expr, ...]],
    ) -> Callable[[views.LayoutIndex], list[te.Expr]]:
        """The results of `body` for the positions of an axis, stored in tensors; its elements by
        the position in the result."""
        keys = ("N", letter) if self.per_image else (letter,)
        tensors = te.compute_many(
            [shape[key] for key in keys],
            lambda *i: body(self.places[letter](i[0]).at(i[-1])),
            "places",
        )

        def read(place: views.LayoutIndex) -> list[te.Expr]:
            where = tuple(place[key].whole for key in keys)
            return [tensor[where] for tensor in tensors]

        return read


def resampled(
    grid: Grid, out: te.Spec, layout: Layout, method: Method, beyond: te.Expr | None = None
) -> te.Tensor:
    """Data interpolated at the positions of a grid; `beyond` outside of data, if given."""
    shape = {letter: views.extent_in(layout, out.shape, letter) for letter in layout.letters}
    if method.name == "nearest_neighbor":
        read = _nearest(grid, shape, method.rounding)
    else:
        read = _weighted(grid, shape, layout, method)
    outside = [] if beyond is None else [_outside(grid, letter, shape) for letter in grid.places]

    def element(place: views.LayoutIndex) -> te.Expr:
        value = as_dtype(read(place), out.dtype)
        if beyond is None:
            return value
        return te.select(te.some(*(found(place)[0] for found in outside)), beyond, value)

    return views.fill(out.shape, layout, element, "resampled")


def _outside(
    grid: Grid, letter: str, shape: Mapping[str, te.Expr]
) -> Callable[[views.LayoutIndex], list[te.Expr]]:
    last = real(grid.extents[letter] - 1)
    return grid.table(letter, shape, lambda place: (te.some(place < 0, place > last),))


def _nearest(grid: Grid, shape: Mapping[str, te.Expr], rounding: str) -> Reader:
    def index_along(letter: str) -> Reader:
        extent, places = grid.extents[letter], grid.places[letter](te.index(0))
        if isinstance(places, Region):
            table = grid.table(
                letter, shape, lambda place: (inside(nearest(place, rounding), extent),)
            )
            return lambda place: table(place)[0]
        ends = (places.nearest(end, rounding) for end in (te.index(0), shape[letter] - 1))
        if _lie_inside(ends, extent):
            return lambda place: places.nearest(place[letter].whole, rounding)
        return lambda place: inside(places.nearest(place[letter].whole, rounding), extent)

    indices = {letter: index_along(letter) for letter in grid.places}

    def read(place: views.LayoutIndex) -> te.Expr:
        source = {
            letter: views.along(index(place), grid.extents[letter])
            for letter, index in indices.items()
        }
        return grid.read({**place, **source})

    return read


def _lie_inside(positions: Iterable[te.Expr], extent: te.Expr) -> bool:
    """Whether positions are known to be in range."""
    return all(
        te.every(position >= 0, position < extent) == te.const(True, "bool")
        for position in positions
    )


def _weighted(grid: Grid, shape: Mapping[str, te.Expr], layout: Layout, method: Method) -> Reader:
    """Interpolate one axis after the other, all but the last into tensors."""
    read, dtype = grid.read, floats(grid.dtype)
    whole = views.unblocked_axes(layout, "".join(grid.places))
    done: dict[str, te.Expr] = {}
    for letter in grid.places:
        read = _weighted_along(grid, read, letter, shape, method, dtype)
        done[letter] = shape[letter]
        if len(done) < len(grid.places):
            extents = {**shape, **grid.extents, **done}
            stage = views.View(
                views.fill(views.shape_in(whole, extents), whole, read, f"along_{letter}"), whole
            )
            read = _reader(stage)
    return read


def _reader(data: views.View) -> Reader:
    return lambda place: data.at(**place)


def _weighted_along(
    grid: Grid,
    read: Reader,
    letter: str,
    shape: Mapping[str, te.Expr],
    method: Method,
    dtype: str,
) -> Reader:
    extent = grid.extents[letter]

    def body(place: te.Expr) -> tuple[te.Expr, ...]:
        found = taps(place, extent, method)
        return (*(at for at, _ in found), *(te.cast(weight, dtype) for _, weight in found))

    table = grid.table(letter, shape, body)

    def element(place: views.LayoutIndex) -> te.Expr:
        both = table(place)
        count = len(both) // 2
        terms = [
            te.cast(read({**place, letter: views.along(at, extent)}), dtype) * weight
            for at, weight in zip(both[:count], both[count:], strict=True)
        ]
        return reduce(operator.add, terms)

    return element
