"""Upsampling of images and volumes."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from relay import te
from relay.ir import dims
from relay.ir.attrs import attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType, Type
from relay.op.building import layouts
from relay.op.building.helper import helper
from relay.op.building.layout_rules import IMAGE
from relay.op.building.separable_rules import separable
from relay.op.building.window import SpatialAttrs
from relay.op.facts import Precision, Trait
from relay.op.gradient_rules import Backward
from relay.op.image import resize as images
from relay.op.known import as_tensor, is_known
from relay.op.opdef import FusionKind, OpDef, Sample, define, get, sample
from relay.op.site import NUMERIC, Site


@attrs
class UpSamplingAttrs(SpatialAttrs, axes=2):
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
class UpSampling3DAttrs(SpatialAttrs, axes=3):
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


def _upsampling_type(site: Site) -> Type | None:
    """(n, c, x…) -> (n, c, round(x * scale)…)"""
    spatial, letters = site.attrs.spatial, "NC" + site.attrs.spatial
    site.require_elements(0, NUMERIC)
    for name, factor in _factors(site.attrs).items():
        site.require(
            math.isfinite(factor) and factor > 0,
            f"`{name}` is no factor",
            "a positive number",
            str(factor),
        )
    layout = layouts.require_layout(site, "layout", site.attrs.layout, letters)
    extents = layouts.unblocked_shape(site, 0, layout, letters)
    if extents is None or (data := site.tensor(0)) is None:
        return None
    batch, channels, *old = extents
    images.require_elements(site, old, spatial)
    new = map(scaled, old, _factors(site.attrs).values())
    shape = layouts.blocked_shape(site, (batch, channels, *new), letters, layout)
    return TensorType(shape, data.dtype)


def _factors(known: Any) -> dict[str, Any]:
    """The factors among attributes, in the order of the axes."""
    return {name: value for name, value in known.items() if name.startswith("scale_")}


def _resizing(size: tuple[Any, ...], **known: Any) -> images.ResizeAttrs:
    """The attributes of the same resizing to `size`."""
    mode = "align_corners" if known.get("align_corners") else "asymmetric"
    is_volume = "D" in known["layout"]
    cls: Any = images.Resize3DAttrs if is_volume else images.Resize2DAttrs
    made: images.ResizeAttrs = cls(
        size=size,
        layout=known["layout"],
        method=known["method"].removeprefix("bi").removeprefix("tri"),
        coordinate_transformation_mode=known.get("coordinate_transformation_mode", mode),
        rounding_method="",
    )
    return made


def _upsampling(data: np.ndarray, **known: Any) -> np.ndarray:
    letters = "NC" + layouts.spatial_axes(known["layout"])
    extents = layouts.unblocked(data, known["layout"], letters).shape[2:]
    size = tuple(map(scaled, extents, _factors(known).values()))
    return images.resize(data, _resizing(size, **known))


def _upsampling_compute(data: te.Tensor, *_: te.Tensor, out: te.Spec, **known: Any) -> te.Tensor:
    """Resize to the shape of `out`; factors that are tensors are not known."""
    factors = [int(s) if float(s).is_integer() else None for s in _factors(known).values()]
    return images.resize_compute(data, out, _resizing((), **known), factors=factors)


def _along(site: Backward, number: int, extent: int, rows: Expr) -> Expr:
    """The resizing along one axis."""
    known: dict[str, Any] = dict(site.attrs.items())
    size = scaled(extent, list(_factors(known).values())[number])
    assert isinstance(size, int)
    return images.resized_along(_resizing((), **known), number, size, rows)


def _define(
    data: str, attributes: type[SpatialAttrs], *samples: Sample
) -> tuple[OpDef, Callable[..., Call]]:
    """The record of an operator, and the function that builds calls of it or its dynamic form."""
    record = define(
        "nn.upsampling" if attributes.axes == 2 else f"nn.upsampling{attributes.axes}d",
        doc=f"{data.capitalize()} resized by a factor along each axis.",
        arguments=[("data", data)],
        attrs=attributes,
        relation=_upsampling_type,
        reference=_upsampling,
        compute=_upsampling_compute,
        fusion=FusionKind.INJECTIVE,
        layout=IMAGE,
        traits=Trait.LINEAR,
        gradient=separable(_along),
        precision=Precision.FOLLOW,
        samples=samples,
    )

    def build(data: Expr, **known: Any) -> Call:
        factors = _factors(known)
        if is_known(*factors.values()):
            return record(data, **known)
        rest = {name: value for name, value in known.items() if name not in factors}
        scales = (as_tensor(scale, "float32") for scale in factors.values())
        return get(f"dyn.{record.name}")(data, *scales, **rest)

    summary = f"Upsample {data} by a factor along each axis, which may be a scalar tensor."
    ones: Any = {f"scale_{letter.lower()}": 1 for letter in attributes.spatial}
    return record, helper(record, summary, build=build, **ones)


UPSAMPLING, upsampling = _define(
    "images",
    UpSamplingAttrs,
    sample((1, 2, 3, 4), scale_h=2.0, scale_w=3.0),
    sample((1, 3, 4, 2), scale_h=2.0, scale_w=1.5, layout="NHWC", dtype="int8"),
    sample((1, 2, 3, 4), scale_h=1.5, scale_w=2.0, method="bilinear"),
    sample((1, 2, 3, 4), scale_h=3.0, scale_w=2.0, method="bilinear", align_corners=True),
    sample((1, 2, 3, 4), scale_h=2.0, scale_w=2.0, align_corners=True, dtype="float16"),
    sample((1, 1, 4, 3), scale_h=2.0, scale_w=0.7, method="bicubic", dtype="float64"),
)
UPSAMPLING3D, upsampling3d = _define(
    "volumes",
    UpSampling3DAttrs,
    sample((1, 2, 2, 3, 2), scale_d=2.0, scale_h=3.0, scale_w=1.0),
    sample((1, 2, 3, 2, 2), scale_d=2.0, scale_h=1.0, scale_w=1.5, layout="NDHWC", dtype="int8"),
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
)
