"""Tensors at another resolution: Resize, and Upsample that came before it.

An axis is resized by a factor, `above / below`: two numbers, so that the place in data of an
element of the result is one fraction, and is exact where it can be. Where the factor is that of the
extents, images, signals and volumes are resized by Relay's own operators. All else is resized one
axis after the other: which elements a place reads, and what they weigh, is arithmetic that is done
while the model is imported if sizes are known, and in a run otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from relay import dtypes, op
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Expr, const
from relay.ir.types import TensorType

table = Converters()


@dataclass(frozen=True)
class Way:
    """How tensors are resized."""

    mode: str  # nearest, linear or cubic
    coordinates: str  # which place of data belongs to an element of the result
    rounding: str = ""  # how a place becomes an element in mode nearest
    alpha: float = -0.75  # of cubic weights
    exclude_outside: bool = False
    antialias: bool = False
    beyond: float = 0.0  # what stands outside of data where a region is cut out

    @property
    def crops(self) -> bool:
        return self.coordinates == "tf_crop_and_resize"


@dataclass(frozen=True)
class Axis:
    """An axis that is resized. Expressions are scalars, the factor and the region in float64."""

    number: int
    old: Dim
    new: Dim  # what is known of the new extent
    extent: Expr
    count: Expr  # the new extent
    above: Expr
    below: Expr
    is_exact: bool  # the factor is that of the extents
    region: tuple[Expr, Expr] | None = None  # from where to where, as shares of the axis

    @property
    def factor(self) -> Expr:
        return self.above / self.below


# --- the operators -----------------------------------------------------------------------------

_ENLARGED = Way("nearest", "asymmetric", "floor")


@table("Upsample")
def upsample_images(node: Node, data: Expr) -> Expr:
    """Version 1: the factors of images are two attributes."""
    node.must_have_axes(data, 4, "images")
    factors = [1.0, 1.0, node.required("height_scale"), node.required("width_scale")]
    return _resized(node, data, _enlarging(node), _factors(node, factors), None)


@table("Upsample", since=7)
def upsample_by_attribute(node: Node, data: Expr) -> Expr:
    return _resized(node, data, _enlarging(node), _factors(node, node.required("scales")), None)


@table("Upsample", since=9)
def upsample(node: Node, data: Expr, scales: Expr) -> Expr:
    return _resized(node, data, _enlarging(node), scales, None)


@table("Resize")
def resize_by_factors(node: Node, data: Expr, scales: Expr) -> Expr:
    """Version 10 enlarges as Upsample does; a smaller axis takes the elements after its places."""
    return _resized(node, data, replace(_enlarging(node), rounding="simple"), scales, None)


@table("Resize", since=11)
def resize(
    node: Node,
    data: Expr,
    region: Expr | None = None,
    scales: Expr | None = None,
    sizes: Expr | None = None,
) -> Expr:
    way = Way(
        _mode(node),
        node.attribute("coordinate_transformation_mode", "half_pixel"),
        node.attribute("nearest_mode", "round_prefer_floor"),
        node.attribute("cubic_coeff_a", -0.75),
        bool(node.attribute("exclude_outside", 0)),
        bool(node.attribute("antialias", 0)),
        node.attribute("extrapolation_value", 0.0),
    )
    _must_be_one_of(node, "coordinate_transformation_mode", way.coordinates, _COORDINATES)
    _must_be_one_of(node, "nearest_mode", way.rounding, _ROUNDINGS)
    if way.mode == "nearest" and way.antialias:
        raise node.refused("`antialias` is for modes linear and cubic", found="mode nearest")
    region, scales, sizes = (_if_given(node, one) for one in (region, scales, sizes))
    if (scales is None) == (sizes is None):
        found = "neither" if scales is None else "both"
        raise node.refused("either `scales` or `sizes` says how large the result is", found=found)
    if way.crops and region is None:
        raise node.refused("`roi` is missing", "the region that is resized", "nothing")
    return _resized(node, data, way, scales, sizes, region if way.crops else None)


_COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
_ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def _must_be_one_of(node: Node, name: str, given: str, known: Sequence[str]) -> None:
    if given not in known:
        raise node.refused(f"there is no such `{name}`", ", ".join(known), given)


def _mode(node: Node) -> str:
    mode = str(node.attribute("mode", "nearest"))
    name = {"bilinear": "linear"}.get(mode, mode)
    _must_be_one_of(node, "mode", name, ("nearest", "linear", "cubic"))
    return name


def _factors(node: Node, given: Sequence[float]) -> Expr:
    return node.importer.constant(np.array(given, "float32"))


def _enlarging(node: Node) -> Way:
    return replace(_ENLARGED, mode=_mode(node))


def _if_given(node: Node, value: Expr | None) -> Expr | None:
    """An input, unless it is empty: what version 11 has for one that is left out."""
    return None if value is None or node.shape(value) == (0,) else value


# --- axes --------------------------------------------------------------------------------------


def _resized(
    node: Node,
    data: Expr,
    way: Way,
    scales: Expr | None,
    sizes: Expr | None,
    region: Expr | None = None,
) -> Expr:
    rank = node.rank(data)
    named = node.attribute("axes", range(rank)) if node.version >= 18 else range(rank)
    if not all(-rank <= one < rank for one in named):
        raise node.refused("an axis is out of range", f"axes of {rank}", str(list(named)))
    numbers = [int(one) % rank for one in named]
    for value, count in ((scales, 1), (sizes, 1), (region, 2)):
        if value is not None and node.length(value, "the sizes") != count * len(numbers):
            expected = f"{count * len(numbers)} elements"
            raise node.refused("sizes do not fit the axes", expected, str(node.type_of(value)))
    if scales is not None:
        axes = _by_factors(node, data, numbers, scales)
    else:
        assert sizes is not None
        axes = _by_sizes(node, data, numbers, sizes)
    if region is not None:
        axes = [
            replace(axis, region=(_part(node, region, i), _part(node, region, i + len(axes))))
            for i, axis in enumerate(axes)
        ]
    axes = [axis for axis in axes if not _stays(node, axis)]
    if not axes:
        return data
    return _by_operator(node, data, axes, way) or _axis_by_axis(node, data, axes, way)


def _part(node: Node, values: Expr, place: int, dtype: str = "float64") -> Expr:
    """One of several numbers."""
    return node.let(op.cast(op.take(values, const(place, "int64"), axis=0), dtype))


def _stays(node: Node, axis: Axis) -> bool:
    """Whether an axis is known to stay as it is."""
    if not axis.is_exact or dims.equal(axis.new, axis.old) is not True:
        return False
    if axis.region is None:
        return True
    return _region(node, axis) == (0, 1)


def _by_factors(node: Node, data: Expr, numbers: Sequence[int], scales: Expr) -> list[Axis]:
    """Axes with the factors they are resized by; new extents are rounded down."""
    known = node.constant(scales)
    axes = []
    for place, number in enumerate(numbers):
        old, factor = node.shape(data)[number], _part(node, scales, place)
        given = None if known is None else float(known.reshape(-1)[place])
        if given is not None and not 0 < given < np.inf:
            raise node.refused("a factor is not positive", "a number above 0", str(given))
        extent = node.size(data, number)
        # in 32 bits, in which exporters choose factors that give the extents they want
        product = op.multiply(op.cast(extent, "float32"), op.cast(factor, "float32"))
        count = node.let(op.cast(op.floor(product), "int64"))
        new, is_exact = _scaled(node, old, given, count)
        axes.append(Axis(number, old, new, extent, count, factor, _real(1), is_exact))
    return axes


def _scaled(node: Node, old: Dim, factor: float | None, count: Expr) -> tuple[Dim, bool]:
    """What is known of an extent times a factor, and whether nothing was rounded."""
    number = node.constant(count)
    if number is not None:
        return int(number), isinstance(old, int) and factor == int(number) / max(old, 1)
    if factor is None:
        return dims.ANY, False
    exact = Fraction(factor)
    if exact.denominator > 256:
        return dims.ANY, False  # rounding to 32 bits may give a whole number
    whole = dims.multiply(old, exact.numerator)
    return dims.floor_divide(whole, exact.denominator), exact.denominator == 1


def _by_sizes(node: Node, data: Expr, numbers: Sequence[int], sizes: Expr) -> list[Axis]:
    """Axes with the extents they are to have."""
    known = node.elements(sizes) or (None,) * len(numbers)
    axes = []
    for place, number in enumerate(numbers):
        old, new = node.shape(data)[number], known[place]
        if isinstance(new, int) and new < 0:
            raise node.refused("a size is negative", "0 or more", str(new))
        extent, count = node.size(data, number), _part(node, sizes, place, "int64")
        below, above = (node.let(op.cast(one, "float64")) for one in (extent, count))
        found = dims.ANY if new is None else new
        axes.append(Axis(number, old, found, extent, count, above, below, True))
    policy = node.attribute("keep_aspect_ratio_policy", "stretch")
    _must_be_one_of(
        node, "keep_aspect_ratio_policy", policy, ("stretch", "not_larger", "not_smaller")
    )
    return axes if policy == "stretch" else _in_proportion(node, axes, policy == "not_larger")


def _in_proportion(node: Node, axes: Sequence[Axis], inside: bool) -> list[Axis]:
    """The axes with one factor for all, so that all fit into the sizes, or reach them."""
    common = axes[0].factor
    for axis in axes[1:]:
        common = op.minimum(common, axis.factor) if inside else op.maximum(common, axis.factor)
    factor = node.let(common)
    found = []
    for axis in axes:
        count = node.let(op.cast(op.floor(factor * axis.below + _real(0.5)), "int64"))
        number, whole = node.constant(count), node.constant(node.let(factor * axis.below))
        new = dims.ANY if number is None else int(number)
        is_exact = number is not None and whole is not None and float(whole) == int(number)
        found.append(
            replace(axis, new=new, count=count, above=factor, below=_real(1), is_exact=is_exact)
        )
    return found


def _real(value: float) -> Expr:
    return const(value, "float64")


# --- by Relay's operators ----------------------------------------------------------------------

# the axes that are resized, by the order of all axes
_LAYOUTS = {"NCW": (2,), "NWC": (1,), "NCHW": (2, 3), "NHWC": (1, 2)}
_LAYOUTS |= {"NCDHW": (2, 3, 4), "NDHWC": (1, 2, 3)}
_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}


def _by_operator(node: Node, data: Expr, axes: Sequence[Axis], way: Way) -> Expr | None:
    """The call of an operator that says the same, if there is one."""
    rank, resized = node.rank(data), {axis.number: axis for axis in axes}
    fitting = (
        (layout, spatial)
        for layout, spatial in _LAYOUTS.items()
        if len(layout) == rank and resized.keys() <= set(spatial)
    )
    layout, spatial = next(fitting, ("", ()))
    if not layout or way.antialias or not all(axis.is_exact for axis in axes):
        return None
    if not dtypes.is_float(node.dtype(data)) and not dtypes.is_integer(node.dtype(data)):
        return None
    rounding = way.rounding
    if rounding == "simple":
        sides = {_is_larger(node, axis) for axis in axes}
        if len(sides) > 1 or None in sides:
            return None
        rounding = "floor" if True in sides else "ceil"
    roi: list[float] | None = None
    if way.crops:
        ends = [_region(node, resized.get(number)) for number in spatial]
        if None in ends:
            return None
        roi = [pair[side] for side in (0, 1) for pair in ends if pair is not None]
    shape = list(node.shape(data))
    for axis in axes:
        shape[axis.number] = axis.new
    if 0 in shape or any(axis.old == 0 for axis in axes):
        return None
    rest = {
        "roi": roi,
        "layout": layout,
        "method": _METHODS[way.mode],
        "coordinate_transformation_mode": way.coordinates.replace("_symmetric", ""),
        "rounding_method": rounding,
        "cubic_alpha": way.alpha,
        "cubic_exclude": int(way.exclude_outside),
        "extrapolation_value": way.beyond,
    }
    size = [shape[number] for number in spatial]
    if all(isinstance(one, int) for one in size):
        resizer = {1: op.image.resize1d, 2: op.image.resize2d, 3: op.image.resize3d}[len(spatial)]
        return resizer(data, tuple(size), **rest)  # type: ignore[arg-type]
    if len(spatial) != 2 or way.crops:
        return None
    if (method := _enlargement(way, rounding)) and not way.exclude_outside:
        factors = [_whole_factor(node, resized.get(number)) for number in spatial]
        if None not in factors:
            return op.nn.upsampling(data, *factors, layout=layout, method=method)  # type: ignore[arg-type]
    counts = [
        resized[number].count if number in resized else node.size(data, number)
        for number in spatial
    ]
    found = op.image.resize2d(data, node.let(op.stack(counts, axis=0)), **rest)  # type: ignore[arg-type]
    return node.let(found, declared=TensorType(tuple(shape), node.dtype(data)))


def _enlargement(way: Way, rounding: str) -> str:
    """What `nn.upsampling` calls a way to enlarge by whole factors, if it has it."""
    if way.mode == "linear" and way.coordinates == "asymmetric":
        return "bilinear"
    # the nearest to the middle of one of the copies of an element is that element
    between = {"asymmetric": "floor", "tf_half_pixel_for_nn": "floor"}.get(way.coordinates, "round")
    repeats = way.coordinates != "align_corners" and rounding.startswith(between)
    return "nearest_neighbor" if way.mode == "nearest" and repeats else ""


def _whole_factor(node: Node, axis: Axis | None) -> float | None:
    if axis is None:
        return 1.0
    factor = node.constant(node.let(axis.factor))
    return None if factor is None or float(factor) % 1 else float(factor)


def _is_larger(node: Node, axis: Axis) -> bool | None:
    """Whether an axis does not shrink; None where a run finds out."""
    factor = node.constant(node.let(axis.factor))
    return None if factor is None else bool(factor >= 1)


def _region(node: Node, axis: Axis | None) -> tuple[float, float] | None:
    if axis is None or axis.region is None:
        return 0.0, 1.0
    start, end = (node.constant(one) for one in axis.region)
    return None if start is None or end is None else (float(start), float(end))


# --- one axis after the other ------------------------------------------------------------------


def _axis_by_axis(node: Node, data: Expr, axes: Sequence[Axis], way: Way) -> Expr:
    dtype, rank = node.dtype(data), node.rank(data)
    found = data
    if way.mode != "nearest":
        # weighted sums are computed in 32 bits or more, and those of integers in 64
        floats = "float32" if dtypes.bits(dtype) < 64 else "float64"
        found = op.cast(data, floats if dtypes.is_float(dtype) else "float64")
    outside: Expr | None = None
    for axis in axes:
        places = node.let(_places(node, axis, way))
        found = node.let(found)
        if way.mode == "nearest":
            found = op.take(found, node.let(_nearest(axis, places, way)), axis=axis.number)
        else:
            found = _weighted(node, found, axis, places, way)
        if way.crops:
            last = op.cast(axis.extent, "float64") - _real(1)
            is_beyond = op.logical_or(op.less(places, _real(0)), op.greater(places, last))
            beyond = _along(is_beyond, rank - axis.number - 1)
            outside = beyond if outside is None else op.logical_or(outside, beyond)
    if dtypes.is_integer(dtype) and way.mode != "nearest":
        found = op.round(found)
    if way.mode != "nearest":
        found = op.cast(found, dtype)
    if outside is None:
        return found
    return op.where(outside, const(way.beyond, dtype), found)


def _along(values: Expr, after: int) -> Expr:
    """A list of values as a tensor that broadcasts along an axis with so many axes after it."""
    return op.expand_dims(values, -1, num_newaxis=after) if after else values


def _places(node: Node, axis: Axis, way: Way) -> Expr:
    """Where in data the elements of the result are, as a list of float64."""
    counted = op.arange(axis.count, dtype="int64")
    index = op.cast(node.let(counted, declared=TensorType((axis.new,), "int64")), "float64")
    extent, count = (op.cast(one, "float64") for one in (axis.extent, axis.count))
    above, below, two = axis.above, axis.below, _real(2)
    # a result of one element has no last element to align
    is_single = op.less_equal(axis.count, const(1, "int64"))
    if way.coordinates in ("align_corners", "tf_crop_and_resize"):
        last = extent - _real(1)
        end = op.where(is_single, _real(1), extent * above / below - _real(1))
        if axis.region is None:
            return index * last / end
        start, stop = axis.region
        middle = _real(0.5) * (start + stop) * last
        return op.where(is_single, middle, start * last + index * ((stop - start) * last) / end)
    match way.coordinates:
        case "asymmetric":
            return index * below / above
        case "tf_half_pixel_for_nn":
            return (two * index * below + below) / (two * above)
    half = below - above
    if way.coordinates == "half_pixel_symmetric":
        half = half + (extent * above - count * below)
    place = (two * index * below + half) / (two * above)
    if way.coordinates == "pytorch_half_pixel":
        return op.where(is_single, _real(0), place)
    return place


def _nearest(axis: Axis, places: Expr, way: Way) -> Expr:
    """The element of each place; `take` stops at the ends."""
    match way.rounding:
        case "floor":
            found = op.floor(places)
        case "ceil":
            found = op.ceil(places)
        case "round_prefer_floor":
            found = op.ceil(places - _real(0.5))
        case "round_prefer_ceil":
            found = op.floor(places + _real(0.5))
        case _:
            is_larger = op.greater_equal(axis.factor, _real(1))
            found = op.where(is_larger, op.floor(places), op.ceil(places))
    return op.cast(found, "int64")


def _weighted(node: Node, data: Expr, axis: Axis, places: Expr, way: Way) -> Expr:
    """A weighted sum of some elements about each place."""
    low = node.let(op.floor(places))
    share = op.expand_dims(places - low, 1)
    reach = 1 if way.mode == "linear" else 2
    if way.antialias:
        # elements of a smaller result stand for more elements of data
        width = node.let(op.minimum(axis.factor, _real(1)))
        wide = op.floor(_real(-reach) / width)
        first = node.let(op.cast(wide, "int64") + const(1, "int64"))
        steps = node.let(op.arange(first, const(2, "int64") - first, dtype="int64"))
        distance = op.abs(op.cast(steps, "float64") - share) * width
    else:
        steps = node.let(const(np.arange(1 - reach, 1 + reach), "int64"))
        distance = op.abs(op.cast(steps, "float64") - share)
    weights = _linear(distance) if reach == 1 else _cubic(node.let(distance), way.alpha)
    positions = node.let(op.expand_dims(op.cast(low, "int64"), 1) + steps)
    if way.exclude_outside:
        inside = op.logical_and(
            op.greater_equal(positions, const(0, "int64")), op.less(positions, axis.extent)
        )
        weights = op.where(inside, weights, _real(0))
    if way.exclude_outside or way.antialias:
        weights = node.let(weights)
        total = op.sum(weights, axis=1, keepdims=True)
        weights = weights / op.where(op.equal(total, _real(0)), _real(1), total)
    weights = node.let(op.cast(weights, node.dtype(data)))
    taken = op.take(data, positions, axis=axis.number)
    spread = _along(weights, node.rank(data) - axis.number - 1)
    return op.sum(taken * spread, axis=axis.number + 1)


def _linear(distance: Expr) -> Expr:
    return op.maximum(_real(1) - distance, _real(0))


def _cubic(distance: Expr, alpha: float) -> Expr:
    """Two cubic polynomials, which meet at distance 1, with the slope `alpha` there."""
    factors = [_real(one) for one in (alpha + 2, alpha + 3, alpha, 5, 8, 4, 2)]
    steep, flat, slope, five, eight, four, two = factors
    near = (steep * distance - flat) * distance * distance + _real(1)
    far = slope * (((distance - five) * distance + eight) * distance - four)
    outer = op.where(op.less(distance, two), far, _real(0))
    return op.where(op.less_equal(distance, _real(1)), near, outer)
