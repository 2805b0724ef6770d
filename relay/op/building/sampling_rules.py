"""Gradient rules of operators that read images between their elements, as other operators.

Along each axis a value is read at some taps: the indices of elements, and their weights. Images lie
in rows, one for each element of each image, so that an element with all of its channels is a row.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import TypeAlias

from relay import dtypes
from relay.ir.expr import Expr, const
from relay.ir.types import TensorType
from relay.op.building.layouts import extents
from relay.op.gradient_rules import Backward, arange, build, relaid

REAL = "float64"  # positions, as in the kernels

Taps: TypeAlias = Sequence[tuple[Expr, Expr | None]]
"""Indices and weights; without weights they are 1."""


def number(value: float) -> Expr:
    """A constant position."""
    return const(value, REAL)


def counted(value: Expr, axis: int, extent: object) -> Expr:
    """The numbers of the places on an axis of that extent, as int64."""
    if isinstance(extent, int):
        return arange(0, extent)
    return build("arange", const(0), size(value, axis, extent), const(1), dtype="int64")


def size(value: Expr, axis: int, extent: object) -> Expr:
    """The extent of an axis as a scalar."""
    if isinstance(extent, int):
        return const(extent, "int64")
    return build("take", build("shape_of", value, dtype="int64"), const(axis), axis=0)


def spread(vector: Expr, axis: int, rank: int) -> Expr:
    """A vector along one of several axes."""
    return build("reshape", vector, newshape=[-1 if a == axis else 1 for a in range(rank)])


def rows(images: Expr, layout: str, spatial: str) -> Expr:
    """Images as (n * elements, channels)"""
    last = relaid(images, layout, f"N{spatial}C")
    return build("contrib_reverse_reshape", last, newshape=(-1, 0))


def sizes(site: Backward, layout: str, spatial: str) -> list[Expr]:
    """The extents of the first argument along its spatial axes, as scalars."""
    (data, ty) = site.args[0], site.tensor_type(site.args[0])
    plain = relaid(data, layout, "NC" + spatial)
    found = enumerate(extents(ty.shape, layout, spatial), 2)
    return [size(plain, axis, extent) for axis, extent in found]


def wide(ty: TensorType) -> str:
    """The type in which values are weighted and added."""
    return ty.dtype if dtypes.is_float(ty.dtype) and ty.dtype == REAL else "float32"


def read(elements: Expr, image: Expr, counts: Sequence[Expr], taps: Sequence[Taps]) -> Expr:
    """The values at places of numbered images, with the channels last; zeros without taps."""
    return reduce(operator.add, terms(elements, image, counts, taps))


def terms(elements: Expr, image: Expr, counts: Sequence[Expr], taps: Sequence[Taps]) -> list[Expr]:
    """The weighted elements that are added up for a value."""
    found = []
    for chosen in product(*taps):
        place = image
        for count, (index, _) in zip(counts, chosen, strict=True):
            place = place * count + index
        term = build("take", elements, place, axis=0)
        weights = [weight for _, weight in chosen if weight is not None]
        if weights:
            weight = build("cast_like", reduce(operator.mul, weights), term)
            term = term * build("expand_dims", weight, axis=-1)
        found.append(term)
    return found


# --- taps ----------------------------------------------------------------------------------------


def clipped(place: Expr, count: Expr) -> Expr:
    """Positions moved into an axis."""
    last = count.astype(REAL) - number(1)
    return build("minimum", build("maximum", place, number(0)), last)


def existing(index: Expr, weight: Expr | None, count: Expr) -> tuple[Expr, Expr]:
    """A tap that does not count outside of an axis."""
    last = count.astype(REAL) - number(1)
    exists = build(
        "logical_and",
        build("greater_equal", index, number(0)),
        build("less_equal", index, last),
    ).astype(REAL)
    return clipped(index, count).astype("int64"), exists if weight is None else weight * exists


def linear_taps(place: Expr, count: Expr) -> Taps:
    """The elements on both sides; beyond the ends these are the ends."""
    low = build("floor", place)
    share = place - low
    return [
        (clipped(low, count).astype("int64"), number(1) - share),
        (clipped(low + number(1), count).astype("int64"), share),
    ]


def linear_taps_inside(place: Expr, count: Expr) -> Taps:
    """The elements on both sides, which are 0 beyond the ends."""
    low = build("floor", place)
    share = place - low
    return [
        existing(low, number(1) - share, count),
        existing(low + number(1), share, count),
    ]


def cubic_weights(share: Expr, alpha: float) -> list[Expr]:
    """The weights of the elements at distances 1 + share, share, 1 - share and 2 - share."""

    def near(d: Expr) -> Expr:
        return (number(alpha + 2) * d - number(alpha + 3)) * d * d + number(1)

    def far(d: Expr) -> Expr:
        inner = (number(alpha) * d - number(5 * alpha)) * d + number(8 * alpha)
        return inner * d - number(4 * alpha)

    one = number(1)
    return [far(one + share), near(share), near(one - share), far(number(2) - share)]
