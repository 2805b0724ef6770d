"""Resizing of images to dynamic sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay import te
from relay.ir import dims
from relay.ir.types import TensorType, Type
from relay.op.building.layouts import blocked_shape, require_layout, unblocked_shape
from relay.op.dyn import extents
from relay.op.dyn.form import define_dynamic
from relay.op.dyn.shape import ints
from relay.op.gradient_rules import DYNAMIC_EXTENTS
from relay.op.image.resize import RESIZE2D, Resize2DAttrs, require_elements, resize_compute
from relay.op.opdef import sample
from relay.op.site import FLOATING, INTEGER, NUMERIC, Site

__all__ = ["resize2d"]


def _resize2d_type(site: Site) -> Type | None:
    """(n, c, h, w) -> (n, c, ?, ?); the size is two integers, the region none or four numbers."""
    site.require_elements(0, NUMERIC)
    site.require_elements(1, INTEGER)
    site.require_elements(2, FLOATING)
    size, region = site.tensor(1, rank=1), site.tensor(2, rank=1)
    if size is not None:
        site.expect(1, (2,), size.dtype)
    if region is not None and region.shape[0] != 0:
        site.expect(2, (4,), region.dtype)
    layout = require_layout(site, "layout", site.attrs.layout, "NCHW")
    whole = unblocked_shape(site, 0, layout, "NCHW")
    if whole is None or (data := site.tensor(0)) is None:
        return None
    require_elements(site, whole[2:], "HW")
    shape = blocked_shape(site, (*whole[:2], dims.ANY, dims.ANY), "NCHW", layout)
    return TensorType(shape, site.attrs.out_dtype or data.dtype)


def _resize2d_compute(
    data: te.Tensor, size: te.Tensor, roi: te.Tensor, out: te.Spec, **attrs: Any
) -> te.Tensor:
    """The size is that of `out`; the region is read if there is one."""
    known = Resize2DAttrs(size=(), **attrs)
    cropping = known.coordinate_transformation_mode == "tf_crop_and_resize"
    return resize_compute(data, out, known, [roi[i] for i in range(4)] if cropping else ())


resize2d = define_dynamic(
    RESIZE2D,
    gradient=DYNAMIC_EXTENTS,
    arguments=[
        *RESIZE2D.arguments,
        ("size", "the height and the width of the result, integers"),
        ("roi", "the region in mode tf_crop_and_resize, four fractions, or nothing"),
    ],
    relation=_resize2d_type,
    compute=_resize2d_compute,
    extents=extents.resized,
    samples=[
        sample((1, 2, 5, 3), ints(3, 7), np.zeros(0, "float32")),
        sample(
            (1, 5, 3, 2),
            ints(3, 4, dtype="int32"),
            np.array([0.1, -0.3, 0.8, 1.2], "float32"),
            layout="NHWC",
            method="nearest_neighbor",
            coordinate_transformation_mode="tf_crop_and_resize",
            rounding_method="floor",
            extrapolation_value=-3.5,
            out_dtype="float64",
        ),
        sample(
            (1, 1, 4, 3),
            ints(6, 6),
            np.zeros(0, "float32"),
            method="cubic",
            cubic_exclude=True,
            cubic_alpha=-0.75,
        ),
    ],
)
