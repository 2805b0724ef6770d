"""Correlation of patches of two images, as used in optical flow."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from relay import te
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Expr, const
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building import layouts
from relay.op.building.numerics import rounded_once
from relay.op.building.scalars import wide
from relay.op.building.separable_rules import fixed
from relay.op.building.views import LayoutIndex, extent_in, fill, padded, view
from relay.op.building.window import Pair, long_padding, pad_pairs, require_padding
from relay.op.gradient_rules import Backward, Composed, build, relaid
from relay.op.opdef import FusionKind, define, sample
from relay.op.site import FLOATING, Site, better_known


@attrs
class CorrelationAttrs(Attrs):
    """kernel_size: the extent of the compared patches, an odd number
    max_displacement: the largest displacement of compared patches, along each axis
    stride1: the distance between patches of data1
    stride2: the distance between displacements
    padding: zeros around both images; for each axis, or before and then after each
    is_multiply: multiply elements; otherwise take the absolute value of their difference
    layout: the order of the axes of the images
    """

    kernel_size: int = 1
    max_displacement: int = 1
    stride1: int = 1
    stride2: int = 1
    padding: tuple[int, ...] = (0, 0, 0, 0)
    is_multiply: bool = True
    layout: str = "NCHW"

    def __post_init__(self) -> None:
        Attrs.__post_init__(self)
        object.__setattr__(self, "padding", long_padding(self.padding, 2))


def _correlation_type(site: Site) -> Type | None:
    """((n, c, h, w), same) -> (n, displacements², patches along h, patches along w)"""
    known: CorrelationAttrs = site.attrs
    site.require_elements(0, FLOATING)
    layout = layouts.require_layout(site, "layout", known.layout, "NCHW")
    require_padding(site, known.padding, 2)
    for name, least in (("max_displacement", 0), ("stride1", 1), ("stride2", 1)):
        value = known[name]
        site.require(value >= least, f"`{name}` is too small", f"{least} or more", str(value))
    site.require(
        known.kernel_size > 0 and known.kernel_size % 2 == 1,
        "a patch has no middle",
        "an odd `kernel_size`",
        str(known.kernel_size),
    )
    first, second = (layouts.unblocked_shape(site, index, layout, "NCHW") for index in (0, 1))
    if first is None or (data := site.tensor(0)) is None:
        return None
    site.expect(1, data.shape, data.dtype)
    batch, _, *extents = map(better_known, first, second or first)
    positions = map(
        lambda extent, pads: _patches(site, extent, pads), extents, pad_pairs(known.padding, 2)
    )
    shape = (batch, (2 * (known.max_displacement // known.stride2) + 1) ** 2, *positions)
    return TensorType(layouts.blocked_shape(site, shape, "NCHW", layout), data.dtype)


def _patches(site: Site, extent: Dim, pads: Pair) -> Dim:
    """The number of patches on an axis, within the largest displacement."""
    known: CorrelationAttrs = site.attrs
    border = known.max_displacement + known.kernel_size // 2
    room = dims.subtract(dims.add(extent, sum(pads)), 2 * border)
    site.require_natural(
        dims.subtract(room, 1),
        "displaced patches do not fit into the padded image",
        f"an extent of {2 * border + 1 - sum(pads)} or more",
        str(extent),
    )
    return dims.floor_divide(dims.add(room, known.stride1 - 1), known.stride1)


def _correlation(data1: np.ndarray, data2: np.ndarray, known: CorrelationAttrs) -> Any:
    widths = [(0, 0), (0, 0), *pad_pairs(known.padding, 2)]
    first, second = (
        np.pad(layouts.unblocked(data, known.layout, "NCHW"), widths) for data in (data1, data2)
    )
    channels, height, width = first.shape[1:]
    reach, step = known.max_displacement, known.stride1
    middle = first[:, :, reach : height - reach, reach : width - reach]
    radius = reach // known.stride2
    shifts = range(-radius * known.stride2, radius * known.stride2 + 1, known.stride2)
    planes = []
    for down, right in product(shifts, shifts):
        displaced = second[
            :,
            :,
            reach + down : height - reach + down,
            reach + right : width - reach + right,
        ]
        alike = middle * displaced if known.is_multiply else np.abs(middle - displaced)
        patches = np.lib.stride_tricks.sliding_window_view(
            alike.sum(1, dtype=alike.dtype), (known.kernel_size, known.kernel_size), (1, 2)
        )
        planes.append(patches[:, ::step, ::step].sum((-2, -1), dtype=alike.dtype))
    count = first.dtype.type(known.kernel_size**2 * channels)
    return layouts.blocked(np.stack(planes, 1) / count, "NCHW", known.layout)


def _correlation_compute(
    data1: te.Tensor, data2: te.Tensor, out: te.Spec, known: CorrelationAttrs
) -> te.Tensor:
    """The sums for each vertical and horizontal displacement, which become channels."""
    pads = dict(zip("HW", pad_pairs(known.padding, 2), strict=True))
    first, second = (padded(view(data, known.layout), pads) for data in (data1, data2))
    reach, step = known.max_displacement, known.stride2
    radius = reach // step
    shifts, start = 2 * radius + 1, reach - radius * step
    target, dtype = layouts.read_layout(known.layout), wide(out.dtype)
    batch, *spatial = (extent_in(target, out.shape, letter) for letter in "NHW")
    channel = te.axis(first.extent("C"), "c")
    rows, columns = te.axis(known.kernel_size, "kh"), te.axis(known.kernel_size, "kw")

    def alike(n: te.Expr, down: te.Expr, right: te.Expr, y: te.Expr, x: te.Expr) -> te.Expr:
        top, left = y * known.stride1 + rows, x * known.stride1 + columns
        mine = te.cast(first.at(N=n, C=channel, H=top + reach, W=left + reach), dtype)
        shifted = {"H": top + down * step + start, "W": left + right * step + start}
        other = te.cast(second.at(N=n, C=channel, **shifted), dtype)
        term = mine * other if known.is_multiply else te.absolute(mine - other)
        return te.sum(term, (channel, rows, columns))

    sums = te.compute((batch, shifts, shifts, *spatial), alike, "correlation")
    count = te.cast(first.extent("C") * known.kernel_size**2, dtype)

    def mean(place: LayoutIndex) -> te.Expr:
        down, right = place["C"].cut((shifts,))
        where = (place["N"].whole, down, right, place["H"].whole, place["W"].whole)
        return te.cast(sums[where] / count, out.dtype)

    return fill(out.shape, target, mean, "mean")


def _means(site: Backward) -> Expr:
    """All displacements of the second image at once, as windows of it."""
    known: CorrelationAttrs = site.attrs
    ty = site.tensor_type(site.args[0])
    pads = pad_pairs(known.padding, 2)
    channels, *extents = fixed(site, layouts.extents(ty.shape, known.layout, "CHW"))
    widths = ((0, 0), (0, 0), *pads)
    first, second = (
        build("nn.pad", relaid(one, known.layout, "NCHW"), const(0, ty.dtype), pad_width=widths)
        for one in site.args
    )
    reach, step = known.max_displacement, known.stride2
    spare = reach % step  # of displacements that are multiples of the step
    whole = [extent + sum(pad) for extent, pad in zip(extents, pads, strict=True)]
    inner = [extent - 2 * reach for extent in whole]

    def cut(images: Expr, border: int) -> Expr:
        ends = [extent - border for extent in whole]
        return build("strided_slice", images, begin=(border, border), end=ends, axes=(2, 3))

    moved = build(
        "sliding_window", cut(second, spare), axis=2, window_shape=inner, strides=(step, step)
    )
    middle = build("expand_dims", cut(first, reach), axis=2, num_newaxis=2)
    alike = middle * moved if known.is_multiply else build("abs", middle - moved)
    sums = build("reshape", build("sum", alike, axis=[1]), newshape=(0, -3, -2))
    size = (known.kernel_size, known.kernel_size)
    steps = (known.stride1, known.stride1)
    means = build("nn.avg_pool2d", sums, pool_size=size, strides=steps)
    return relaid(means / const(channels, ty.dtype), "NCHW", known.layout)


correlation = define(
    "nn.correlation",
    doc="Patches of data1 against patches of data2 displaced by up to max_displacement: for each "
    "displacement, the mean of the products or of the absolute differences of their elements.",
    arguments=[("data1", "images"), ("data2", "images of the same type")],
    attrs=CorrelationAttrs,
    relation=_correlation_type,
    reference=rounded_once(with_attrs(CorrelationAttrs, _correlation)),
    compute=with_attrs(CorrelationAttrs, _correlation_compute),
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    samples=[
        sample((2, 3, 5, 6), (2, 3, 5, 6)),
        sample((1, 2, 6, 7), (1, 2, 6, 7), kernel_size=3, max_displacement=2, padding=(2, 1)),
        sample((1, 2, 8, 8), (1, 2, 8, 8), max_displacement=3, stride1=2, stride2=2, padding=1),
        sample(
            (1, 5, 5, 2),
            (1, 5, 5, 2),
            is_multiply=False,
            padding=(1, 0, 0, 2),
            layout="NHWC",
            dtype="float16",
        ),
    ],
    gradient=Composed(_means),
)
