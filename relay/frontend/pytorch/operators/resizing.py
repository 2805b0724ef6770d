"""Resized signals, images and volumes, by sizes or by factors.

upsample_bilinear2d(x, [n, m], align_corners)            the factors are those of the extents
upsample_bilinear2d(x, [n, m], align_corners, 2.5, 2.5)  positions follow from these factors
upsample_bilinear2d.vec(x, None, align_corners, [2.5, 2.5])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.grids import affine_places
from relay.frontend.common.resampling import Interpolation, ResizedAxis, real
from relay.frontend.common.resizing import resized
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Size
from relay.ir import dims
from relay.ir.expr import Expr

table = Converters()

_NEAREST = Interpolation("nearest", "asymmetric", "floor")
_NEAREST_EXACT = Interpolation("nearest", "half_pixel", "round_prefer_ceil")


@table("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def nearest(
    node: Node, self: Expr, output_size: Sequence[Size] | None, *factors: float | None, **more: Any
) -> Expr:
    return _resized(node, self, _NEAREST, output_size, [*factors, *more.values()])


@table("_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d")
def nearest_exact(
    node: Node, self: Expr, output_size: Sequence[Size] | None, *factors: float | None, **more: Any
) -> Expr:
    return _resized(node, self, _NEAREST_EXACT, output_size, [*factors, *more.values()])


@table("upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec")
def nearest_by_list(
    node: Node,
    input: Expr,
    output_size: Sequence[Size] | None,
    scale_factors: Sequence[float] | None,
) -> Expr:
    return _resized(node, input, _NEAREST, output_size, scale_factors)


@table(
    "_upsample_nearest_exact1d.vec",
    "_upsample_nearest_exact2d.vec",
    "_upsample_nearest_exact3d.vec",
)
def nearest_exact_by_list(
    node: Node,
    input: Expr,
    output_size: Sequence[Size] | None,
    scale_factors: Sequence[float] | None,
) -> Expr:
    return _resized(node, input, _NEAREST_EXACT, output_size, scale_factors)


_WEIGHTED = (
    "upsample_linear1d",
    "upsample_bilinear2d",
    "upsample_trilinear3d",
    "upsample_bicubic2d",
    "_upsample_bilinear2d_aa",
    "_upsample_bicubic2d_aa",
)


@table(*_WEIGHTED)
def weighted(
    node: Node,
    self: Expr,
    output_size: Sequence[Size] | None,
    align_corners: bool,
    *factors: float | None,
    **more: Any,
) -> Expr:
    by = _interpolation(node, align_corners)
    given = [*factors, *more.values()]
    return _resized(node, self, by, output_size, given, align_corners)


@table(*(f"{name}.vec" for name in _WEIGHTED))
def weighted_by_list(
    node: Node,
    input: Expr,
    output_size: Sequence[Size] | None,
    align_corners: bool,
    scale_factors: Sequence[float] | None,
) -> Expr:
    by = _interpolation(node, align_corners)
    return _resized(node, input, by, output_size, scale_factors, align_corners)


def _interpolation(node: Node, align_corners: bool) -> Interpolation:
    antialias = node.operator.endswith("_aa")
    is_cubic = "cubic" in node.operator
    return Interpolation(
        "cubic" if is_cubic else "linear",
        "align_corners" if align_corners and not antialias else "half_pixel",
        alpha=-0.5 if antialias else -0.75,
        exclude_outside=antialias,
        antialias=antialias,
    )


def _resized(
    node: Node,
    data: Expr,
    by: Interpolation,
    output_size: Sequence[Size] | None,
    factors: Sequence[float | None] | None,
    align_corners: bool = False,
) -> Expr:
    count = node.rank(data) - 2
    given = [*(factors or []), *[None] * count][:count]
    axes = []
    for place, factor in enumerate(given):
        number = 2 + place
        extent = node.size(data, number)
        old = node.shape(data)[number]
        if output_size is not None:
            size = output_size[place]
            new, total = node.known(size), node.scalar(size, "int64")
        else:
            assert factor is not None
            scaled = op.floor(op.cast(extent, "float64") * real(factor))
            total = node.let(op.cast(scaled, "int64"))
            known = node.constant(total)
            shape = node.declared.shape if node.declared is not None else ()
            new = int(known) if known is not None else shape[number] if shape else dims.ANY
        above, below = (node.let(op.cast(one, "float64")) for one in (total, extent))
        is_exact = factor is None or not factor > 0 or align_corners
        if not is_exact:
            assert factor is not None
            is_exact = isinstance(old, int) and isinstance(new, int) and old * factor == new
            above, below = real(factor), real(1)
        if by.antialias and align_corners:
            # the factor is that of the distances of corners, and positions are those of centers
            above, below = (node.let(end - real(1)) for end in (above, below))
            is_single = node.let(op.equal(above, real(0)))
            above = node.let(op.where(is_single, real(1), above))
            below = node.let(op.where(is_single, real(0), below))
            is_exact = dims.equal(old, new) is True
        axes.append(ResizedAxis(number, old, new, extent, total, above, below, is_exact))
    if by.mode == "nearest" and (places := _rounded_places(node, axes, given, by)) is not None:
        found = data
        for axis, one in zip(axes, places, strict=True):
            found = node.let(op.take(found, int64(one.tolist()), axis=axis.number))
        return found
    return resized(node, data, axes, by)


def _rounded_places(
    node: Node, axes: Sequence[ResizedAxis], factors: Sequence[float | None], by: Interpolation
) -> list[np.ndarray] | None:
    """The nearest elements as torch finds them, in float32, where that makes a difference."""
    found, differs = [], False
    half = 0.5 if by.coordinates == "half_pixel" else 0.0
    for axis, factor in zip(axes, factors, strict=True):
        if not isinstance(axis.old, int) or not isinstance(axis.new, int) or not axis.new:
            return None
        step = 1 / factor if factor is not None and factor > 0 else axis.old / axis.new
        numbers = np.arange(axis.new)
        if factor is None or factor <= 0:
            single = np.float32(axis.old) / np.float32(axis.new)
            exact = (2 * numbers + int(2 * half)) * axis.old // (2 * axis.new)
        else:
            single = np.float32(step)
            exact = np.floor((numbers + half) / factor).astype("int64")
        near = np.floor((numbers.astype("float32") + np.float32(half)) * single).astype("int64")
        near, exact = (np.minimum(one, axis.old - 1) for one in (near, exact))
        differs = differs or not np.array_equal(near, exact)
        found.append(near)
    return found if differs else None


# --- grids ---------------------------------------------------------------------------------------

_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


@table("grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "_grid_sampler_2d_cpu_fallback")
def grid_sampler(
    node: Node,
    input: Expr,
    grid: Expr,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Expr:
    rank = node.rank(input)
    return op.image.grid_sample(
        input,
        node.let(op.transpose(grid, (0, rank - 1, *range(1, rank - 1)))),
        method=_MODES[interpolation_mode],
        layout="NCDHW" if rank == 5 else "NCHW",
        padding_mode=_PADDINGS[padding_mode],
        align_corners=align_corners,
    )


@table("affine_grid_generator")
def affine_grid(node: Node, theta: Expr, size: Sequence[Size], align_corners: bool) -> Expr:
    sizes = [(node.known(one), node.scalar(one, "int64")) for one in size[2:]]
    return affine_places(node, theta, sizes, align_corners)
