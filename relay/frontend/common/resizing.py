"""Resizing by Relay's operators where they do the same, otherwise one axis at a time.

An axis is resized by a factor, `above / below`: two numbers, so that positions in data are exact
fractions where they can be.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay import dtypes, op
from relay.frontend.common.builder import Builder
from relay.frontend.common.resampling import Interpolation, ResizedAxis, axis_by_axis
from relay.ir import dims
from relay.ir.expr import Expr


def resized(node: Builder, data: Expr, axes: Sequence[ResizedAxis], by: Interpolation) -> Expr:
    """Data resized along axes."""
    axes = [axis for axis in axes if not _stays(node, axis)]
    if not axes:
        return data
    return _by_operator(node, data, axes, by) or axis_by_axis(node, data, axes, by)


def _stays(node: Builder, axis: ResizedAxis) -> bool:
    """Whether an axis is known to keep its extent."""
    is_same = _factor(node, axis) == 1 or dims.equal(axis.new, axis.old) is True
    return axis.is_exact and is_same and _region(node, axis) == (0, 1)


# the spatial axes of each layout
_LAYOUTS = {"NCW": (2,), "NWC": (1,), "NCHW": (2, 3), "NHWC": (1, 2)}
_LAYOUTS |= {"NCDHW": (2, 3, 4), "NDHWC": (1, 2, 3)}
_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}


def _by_operator(
    node: Builder, data: Expr, axes: Sequence[ResizedAxis], by: Interpolation
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


def _factor(node: Builder, axis: ResizedAxis | None) -> float | None:
    """The factor of an axis, if it is constant."""
    factor = None if axis is None else node.constant(node.let(axis.factor))
    return 1.0 if axis is None else None if factor is None else float(factor)


def _region(node: Builder, axis: ResizedAxis | None) -> tuple[float, float] | None:
    if axis is None or axis.region is None:
        return 0.0, 1.0
    start, end = (node.constant(one) for one in axis.region)
    return None if start is None or end is None else (float(start), float(end))
