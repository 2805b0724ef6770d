"""Grayscale morphological dilation."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from relay import dtypes, te
from relay.ir.attrs import attrs
from relay.ir.expr import Expr, const
from relay.ir.types import TensorType, Type
from relay.op.building import layouts, window
from relay.op.building.contraction import converted
from relay.op.building.helper import helper
from relay.op.building.numerics import computing_dtype, convert, limits
from relay.op.building.scalars import wide
from relay.op.building.separable_rules import fixed
from relay.op.building.views import LayoutIndex, fill, view
from relay.op.gradient_rules import Backward, Composed, build, relaid
from relay.op.opdef import DType, FusionKind, define, sample
from relay.op.site import NUMERIC, Site, better_known


@attrs
class Dilation2DAttrs(window.WindowAttrs, axes=2):
    """strides: the distance between windows
    padding: for each axis, or before and then after each
    dilations: the distance between the elements of a window
    data_layout: the order of the axes of data and of the result
    kernel_layout: the order of the axes of weight
    out_dtype: the element type of the computation and the result; None is that of data
    """

    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    dilations: tuple[int, ...] = (1, 1)
    data_layout: str = "NCHW"
    kernel_layout: str = "IHW"
    out_dtype: DType | None = None

    @property
    def dilation(self) -> tuple[int, ...]:
        """The same, under the name that windows use."""
        return self.dilations


def _dilation2d_type(site: Site) -> Type | None:
    """((n, c, h, w), (c, kh, kw)) -> (n, c, windows…)"""
    known: Dilation2DAttrs = site.attrs
    site.require_elements(0, NUMERIC)
    layout = layouts.require_layout(site, "data_layout", known.data_layout, "NCHW")
    kernel = layouts.require_layout(site, "kernel_layout", known.kernel_layout, "IHW")
    window.require_sizes(site, "strides", 1)
    window.require_sizes(site, "dilations", 1)
    window.require_padding(site, known.padding, 2)
    data = site.tensor(0)
    extents = layouts.unblocked_shape(site, 0, layout, "NCHW")
    sizes = layouts.unblocked_shape(site, 1, kernel, "IHW")
    if data is None or extents is None or sizes is None:
        return None
    site.expect(1, layouts.blocked_shape(site, (extents[1], *sizes[1:]), "IHW", kernel), data.dtype)
    batch, channels, *spatial = extents
    channels = better_known(channels, sizes[0])
    positions = window.window_counts(site, spatial, sizes[1:])
    shape = layouts.blocked_shape(site, (batch, channels, *positions), "NCHW", layout)
    return TensorType(shape, known.out_dtype or data.dtype)


def _dilation2d(data: np.ndarray, weight: np.ndarray, **given: Any) -> Any:
    known = Dilation2DAttrs(**given)
    stored = dtypes.to_numpy(known.out_dtype or dtypes.canonical(data.dtype))
    wide = dtypes.canonical(computing_dtype(stored))
    images = convert(layouts.unblocked(data, known.data_layout, "NCHW"), wide)
    kernel = convert(layouts.unblocked(weight, known.kernel_layout, "IHW"), wide)

    def view(array: np.ndarray) -> np.ndarray:
        pads = window.pad_pairs(known.padding, 2)
        return window.windows(array, kernel.shape[1:], known.strides, known.dilations, pads, fill=0)

    heights = view(images) + kernel[:, None, None]
    exists = view(np.ones(images.shape, bool))
    lowest = images.dtype.type(limits(images.dtype)[0])
    result = np.where(exists, heights, lowest).max((-2, -1), initial=lowest)
    return layouts.blocked(result.astype(stored), "NCHW", known.data_layout)


def _dilation2d_compute(
    data: te.Tensor, weight: te.Tensor, out: te.Spec, **given: Any
) -> te.Tensor:
    known = Dilation2DAttrs(**given)
    images, kernel = view(data, known.data_layout), view(weight, known.kernel_layout)
    dtype, lowest = wide(out.dtype), te.lowest(wide(out.dtype))
    taps = {letter: te.axis(kernel.extent(letter), f"k{letter.lower()}") for letter in "HW"}

    def element(place: LayoutIndex) -> te.Expr:
        where, exists = {}, []
        for axis, (letter, tap) in enumerate(taps.items()):
            start = place[letter].whole * known.strides[axis] - known.padding[axis]
            where[letter] = start + tap * known.dilations[axis]
            exists += [where[letter] >= 0, where[letter] < images.extent(letter)]
        value = te.cast(images.at(N=place["N"], C=place["C"], **where), dtype)
        height = value + te.cast(kernel.at(I=place["C"], **taps), dtype)
        return te.max(te.select(te.every(*exists), height, lowest), tuple(taps.values()))

    highest = fill(out.shape, images.layout, element, "highest")
    return converted(highest, out.dtype)


def _highest(site: Backward) -> Expr:
    """The maximum over the elements of the window, each for all windows at once."""
    data, weight = site.args
    known: Dilation2DAttrs = site.attrs
    dtype = site.type.dtype
    counts = fixed(site, layouts.extents(site.type.shape, known.data_layout, "HW"))
    sizes = fixed(site, layouts.extents(site.tensor_type(weight).shape, known.kernel_layout, "HW"))
    images = relaid(data, known.data_layout, "NCHW").astype(dtype)
    kernel = relaid(weight, known.kernel_layout, "IHW").astype(dtype)
    pads = window.pad_pairs(known.padding, 2)
    lowest = const(-np.inf, dtype)
    images = build("nn.pad", images, lowest, pad_width=((0, 0), (0, 0), *pads))
    heights = []
    for place in product(*map(range, sizes)):
        starts = [p * d for p, d in zip(place, known.dilations, strict=True)]
        ends = [
            start + (count - 1) * stride + 1
            for start, count, stride in zip(starts, counts, known.strides, strict=True)
        ]
        read = build(
            "strided_slice", images, begin=starts, end=ends, strides=known.strides, axes=(2, 3)
        )
        each = [p + 1 for p in place]
        heights.append(read + build("strided_slice", kernel, begin=place, end=each, axes=(1, 2)))
    made = build("max", build("stack", heights), axis=[0])
    made = build("maximum", made, const(limits(dtypes.to_numpy(dtype))[0], dtype))
    return relaid(made, "NCHW", known.data_layout)


DILATION2D = define(
    "image.dilation2d",
    doc="The maximum of each window plus the weight; integers wrap. Padding does not count; a "
    "window outside of data gives the lowest value.",
    arguments=[("data", "images"), ("weight", "a window for each channel")],
    attrs=Dilation2DAttrs,
    relation=_dilation2d_type,
    reference=_dilation2d,
    compute=_dilation2d_compute,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    samples=[
        sample((2, 3, 5, 6), (3, 2, 3)),
        sample((1, 2, 6, 7), (2, 3, 2), strides=(2, 3), padding=(1, 0, 2, 1), dilations=(1, 2)),
        sample(
            (1, 5, 5, 2),
            (3, 3, 2),
            padding=1,
            data_layout="NHWC",
            kernel_layout="HWI",
            dtype="float16",
        ),
        sample((1, 2, 4, 4), (2, 2, 2), low=-128, high=127, dtype="int8"),
        sample((1, 1, 4, 4), (1, 2, 2), low=-128, high=127, dtype="int8", out_dtype="int32"),
        sample((1, 1, 3, 3), (1, 2, 2), padding=2, low=-9, high=-5, dtype="float64"),
    ],
    gradient=Composed(_highest),
)
dilation2d = helper(
    DILATION2D, "The maximum of each window plus the weight.", padding=(0, 0), out_dtype=""
)
