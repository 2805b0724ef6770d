"""Resizing of signals, images and volumes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from relay import dtypes, te
from relay.ir.attrs import attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building import interpolation, layouts
from relay.op.building.helper import helper
from relay.op.building.interpolation_compute import (
    Grid,
    Places,
    Region,
    real,
    resampled,
)
from relay.op.building.interpolation_compute import source_places as places_of
from relay.op.building.layout_rules import IMAGE
from relay.op.building.numerics import convert
from relay.op.building.separable_rules import separable
from relay.op.building.views import extent_in, view
from relay.op.building.window import SpatialAttrs, per_axis
from relay.op.facts import Trait
from relay.op.gradient_rules import Backward, build
from relay.op.known import as_tensor, is_known
from relay.op.opdef import DType, FusionKind, OpDef, Sample, define, get, sample
from relay.op.site import NUMERIC, Site


@attrs
class ResizeAttrs(SpatialAttrs):
    """size: the extents of the result along the spatial axes
    roi: the region that is resized in mode "tf_crop_and_resize", as fractions of the axes: its
    starts along all axes, then its ends
    layout: the order of the axes of data and of the result
    method: the interpolation
    coordinate_transformation_mode: the position in data of an element of the result. "half_pixel"
    aligns the outer edges of the first and last elements, "align_corners" their centers,
    "asymmetric" the centers of the first elements; "pytorch_half_pixel" is "half_pixel" except for
    a result of one element, which is the first; "tf_half_pixel_for_nn" is "half_pixel" moved by a
    half, for method nearest_neighbor; "tf_crop_and_resize" aligns centers with `roi`
    rounding_method: the rounding of positions for method nearest_neighbor; "" is "round" for mode
    "align_corners" and "floor" for the others; "round" rounds ties up
    cubic_alpha: the slope of the cubic weights at distance 1
    cubic_exclude: in method cubic, elements beyond the ends have no weight, instead of repeating
    the ends
    extrapolation_value: the result at positions outside of data, in mode "tf_crop_and_resize"
    out_dtype: the element type of the result; None is that of data
    """

    size: tuple[int, ...]
    roi: tuple[float, ...] | None = None
    layout: str
    method: Literal["nearest_neighbor", "linear", "cubic"] = "linear"
    coordinate_transformation_mode: interpolation.CoordinateMode = "half_pixel"
    rounding_method: interpolation.Rounding = "round"
    cubic_alpha: float = -0.5
    cubic_exclude: bool = False
    extrapolation_value: float = 0.0
    out_dtype: DType | None = None


@attrs
class Resize1DAttrs(ResizeAttrs, axes=1):
    """Defaults for one spatial axis."""


@attrs
class Resize2DAttrs(ResizeAttrs, axes=2):
    """Defaults for two spatial axes."""


@attrs
class Resize3DAttrs(ResizeAttrs, axes=3):
    """Defaults for three spatial axes."""


def resize_type(site: Site) -> Type | None:
    """(n, c, x…) -> (n, c, size…)"""
    known: ResizeAttrs = site.attrs
    count, letters = known.axes, "NC" + known.spatial
    site.require_elements(0, NUMERIC)
    layout = layouts.require_layout(site, "layout", known.layout, letters)
    site.require(
        len(known.size) == count and all(extent > 0 for extent in known.size),
        "`size` does not fit",
        f"{count} value(s) of 1 or more",
        f"size = {known.size}",
    )
    _require_region(site, known, count)
    extents = layouts.unblocked_shape(site, 0, layout, letters)
    if extents is None or (data := site.tensor(0)) is None:
        return None
    batch, channels, *old = extents
    require_elements(site, old, known.spatial)
    shape = layouts.blocked_shape(site, (batch, channels, *known.size), letters, layout)
    return TensorType(shape, known.out_dtype or data.dtype)


def _require_region(site: Site, known: ResizeAttrs, count: int) -> None:
    cropping = known.coordinate_transformation_mode == "tf_crop_and_resize"
    given = () if known.roi is None else known.roi
    if len(given) != 2 * count and (given or cropping):
        site.fail(
            "`roi` does not fit", f"{count} start(s) and {count} end(s)", f"roi = {known.roi}"
        )
    site.require_finite("roi", *given)


def require_elements(
    site: Site, extents: Sequence[Dim], letters: str, wanted: Sequence[Dim] = ()
) -> None:
    """Each axis must have elements, unless the result is empty."""
    for extent, letter in zip(extents, letters, strict=True):
        site.require_some(
            extent,
            wanted,
            f"there is nothing to read along axis {letter}, which has no elements",
            "an extent of 1 or more",
            str(site.args[0]),
        )


# --- the reference -----------------------------------------------------------------------------


def resize(data: np.ndarray, known: ResizeAttrs) -> np.ndarray:
    """Interpolate axis by axis."""
    dtype = known.out_dtype or dtypes.canonical(data.dtype)
    mode, count, roi = known.coordinate_transformation_mode, len(known.size), known.roi
    letters = "NC" + known.spatial
    images = layouts.unblocked(data, known.layout, letters)
    regions = zip(roi[:count], roi[count:], strict=True) if roi else [(0.0, 1.0)] * count
    places = [
        interpolation.source_places(new, extent, mode, region)
        for new, extent, region in zip(known.size, images.shape[2:], regions, strict=True)
    ]
    result = interpolation.as_dtype(interpolation.read(images, places, _method(known)), dtype)
    if mode == "tf_crop_and_resize":
        beyond = interpolation.outside(places, images.shape[2:])
        result = np.where(beyond, convert(np.array(known.extrapolation_value), dtype), result)
    return layouts.blocked(result, letters, known.layout)


def _method(known: ResizeAttrs) -> interpolation.Method:
    mode = known.coordinate_transformation_mode
    rounding = known.rounding_method or interpolation.default_rounding(mode)
    return interpolation.Method(known.method, rounding, known.cubic_alpha, known.cubic_exclude)


def resize_compute(
    data: te.Tensor,
    out: te.Spec,
    known: ResizeAttrs,
    region: Sequence[float | te.Expr] = (),
    factors: Sequence[int | None] = (),
) -> te.Tensor:
    """Interpolate axis by axis to the size of `out`. `region` is a computed `roi`. `factors` are
    integer scale factors, where known: they simplify the positions for dynamic sizes."""
    mode, spatial = known.coordinate_transformation_mode, known.spatial
    images, roi = view(data, known.layout), known.roi or region
    cropping = mode == "tf_crop_and_resize"
    starts, ends = roi[: known.axes], roi[known.axes :]

    def places(axis: int, letter: str) -> Callable[[te.Expr], Places]:
        count = extent_in(images.layout, out.shape, letter)
        extent = images.extent(letter)
        if cropping:
            return lambda _: Region(count, extent, real(starts[axis]), real(ends[axis]))
        factor = factors[axis] if factors else None
        if factor is not None and mode != "align_corners":
            return lambda _: places_of(te.index(factor), te.index(1), mode)
        return lambda _: places_of(count, extent, mode)

    grid = Grid(
        lambda place: images.at(**place),
        data.dtype,
        {letter: images.extent(letter) for letter in spatial},
        {letter: places(axis, letter) for axis, letter in enumerate(spatial)},
    )
    beyond = te.cast(real(known.extrapolation_value), out.dtype) if cropping else None
    return resampled(grid, out, images.layout, _method(known), beyond)


# --- the operators -----------------------------------------------------------------------------


def resized_along(known: ResizeAttrs, number: int, size: int, rows: Expr) -> Expr:
    """Signals resized as images are along one axis; what is outside of them is 0."""
    roi = known.roi and (known.roi[number], known.roi[known.axes + number])
    return build(
        "image.resize1d",
        rows,
        size=[size],
        roi=roi or None,
        method=known.method,
        coordinate_transformation_mode=known.coordinate_transformation_mode,
        rounding_method=known.rounding_method,
        cubic_alpha=known.cubic_alpha,
        cubic_exclude=known.cubic_exclude,
    )


def _along(site: Backward, number: int, extent: int, rows: Expr) -> Expr:
    return resized_along(site.attrs, number, site.attrs.size[number], rows)


def _define(data: str, attributes: type[ResizeAttrs], *samples: Sample) -> OpDef:
    return define(
        f"image.resize{attributes.axes}d",
        doc=f"Resize {data}. Integers are computed in float64 and rounded, ties to even.",
        arguments=[("data", data)],
        attrs=attributes,
        relation=resize_type,
        reference=with_attrs(attributes, resize),
        compute=with_attrs(attributes, resize_compute),
        fusion=FusionKind.INJECTIVE,
        traits=Trait.AVERAGES,
        gradient=separable(_along),
        layout=IMAGE,
        samples=samples,
    )


RESIZE1D = _define(
    "signals",
    Resize1DAttrs,
    sample((1, 2, 5), size=8),
    sample((1, 5, 2), size=3, layout="NWC", method="cubic", cubic_alpha=-0.75),
    sample((1, 2, 5), size=9, method="cubic", cubic_exclude=True, dtype="float64"),
    sample((2, 1, 7), size=1, coordinate_transformation_mode="pytorch_half_pixel"),
    sample(
        (1, 2, 6),
        size=4,
        roi=(-0.2, 0.9),
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=7.5,
        out_dtype="float16",
    ),
    *(
        sample((1, 1, 5), size=7, method="nearest_neighbor", rounding_method=rounding)
        for rounding in ("", "round", "floor", "ceil")
    ),
    *(
        sample((1, 1, 4), size=2, method="nearest_neighbor", rounding_method=rounding)
        for rounding in ("round", "round_prefer_floor", "round_prefer_ceil")
    ),
)
resize1d = helper(RESIZE1D, "Resize signals.", rounding_method="", cubic_exclude=0)


def _images() -> list[Sample]:
    """Every method in every mode, reducing one axis and enlarging the other."""
    modes = (
        "half_pixel",
        "align_corners",
        "asymmetric",
        "pytorch_half_pixel",
        "tf_half_pixel_for_nn",
        "tf_crop_and_resize",
    )
    return [
        sample(
            (1, 2, 5, 3),
            size=(3, 7),
            roi=(0.1, -0.3, 0.8, 1.2) if mode == "tf_crop_and_resize" else None,
            method=method,
            coordinate_transformation_mode=mode,
            rounding_method="",
        )
        for mode in modes
        for method in ("nearest_neighbor", "linear", "cubic")
    ]


RESIZE2D = _define(
    "images",
    Resize2DAttrs,
    *_images(),
    sample((1, 4, 5, 2), size=(8, 3), layout="NHWC", dtype="bfloat16"),
    sample((1, 2, 4, 5, 3), size=(2, 5), layout="NCHW3c", dtype="float64"),
    sample((1, 1, 4, 4), size=(7, 7), dtype="uint8", high=255, out_dtype="float32"),
    sample((1, 1, 4, 4), size=(3, 6), dtype="int8", low=-128, high=127, method="cubic"),
    sample((1, 1, 3, 3), size=(2, 5), dtype="int64", method="nearest_neighbor"),
    sample((1, 2, 3, 4), size=(1, 1), coordinate_transformation_mode="align_corners"),
    sample((1, 1, 4, 3), size=(6, 6), method="cubic", cubic_exclude=True, cubic_alpha=-0.75),
    sample(
        (1, 1, 4, 3),
        size=(3, 1),
        roi=(0.5, 0.25, 1.5, 0.75),
        method="nearest_neighbor",
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=-3.5,
        dtype="int8",
    ),
    sample((0, 2, 3, 4), size=(2, 2), dtype="float16"),
)


def _resize2d(data: Expr, size: Any, roi: Any, **known: Any) -> Call:
    if isinstance(size, Expr) or not is_known(roi):
        region = as_tensor(() if roi is None else roi, "float32")
        return get("dyn.image.resize2d")(data, as_tensor(size), region, **known)
    return RESIZE2D(data, per_axis(size, 2), roi, **known)


resize2d = helper(
    RESIZE2D,
    "Resize images; the size may be a tensor of two integers.",
    build=_resize2d,
    rounding_method="",
    cubic_exclude=0,
)
RESIZE3D = _define(
    "volumes",
    Resize3DAttrs,
    sample((1, 2, 3, 4, 2), size=(5, 2, 3)),
    sample(
        (1, 2, 3, 4, 2),
        size=(2, 5, 3),
        layout="NDHWC",
        method="nearest_neighbor",
        coordinate_transformation_mode="asymmetric",
        rounding_method="floor",
        dtype="int8",
    ),
    sample((1, 1, 3, 2, 4), size=(4, 3, 3), method="cubic", cubic_alpha=-0.75, dtype="float64"),
    sample((1, 1, 3, 2, 4), size=(2, 3, 6), method="cubic", cubic_exclude=True),
    sample(
        (1, 1, 3, 4, 3),
        size=(2, 3, 3),
        roi=(-0.5, 0.0, 0.2, 1.0, 0.9, 1.1),
        coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=2.5,
        out_dtype="float32",
        dtype="float16",
    ),
)
resize3d = helper(
    RESIZE3D,
    "Resize volumes.",
    convert={"size": lambda size: per_axis(size, 3)},
    rounding_method="",
    cubic_exclude=0,
)
