"""Padding and upsampling by dynamic amounts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import te
from relay.ir import dims
from relay.ir.types import TensorType, Type
from relay.op.building.layouts import blocked_shape, require_layout, unblocked_shape
from relay.op.dyn import extents
from relay.op.dyn.form import define_dynamic
from relay.op.gradient_rules import (
    DYNAMIC_EXTENTS,
    ArgumentGradient,
    Backward,
    build,
    scattering,
)
from relay.op.image.resize import require_elements
from relay.op.nn.pad import PAD, padded
from relay.op.nn.upsampling import UPSAMPLING, UPSAMPLING3D
from relay.op.opdef import OpDef, Sample, Tensor, sample
from relay.op.site import FLOATING, INTEGER, NUMERIC, Relation, Site

__all__ = ["pad", "upsampling", "upsampling3d"]


def _pad_type(site: Site) -> Type | None:
    """The rank of data; there is a pair of widths for each axis, and the value is a scalar."""
    site.tensor(2, rank=0)
    site.require_elements(1, INTEGER)
    widths = site.tensor(1, rank=2)
    if (data := site.tensor(0)) is None:
        return None
    if widths is not None:
        site.expect(1, (len(data.shape), 2), widths.dtype)
    return TensorType((dims.ANY,) * len(data.shape), data.dtype)


def _pad_compute(
    data: te.Tensor, pad_width: te.Tensor, pad_value: te.Tensor, out: te.Spec, pad_mode: str
) -> te.Tensor:
    widths = [
        (te.index(pad_width[axis, 0]), te.index(pad_width[axis, 1])) for axis in range(data.rank)
    ]
    value = te.cast(pad_value[()], out.dtype) if pad_mode == "constant" else None
    return padded(data, out, widths, pad_mode, value)


_scattered = scattering()


def _pad_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """The gradient, cropped; that of the padding is that of its value."""
    if site.attrs.pad_mode != "constant":
        return _scattered(site)
    data, widths, value = site.args
    zero = site.number(0)
    cropped = pad(site.gradient, build("negative", widths), zero)
    inside = pad(build("ones_like", data), widths, zero)
    by_value = build("sum", site.gradient * (build("ones_like", inside) - inside))
    dtype = site.tensor_type(value).dtype
    return [build("reshape_like", cropped, data), None, build("cast", by_value, dtype=dtype)]


pad: OpDef = define_dynamic(
    PAD,
    gradient=_pad_gradient,
    arguments=[
        ("data", "the input"),
        (
            "pad_width",
            "for each axis, the numbers of elements before and after, integers; negative ones crop",
        ),
        ("pad_val", "the value in mode constant, a scalar"),
    ],
    relation=_pad_type,
    compute=_pad_compute,
    extents=extents.padded,
    samples=[
        sample((2, 3), np.array([[1, 2], [0, 3]], "int64"), ()),
        sample((3, 4), np.array([[2, 1], [0, 3]], "int32"), (), pad_mode="reflect"),
        sample((3, 4), np.array([[4, 1], [0, 3]], "int64"), (), pad_mode="wrap"),
        sample((4, 5), np.array([[-1, 1], [2, -3]], "int64"), ()),
        sample((4, 5), np.array([[2, -1], [-3, 4]], "int64"), (), pad_mode="edge"),
        sample((2,), np.array([[1, 0]], "int64"), Tensor((), "float32"), dtype="int8"),
    ],
)


def _upsampling_type(spatial: str) -> Relation:
    """(n, c, x…) -> (n, c, ?…); factors are scalars."""
    letters = "NC" + spatial

    def relation(site: Site) -> Type | None:
        site.require_elements(0, NUMERIC)
        for index in range(1, len(spatial) + 1):
            site.tensor(index, rank=0)
            site.require_elements(index, FLOATING)
        layout = require_layout(site, "layout", site.attrs.layout, letters)
        whole = unblocked_shape(site, 0, layout, letters)
        if whole is None or (data := site.tensor(0)) is None:
            return None
        require_elements(site, whole[2:], spatial)
        scaled = (*whole[:2], *(dims.ANY,) * len(spatial))
        return TensorType(blocked_shape(site, scaled, letters, layout), data.dtype)

    return relation


def _upsampling(static: OpDef, spatial: str, samples: list[Sample]) -> OpDef:
    names = {"D": "depth", "H": "height", "W": "width"}
    factors = [(f"scale_{s.lower()}", f"the factor of the {names[s]}, a number") for s in spatial]
    return define_dynamic(
        static,
        gradient=DYNAMIC_EXTENTS,
        arguments=[*static.arguments, *factors],
        relation=_upsampling_type(spatial),
        compute=static.compute,
        extents=extents.scaled(spatial),
        samples=samples,
    )


def _factor(value: float, dtype: str = "float32") -> np.ndarray:
    return np.array(value, dtype)


upsampling = _upsampling(
    UPSAMPLING,
    "HW",
    [
        sample((1, 2, 3, 4), _factor(2), _factor(3)),
        sample((1, 3, 4, 2), _factor(2), _factor(1.5), layout="NHWC", dtype="int8"),
        sample(
            (1, 2, 3, 4), _factor(3), _factor(2, "float64"), method="bilinear", align_corners=True
        ),
    ],
)
upsampling3d = _upsampling(
    UPSAMPLING3D,
    "DHW",
    [
        sample((1, 2, 2, 3, 2), _factor(2), _factor(3), _factor(1)),
        sample(
            (1, 2, 3, 2, 2),
            _factor(2),
            _factor(1),
            _factor(1.5),
            layout="NDHWC",
            method="trilinear",
            coordinate_transformation_mode="asymmetric",
        ),
    ],
)
