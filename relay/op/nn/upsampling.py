"""Upsampling of images and volumes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from relay import te
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType, Type
from relay.op.building import layouts
from relay.op.building.layout_rules import IMAGE
from relay.op.facts import Precision, Trait
from relay.op.image.resize import require_elements, resize, resize_compute
from relay.op.known import as_tensor, is_known
from relay.op.opdef import FusionKind, define, get, sample
from relay.op.site import NUMERIC, Relation, Site


@attrs
class UpSamplingAttrs(Attrs):
    """scale_h: the factor of the height; the new height is rounded, ties up
    scale_w: the factor of the width; the new width is rounded, ties up
    layout: the order of the axes of data and of the result
    method: the interpolation
    align_corners: align the centers of the first and of the last elements; otherwise only of the
    first, and the nearest element is the preceding one
    """

    scale_h: float
    scale_w: float
    layout: str = "NCHW"
    method: Literal["nearest_neighbor", "bilinear", "bicubic"] = "nearest_neighbor"
    align_corners: bool = False


@attrs
class UpSampling3DAttrs(Attrs):
    """scale_d: the factor of the depth; the new depth is rounded, ties up
    scale_h: the factor of the height; the new height is rounded, ties up
    scale_w: the factor of the width; the new width is rounded, ties up
    layout: the order of the axes of data and of the result
    method: the interpolation
    coordinate_transformation_mode: the position in data of an element of the result, as in
    `image.resize3d`
    """

    scale_d: float
    scale_h: float
    scale_w: float
    layout: str = "NCDHW"
    method: Literal["nearest_neighbor", "trilinear"] = "nearest_neighbor"
    coordinate_transformation_mode: Literal["half_pixel", "align_corners", "asymmetric"] = (
        "half_pixel"
    )


def scaled(extent: Dim, factor: float) -> Dim:
    """The extent times a factor, rounded to an integer, ties up.

    The factor is its decimal notation as a fraction, so that 0.1 is exactly a tenth.
    """
    exact = Fraction(repr(float(factor)))
    doubled = dims.multiply(extent, 2 * exact.numerator)
    return dims.floor_divide(dims.add(doubled, exact.denominator), 2 * exact.denominator)


def _upsampling_type(spatial: str) -> Relation:
    """(n, c, x…) -> (n, c, round(x * scale)…), for the spatial axes named."""
    letters = "NC" + spatial

    def relation(site: Site) -> Type | None:
        site.require_elements(0, NUMERIC)
        factors = [site.attrs[f"scale_{letter.lower()}"] for letter in spatial]
        for letter, factor in zip(spatial, factors, strict=True):
            site.require(
                math.isfinite(factor) and factor > 0,
                f"`scale_{letter.lower()}` is no factor",
                "a positive number",
                str(factor),
            )
        layout = layouts.require_layout(site, "layout", site.attrs.layout, letters)
        extents = layouts.unblocked_shape(site, 0, layout, letters)
        if extents is None or (data := site.tensor(0)) is None:
            return None
        batch, channels, *old = extents
        require_elements(site, old, spatial)
        new = map(scaled, old, factors)
        shape = layouts.blocked_shape(site, (batch, channels, *new), letters, layout)
        return TensorType(shape, data.dtype)

    return relation


def _enlarged(
    data: np.ndarray, factors: Sequence[float], layout: str, method: str, mode: str
) -> np.ndarray:
    spatial = "HW" if len(factors) == 2 else "DHW"
    extents = layouts.unblocked(data, layout, "NC" + spatial).shape[2:]
    size = tuple(scaled(extent, factor) for extent, factor in zip(extents, factors, strict=True))
    return resize(
        data,
        size,  # type: ignore[arg-type]
        roi=None,
        layout=layout,
        method=method,
        coordinate_transformation_mode=mode,
        rounding_method="",
        cubic_alpha=-0.5,
        cubic_exclude=False,
        extrapolation_value=0.0,
        out_dtype=None,
    )


def _upsampling(
    data: np.ndarray,
    scale_h: float,
    scale_w: float,
    layout: str,
    method: str,
    align_corners: bool,
) -> np.ndarray:
    mode = "align_corners" if align_corners else "asymmetric"
    return _enlarged(data, (scale_h, scale_w), layout, method.removeprefix("bi"), mode)


def _upsampling3d(
    data: np.ndarray,
    scale_d: float,
    scale_h: float,
    scale_w: float,
    layout: str,
    method: str,
    coordinate_transformation_mode: str,
) -> np.ndarray:
    factors = (scale_d, scale_h, scale_w)
    name = method.removeprefix("tri")
    return _enlarged(data, factors, layout, name, coordinate_transformation_mode)


def upsampling_compute(
    data: te.Tensor, *_factors: te.Tensor, out: te.Spec, **attrs: Any
) -> te.Tensor:
    """Resize to the shape of `out`."""
    mode = "align_corners" if attrs["align_corners"] else "asymmetric"
    return _enlarged_compute(data, out, attrs, attrs["method"].removeprefix("bi"), mode)


def upsampling3d_compute(
    data: te.Tensor, *_factors: te.Tensor, out: te.Spec, **attrs: Any
) -> te.Tensor:
    """Resize to the shape of `out`."""
    mode = attrs["coordinate_transformation_mode"]
    return _enlarged_compute(data, out, attrs, attrs["method"].removeprefix("tri"), mode)


def _enlarged_compute(
    data: te.Tensor, out: te.Spec, attrs: Mapping[str, Any], method: str, mode: str
) -> te.Tensor:
    layout = attrs["layout"]
    scales = [attrs.get(f"scale_{letter.lower()}") for letter in layouts.spatial_axes(layout)]
    return resize_compute(
        data,
        out,
        roi=None,
        layout=layout,
        factors=[int(s) if s is not None and float(s).is_integer() else None for s in scales],
        method=method,
        coordinate_transformation_mode=mode,
        rounding_method="",
        cubic_alpha=-0.5,
        cubic_exclude=False,
        extrapolation_value=0.0,
    )


def upsampling(
    data: Expr,
    scale_h: float | Expr = 1,
    scale_w: float | Expr = 1,
    layout: str = "NCHW",
    method: str = "nearest_neighbor",
    align_corners: bool = False,
) -> Call:
    """Upsample images by a factor along each axis, which may be a scalar tensor."""
    if is_known(scale_h, scale_w):
        return UPSAMPLING(data, scale_h, scale_w, layout, method, align_corners)
    factors = (as_tensor(scale, "float32") for scale in (scale_h, scale_w))
    return get("dyn.nn.upsampling")(data, *factors, layout, method, align_corners)


UPSAMPLING = define(
    "nn.upsampling",
    doc="Images resized by a factor along each axis.",
    arguments=[("data", "images")],
    attrs=UpSamplingAttrs,
    relation=_upsampling_type("HW"),
    reference=_upsampling,
    compute=upsampling_compute,
    fusion=FusionKind.INJECTIVE,
    layout=IMAGE,
    traits=Trait.LINEAR,
    precision=Precision.FOLLOW,
    helper=upsampling,
    samples=[
        sample((1, 2, 3, 4), scale_h=2.0, scale_w=3.0),
        sample((1, 3, 4, 2), scale_h=2.0, scale_w=1.5, layout="NHWC", dtype="int8"),
        sample((1, 2, 3, 4), scale_h=1.5, scale_w=2.0, method="bilinear"),
        sample((1, 2, 3, 4), scale_h=3.0, scale_w=2.0, method="bilinear", align_corners=True),
        sample((1, 2, 3, 4), scale_h=2.0, scale_w=2.0, align_corners=True, dtype="float16"),
        sample((1, 1, 4, 3), scale_h=2.0, scale_w=0.7, method="bicubic", dtype="float64"),
    ],
)


def upsampling3d(
    data: Expr,
    scale_d: float | Expr = 1,
    scale_h: float | Expr = 1,
    scale_w: float | Expr = 1,
    layout: str = "NCDHW",
    method: str = "nearest_neighbor",
    coordinate_transformation_mode: str = "half_pixel",
) -> Call:
    """Upsample volumes by a factor along each axis, which may be a scalar tensor."""
    scales = (scale_d, scale_h, scale_w)
    rest = (layout, method, coordinate_transformation_mode)
    if is_known(*scales):
        return UPSAMPLING3D(data, *scales, *rest)
    factors = (as_tensor(scale, "float32") for scale in scales)
    return get("dyn.nn.upsampling3d")(data, *factors, *rest)


UPSAMPLING3D = define(
    "nn.upsampling3d",
    doc="Volumes resized by a factor along each axis.",
    arguments=[("data", "volumes")],
    attrs=UpSampling3DAttrs,
    relation=_upsampling_type("DHW"),
    reference=_upsampling3d,
    compute=upsampling3d_compute,
    fusion=FusionKind.INJECTIVE,
    layout=IMAGE,
    traits=Trait.LINEAR,
    precision=Precision.FOLLOW,
    helper=upsampling3d,
    samples=[
        sample((1, 2, 2, 3, 2), scale_d=2.0, scale_h=3.0, scale_w=1.0),
        sample(
            (1, 2, 3, 2, 2), scale_d=2.0, scale_h=1.0, scale_w=1.5, layout="NDHWC", dtype="int8"
        ),
        sample((1, 1, 2, 3, 2), scale_d=2.0, scale_h=2.0, scale_w=2.5, method="trilinear"),
        *(
            sample(
                (1, 1, 2, 3, 2),
                scale_d=2.0,
                scale_h=2.0,
                scale_w=2.0,
                method=method,
                coordinate_transformation_mode=mode,
                dtype="float64",
            )
            for method in ("nearest_neighbor", "trilinear")
            for mode in ("align_corners", "asymmetric")
        ),
    ],
)
