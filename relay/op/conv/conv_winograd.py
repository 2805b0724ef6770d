"""Winograd convolutions with transformed weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from relay import dtypes, te
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.attrs import attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building.contraction import converted
from relay.op.building.helper import helper
from relay.op.building.numerics import computing_dtype
from relay.op.building.scalars import wide
from relay.op.building.tables import applied
from relay.op.building.window import window_counts
from relay.op.conv import conv, winograd
from relay.op.conv.conv_compute import convolution
from relay.op.gradient_rules import LOWERED
from relay.op.opdef import FusionKind, OpDef, Sample, Tensor, define, sample
from relay.op.site import FLOATING, Site


@attrs
class WinogradAttrs(conv.ConvAttrs):
    """tile_size: the number of results per tile along an axis
    kernel_size: the extents of the window before its transform
    kernel_layout: the order of the axes of the weight before its transform; not used
    """

    tile_size: int


@attrs
class WinogradConv2DAttrs(WinogradAttrs, axes=2):
    """Defaults for two spatial axes."""


@attrs
class WinogradConv3DAttrs(WinogradAttrs, axes=3):
    """Defaults for three spatial axes."""


def winograd_type(site: Site) -> Type | None:
    """(n, c, x…) * (k + tile - 1…, o, c / groups) -> (n, o, windows…)"""
    known = site.attrs
    conv.require_steps(site)
    site.require_elements(0, FLOATING)
    site.require(
        known.kernel_size is not None,
        "`kernel_size` is missing",
        "the extents of the window, which a transformed weight does not show",
        "kernel_size = None",
    )
    window = winograd.transformed_window(site, known.tile_size, known.kernel_size)
    shape, weight = conv.data_shape(site), site.tensor(1, rank=2 + known.axes)
    data = site.tensor(0)
    if shape is None or data is None:
        return None
    batch, inputs, *extents = shape
    outputs: Dim
    if weight is None:
        if known.channels is None:
            return None
        outputs = known.channels
        conv.require_groups(site, inputs, "input")
        each = dims.floor_divide(inputs, known.groups)
        site.assign(1, TensorType((*window, outputs, each), data.dtype))
    else:
        *found, outputs, each = weight.shape
        for extent, wanted in zip(found, window, strict=True):
            site.require_equal(extent, wanted, "extents of weight and transformed window")
        conv.require_inputs(site, inputs, each)
        if known.channels is not None:
            outputs = site.require_equal(outputs, known.channels, "output channels and `channels`")
    conv.require_groups(site, outputs, "output")
    positions = window_counts(site, extents, known.kernel_size)
    return conv.convolved(site, batch, outputs, positions)


def _restored(weight: np.ndarray, tile_size: int, sizes: Sequence[int]) -> np.ndarray:
    """The weight (o, i, k…) before its transform."""
    for axis, size in enumerate(sizes):
        if winograd.is_transformed(axis, sizes):
            weight = winograd.along(
                np.linalg.pinv(winograd.transforms(tile_size, size).kernel), weight, axis
            )
    return np.moveaxis(weight, (-2, -1), (0, 1))


@frozen
class Transformed(Tensor):
    """An argument of a sample: a transformed random weight."""

    window: tuple[int, ...] = ()
    tile_size: int = 1

    def draw(self, generator: np.random.Generator) -> np.ndarray:
        """Values of the transformed weight."""
        plain = Tensor((*self.shape[-2:], *self.window), self.dtype)
        return winograd.transform_weight(plain.draw(generator), self.tile_size)


def _winograd(data: np.ndarray, weight: np.ndarray, known: WinogradAttrs) -> Any:
    """The convolution with the weight before its transform."""
    assert known.kernel_size is not None
    result = dtypes.to_numpy(known.out_dtype) if known.out_dtype else data.dtype
    wide = computing_dtype(result)
    plain = _restored(weight.astype(wide), known.tile_size, known.kernel_size)
    plainly = replace(known, kernel_layout="OI" + known.spatial, out_dtype=None)
    return conv.convolve(data.astype(wide), plain, plainly).astype(result)


def _winograd_compute(
    data: te.Tensor, weight: te.Tensor, out: te.Spec, known: WinogradAttrs
) -> te.Tensor:
    """The convolution with the weight before its transform, which is restored axis by axis."""
    assert known.kernel_size is not None
    plain = converted(weight, wide(out.dtype))
    for axis, size in enumerate(known.kernel_size):
        if winograd.is_transformed(axis, known.kernel_size):
            inverse = np.linalg.pinv(winograd.transforms(known.tile_size, size).kernel)
            plain = applied(inverse, plain, axis, "restored")
    return convolution(data, plain, out, replace(known, kernel_layout=known.spatial + "OI"))


_ARGUMENTS = [("data", "the input"), ("weight", "the result of the weight transform")]
_DOC = (
    "The convolution with a weight transformed with the same `tile_size`; the result is that of "
    "the convolution with the weight before the transform."
)


def _define(
    data: str, attrs: type[WinogradAttrs], *samples: Sample
) -> tuple[OpDef, Callable[..., Call]]:
    record = define(
        f"nn.contrib_conv{attrs.axes}d_winograd_without_weight_transform",
        doc=_DOC,
        arguments=_ARGUMENTS,
        attrs=attrs,
        relation=winograd_type,
        reference=with_attrs(attrs, _winograd),
        compute=with_attrs(attrs, _winograd_compute),
        fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
        gradient=LOWERED,
        samples=samples,
    )
    doc = f"A convolution of {data} with a weight transformed for Winograd's algorithm."
    padding = (0,) * attrs.axes
    return record, helper(record, doc, first=("tile_size",), padding=padding, out_dtype="")


CONV2D_WINOGRAD, contrib_conv2d_winograd_without_weight_transform = _define(
    "images",
    WinogradConv2DAttrs,
    sample(
        (1, 3, 6, 7),
        Transformed((4, 4, 2, 3), window=(3, 3), tile_size=2),
        tile_size=2,
        kernel_size=3,
        padding=1,
        channels=2,
    ),
    sample(
        (1, 5, 5, 2),
        Transformed((6, 6, 4, 2), window=(3, 3), tile_size=4),
        tile_size=4,
        kernel_size=3,
        data_layout="NHWC",
        kernel_layout="HWIO",
        out_layout="NCHW",
        out_dtype="float64",
    ),
    sample(
        (1, 4, 6, 7),
        Transformed((3, 4, 2, 2), "float64", window=(2, 3), tile_size=2),
        tile_size=2,
        kernel_size=(2, 3),
        strides=(2, 1),
        dilation=(1, 2),
        groups=2,
        dtype="float64",
    ),
)
CONV3D_WINOGRAD, contrib_conv3d_winograd_without_weight_transform = _define(
    "volumes",
    WinogradConv3DAttrs,
    sample(
        (1, 2, 3, 4, 4),
        Transformed((4, 4, 4, 2, 2), window=(3, 3, 3), tile_size=2),
        tile_size=2,
        kernel_size=3,
        padding=(1, 0, 0, 1, 1, 0),
        channels=2,
    ),
    sample(
        (1, 3, 4, 3, 2),
        Transformed((2, 6, 6, 4, 1), "float64", window=(2, 3, 3), tile_size=4),
        tile_size=4,
        kernel_size=(2, 3, 3),
        padding=2,
        strides=(1, 2, 1),
        dilation=(1, 1, 2),
        groups=2,
        data_layout="NDHWC",
        kernel_layout="DHWIO",
        out_layout="NCDHW",
        dtype="float64",
    ),
    sample(
        (1, 1, 3, 3, 4),
        Transformed((1, 4, 4, 1, 1), window=(1, 3, 3), tile_size=2),
        tile_size=2,
        kernel_size=(1, 3, 3),
        out_dtype="float64",
    ),
)
