"""Resize and Upsample.

An axis is resized by a factor, `above / below`: two numbers, so that positions in data are exact
fractions where they can be. Where the factor is that of the extents, one to three axes are resized
by Relay's operators, all else one axis at a time (`common/resampling.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.checking import positive, within
from relay.frontend.common.resampling import Interpolation, ResizedAxis, real
from relay.frontend.common.resizing import resized
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
    return resized(node, data, axes, by)


def _part(node: Node, values: Expr, place: int, dtype: str = "float64") -> Expr:
    """One of several numbers."""
    return node.let(op.cast(op.take(values, int64(place), axis=0), dtype))


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
