"""Resize and Upsample.

An axis is resized by a factor, `above / below`: two numbers, so that positions in data are exact
fractions where they can be. Where the factor is that of the extents, one to three axes are resized
by Relay's operators, all else one axis at a time (`computations/resampling.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from relay import dtypes, op
from relay.frontend.common.builder import int64
from relay.frontend.common.checking import positive, within
from relay.frontend.onnx.computations.resampling import (
    Interpolation,
    ResizedAxis,
    axis_by_axis,
    real,
)
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr, Tuple

table = Converters()


@table("Upsample")
def upsample(node: Node, data: Expr, scales: Expr | None = None) -> Expr:
    """Before version 9 the factors are attributes, before version 7 those of images."""
    if node.version < 9:
        if node.version < 7:
            node.must_have_axes(data, 4, "images")
            factors = [1.0, 1.0, node.required("height_scale"), node.required("width_scale")]
        else:
            factors = node.required("scales")
        scales = node.importer.constant(np.array(factors, "float32"))
    return _resized(node, data, _upsampling(node), scales, None)


@table("Resize")
def resize_by_factors(node: Node, data: Expr, scales: Expr) -> Expr:
    """Version 10 enlarges as Upsample does; a smaller axis rounds positions up."""
    return _resized(node, data, replace(_upsampling(node), rounding="simple"), scales, None)


@table("Resize", since=11)
def resize(
    node: Node,
    data: Expr,
    region: Expr | None = None,
    scales: Expr | None = None,
    sizes: Expr | None = None,
) -> Expr:
    by = Interpolation(
        _mode(node),
        _choice(node, "coordinate_transformation_mode", "half_pixel", _COORDINATES),
        _choice(node, "nearest_mode", "round_prefer_floor", _ROUNDINGS),
        node.attribute("cubic_coeff_a", -0.75),
        bool(node.attribute("exclude_outside", 0)),
        bool(node.attribute("antialias", 0)),
        node.attribute("extrapolation_value", 0.0),
    )
    if by.mode == "nearest" and by.antialias:
        raise node.refused("`antialias` is for modes linear and cubic", found="mode nearest")
    # version 11 writes an empty tensor for an omitted input
    region, scales, sizes = (
        None if one is None or node.shape(one) == (0,) else one for one in (region, scales, sizes)
    )
    if (scales is None) == (sizes is None):
        found = "neither" if scales is None else "both"
        raise node.refused("either `scales` or `sizes` says how large the result is", found=found)
    if by.crops and region is None:
        raise node.refused("`roi` is missing", "the region that is resized", "nothing")
    return _resized(node, data, by, scales, sizes, region if by.crops else None)


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


def _choice(node: Node, name: str, default: str, options: Sequence[str]) -> str:
    return node.choice(name, default, options, f"`{name}`")


def _mode(node: Node) -> str:
    if node.attribute("mode") == "bilinear":
        return "linear"
    return _choice(node, "mode", "nearest", ("nearest", "linear", "cubic"))


def _upsampling(node: Node) -> Interpolation:
    return Interpolation(_mode(node), "asymmetric", "floor")


def _resized(
    node: Node,
    data: Expr,
    by: Interpolation,
    scales: Expr | None,
    sizes: Expr | None,
    region: Expr | None = None,
) -> Expr:
    rank = node.rank(data)
    named = node.attribute("axes", range(rank)) if node.version >= 18 else range(rank)
    numbers = node.axes_of(named, rank)
    scales, sizes, region = (
        value if value is None else node.of_length(value, count * len(numbers), "the sizes")
        for value, count in ((scales, 1), (sizes, 1), (region, 2))
    )
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
    return _by_operator(node, data, axes, by) or axis_by_axis(node, data, axes, by)


def _part(node: Node, values: Expr, place: int, dtype: str = "float64") -> Expr:
    """One of several numbers."""
    return node.let(op.cast(op.take(values, int64(place), axis=0), dtype))


def _stays(node: Node, axis: ResizedAxis) -> bool:
    """Whether an axis is known to keep its extent."""
    is_same = _factor(node, axis) == 1 or dims.equal(axis.new, axis.old) is True
    return axis.is_exact and is_same and _region(node, axis) == (0, 1)


def _by_factors(node: Node, data: Expr, numbers: Sequence[int], scales: Expr) -> list[ResizedAxis]:
    """Axes with their factors; new extents are rounded down."""
    known = _known_factors(node, scales)
    axes = []
    for place, number in enumerate(numbers):
        old, given = node.shape(data)[number], known[place]
        factor = _part(node, scales, place) if given is None else real(given)
        if given is None:
            factor = positive(node, factor, "a factor is not positive")
        elif not 0 < given < np.inf:
            raise node.refused("a factor is not positive", "a number above 0", str(given))
        extent = node.size(data, number)
        # in float32, in which exporters choose factors
        product = op.cast(extent, "float32") * op.cast(factor, "float32")
        count = node.let(op.cast(op.floor(product), "int64"))
        new, is_exact = _scaled(node, old, given, count)
        axes.append(ResizedAxis(number, old, new, extent, count, factor, real(1), is_exact))
    return axes


def _known_factors(node: Node, scales: Expr) -> list[float | None]:
    """The constant factors: exporters concatenate those of the batch and the channels, which are 1,
    with computed ones."""
    joined = node.scope.definition(scales)
    parts: Sequence[Expr] = [scales]
    if isinstance(joined, Call) and joined.op == op.get("concatenate"):
        parts = joined.args[0].fields if isinstance(joined.args[0], Tuple) else parts
    found: list[float | None] = []
    for part in parts:
        numbers = node.constant(part)
        if numbers is None:
            found += [None] * node.length(part, "the factors")
        else:
            found += [float(number) for number in numbers.reshape(-1)]
    return found


def _scaled(node: Node, old: Dim, factor: float | None, count: Expr) -> tuple[Dim, bool]:
    """An extent times a factor, and whether that is exact."""
    number = node.constant(count)
    if number is not None:
        return int(number), isinstance(old, int) and factor == int(number) / max(old, 1)
    if factor is None:
        return dims.ANY, False
    exact = Fraction(factor)
    if exact.denominator > 256:
        return dims.ANY, False  # rounding to float32 may give an integer
    whole = old * exact.numerator
    return whole // exact.denominator, exact.denominator == 1


def _by_sizes(node: Node, data: Expr, numbers: Sequence[int], sizes: Expr) -> list[ResizedAxis]:
    """Axes with their new extents."""
    known = node.elements(sizes) or (None,) * len(numbers)
    axes = []
    for place, number in enumerate(numbers):
        old, new = node.shape(data)[number], known[place]
        if isinstance(new, int) and new < 0:
            raise node.refused("a size is negative", "0 or more", str(new))
        extent, count = node.size(data, number), _part(node, sizes, place, "int64")
        if new is None:
            count = within(node, count, 0, None, "a size is negative", "0 or more")
        below, above = (node.let(op.cast(one, "float64")) for one in (extent, count))
        found = dims.ANY if new is None else new
        axes.append(ResizedAxis(number, old, found, extent, count, above, below, True))
    policies = ("stretch", "not_larger", "not_smaller")
    policy = _choice(node, "keep_aspect_ratio_policy", "stretch", policies)
    return axes if policy == "stretch" else _in_proportion(node, axes, policy == "not_larger")


def _in_proportion(node: Node, axes: Sequence[ResizedAxis], inside: bool) -> list[ResizedAxis]:
    """Axes with one factor for all, so that all fit into the sizes, or reach them."""
    common = axes[0].factor
    for axis in axes[1:]:
        common = op.minimum(common, axis.factor) if inside else op.maximum(common, axis.factor)
    factor = node.let(common)
    found = []
    for axis in axes:
        count = node.let(op.cast(op.floor(factor * axis.below + real(0.5)), "int64"))
        number, whole = node.constant(count), node.constant(node.let(factor * axis.below))
        new = dims.ANY if number is None else int(number)
        is_exact = number is not None and whole is not None and float(whole) == int(number)
        found.append(
            replace(axis, new=new, count=count, above=factor, below=real(1), is_exact=is_exact)
        )
    return found


# the spatial axes of each layout
_LAYOUTS = {"NCW": (2,), "NWC": (1,), "NCHW": (2, 3), "NHWC": (1, 2)}
_LAYOUTS |= {"NCDHW": (2, 3, 4), "NDHWC": (1, 2, 3)}
_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}


def _by_operator(
    node: Node, data: Expr, axes: Sequence[ResizedAxis], by: Interpolation
) -> Expr | None:
    """The call of a Relay operator that does the same, if there is one."""
    rank, resized = node.rank(data), {axis.number: axis for axis in axes}
    fitting = (
        (layout, spatial)
        for layout, spatial in _LAYOUTS.items()
        if len(layout) == rank and resized.keys() <= set(spatial)
    )
    layout, spatial = next(fitting, ("", ()))
    if not layout or by.antialias or not all(axis.is_exact for axis in axes):
        return None
    if not dtypes.is_float(node.dtype(data)) and not dtypes.is_integer(node.dtype(data)):
        return None
    rounding = by.rounding
    if rounding == "simple":
        factors = [factor for axis in axes if (factor := _factor(node, axis)) is not None]
        sides = {factor >= 1 for factor in factors}
        if len(sides) > 1 or len(factors) < len(axes):
            return None
        rounding = "floor" if True in sides else "ceil"
    roi: list[float] | None = None
    if by.crops:
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
        "method": _METHODS[by.mode],
        "coordinate_transformation_mode": by.coordinates.replace("_symmetric", ""),
        "rounding_method": rounding,
        "cubic_alpha": by.alpha,
        "cubic_exclude": int(by.exclude_outside),
        "extrapolation_value": by.beyond,
    }
    size = [shape[number] for number in spatial]
    if all(isinstance(one, int) for one in size):
        resizer = {1: op.image.resize1d, 2: op.image.resize2d, 3: op.image.resize3d}[len(spatial)]
        return resizer(data, tuple(size), **rest)
    if len(spatial) != 2 or by.crops:
        return None
    if method := _enlargement(by, rounding):
        down, across = (_factor(node, resized.get(number)) for number in spatial)
        if down is not None and across is not None and not down % 1 and not across % 1:
            return op.nn.upsampling(data, down, across, layout, method)
    counts = [
        resized[number].count if number in resized else node.size(data, number)
        for number in spatial
    ]
    found = op.image.resize2d(data, node.let(op.stack(counts, axis=0)), **rest)
    return node.declare(found, shape, node.dtype(data))


def _enlargement(by: Interpolation, rounding: str) -> str:
    """The method of `nn.upsampling` for integer factors, if it has one."""
    if by.mode == "linear" and by.coordinates == "asymmetric":
        return "bilinear"
    # the element nearest to the center of one of its copies is itself
    between = {"asymmetric": "floor", "tf_half_pixel_for_nn": "floor"}.get(by.coordinates, "round")
    repeats = by.coordinates != "align_corners" and rounding.startswith(between)
    return "nearest_neighbor" if by.mode == "nearest" and repeats else ""


def _factor(node: Node, axis: ResizedAxis | None) -> float | None:
    """The factor of an axis, if it is constant."""
    factor = None if axis is None else node.constant(node.let(axis.factor))
    return 1.0 if axis is None else None if factor is None else float(factor)


def _region(node: Node, axis: ResizedAxis | None) -> tuple[float, float] | None:
    if axis is None or axis.region is None:
        return 0.0, 1.0
    start, end = (node.constant(one) for one in axis.region)
    return None if start is None or end is None else (float(start), float(end))
