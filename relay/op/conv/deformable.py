"""Deformable convolutions: offsets move each element of each window."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

from relay import dtypes, te
from relay.ir import dims
from relay.ir.attrs import attrs
from relay.ir.expr import Expr, const
from relay.ir.types import Type
from relay.op.attributes import with_attrs
from relay.op.building import layouts, sampling_rules
from relay.op.building.helper import helper
from relay.op.building.layout_rules import LayoutAttributes
from relay.op.building.numerics import computing_dtype, matrix_product
from relay.op.building.scalars import wide
from relay.op.building.separable_rules import fixed
from relay.op.building.views import Digits, LayoutIndex, View, along, view
from relay.op.building.window import window_counts
from relay.op.conv import conv
from relay.op.conv.conv_compute import Taps, contract, plain_kernel
from relay.op.facts import Precision
from relay.op.gradient_rules import Backward, Composed, arange, build, relaid
from relay.op.linalg.matmul import multiplied
from relay.op.opdef import FusionKind, OpDef, Sample, define, sample
from relay.op.relations import size
from relay.op.site import FLOATING, Site


@attrs
class DeformableConv2DAttrs(conv.Conv2DAttrs):
    """deformable_groups: the number of groups of channels with their own offsets"""

    deformable_groups: int = 1


def _deformable_type(site: Site) -> Type | None:
    """A convolution; offset has a y and an x for each element of each window, share one value."""
    known = site.attrs
    conv.require_steps(site)
    parts = known.deformable_groups
    site.require(
        parts > 0,
        "`deformable_groups` is not positive",
        "1 or more",
        f"deformable_groups = {parts}",
    )
    site.require_elements(0, FLOATING)
    shape = conv.data_shape(site)
    kernel_layout = layouts.require_layout(site, "kernel_layout", known.kernel_layout, "OIHW")
    weight = layouts.unblocked_shape(site, 2, kernel_layout, "OIHW")
    data = site.tensor(0)
    if shape is None or data is None:
        return None
    batch, inputs, *extents = shape
    conv.require_groups(site, inputs, "input", "deformable_groups")
    if weight is None:
        kernel = conv.assigned_weight(site, 2, inputs)
        if kernel is None:
            return None
    else:
        outputs, each, *sizes = weight
        conv.require_groups(site, outputs, "output")
        conv.require_inputs(site, inputs, each)
        kernel = conv.checked_kernel(site, outputs, sizes)
    outputs, window = kernel
    positions = window_counts(site, extents, window)
    data_layout = layouts.require_layout(site, "data_layout", known.data_layout, "NCHW")
    for argument, each_one in ((1, 2), (3, 1))[: len(site.args) - 2]:
        numbers = dims.multiply(size(window), each_one * parts)
        fitting = layouts.blocked_shape(site, (batch, numbers, *positions), "NCHW", data_layout)
        site.expect(argument, fitting, data.dtype)
    return conv.convolved(site, batch, outputs, positions, weight=2)


def _between(data: np.ndarray, y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Bilinear interpolation of images (…, channels, h, w) at positions (…, points), as (…,
    channels, points); 0 outside of data."""
    *_, height, width = data.shape
    flat = data.reshape(*data.shape[:-2], height * width)
    total = np.zeros((*data.shape[:-2], y.shape[-1]), data.dtype)
    for down, right in product((0, 1), repeat=2):
        row, column = np.floor(y) + down, np.floor(x) + right
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        nearness = np.where(inside, (1 - abs(y - row)) * (1 - abs(x - column)), 0)
        place = np.where(inside, row * width + column, 0).astype(np.int64)
        if flat.shape[-1]:
            total += np.take_along_axis(flat, place[..., None, :], -1) * nearness[..., None, :]
    return total


def _deformable(
    data: np.ndarray,
    offset: np.ndarray,
    weight: np.ndarray,
    share: np.ndarray | None = None,
    *,
    known: DeformableConv2DAttrs,
) -> Any:
    """Interpolate the elements of all windows, then one matrix product per group."""
    groups, parts = known.groups, known.deformable_groups
    wide = computing_dtype(dtypes.to_numpy(known.out_dtype) if known.out_dtype else data.dtype)
    x = layouts.unblocked(data, known.data_layout, "NCHW").astype(wide)
    w = layouts.unblocked(weight, known.kernel_layout, "OIHW")
    moves = layouts.unblocked(offset, known.data_layout, "NCHW").astype(wide)
    batch, inputs, *extents = x.shape
    outputs, each, *sizes = w.shape
    positions = moves.shape[2:]
    moves = moves.reshape(batch, parts, *sizes, 2, *positions)

    def places(axis: int) -> np.ndarray:
        """The positions of window elements on an axis, (batch, part, elements of windows)."""
        start = np.arange(positions[axis]) * known.strides[axis] - known.padding[axis]
        inside = np.arange(sizes[axis]) * known.dilation[axis]
        grid = inside.reshape(-1, *(1,) * (3 - axis)) + start.reshape(-1, *(1,) * (1 - axis))
        found: np.ndarray = moves[:, :, :, :, axis] + grid.astype(wide)
        return found.reshape(batch, parts, prod(sizes) * prod(positions))

    parted = x.reshape(batch, parts, inputs // parts, *extents)
    fetched = _between(parted, places(0), places(1))
    if share is not None:
        counted = layouts.unblocked(share, known.data_layout, "NCHW").astype(wide)
        places_of_all = prod(sizes) * prod(positions)
        fetched = fetched * counted.reshape(batch, parts, 1, places_of_all)
    right = fetched.reshape(batch, groups, each * prod(sizes), prod(positions))
    left = w.reshape(groups, outputs // groups, each * prod(sizes))
    result = multiplied(matrix_product, left, right, known.out_dtype or data.dtype.name)
    result = result.reshape(batch, outputs, *positions)
    return layouts.blocked(result, "NCHW", known.out_layout or known.data_layout)


def _between_compute(images: View, n: te.Expr, c: te.Expr, y: te.Expr, x: te.Expr) -> te.Expr:
    """Bilinear interpolation of images at a position."""
    height, width = (te.cast(images.extent(letter), y.dtype) for letter in "HW")
    top, left = te.call("floor", y), te.call("floor", x)
    total: te.Expr = te.const(0, y.dtype)
    for down, right in product((0, 1), repeat=2):
        row, column = top + down, left + right
        inside = te.every(row >= 0, row < height, column >= 0, column < width)
        nearness = (1 - te.absolute(y - row)) * (1 - te.absolute(x - column))
        value = images.at(N=n, C=c, H=te.cast(row, "int64"), W=te.cast(column, "int64"))
        total = total + te.select(inside, te.cast(value, y.dtype) * nearness, 0)
    return total


def _deformable_compute(
    data: te.Tensor,
    offset: te.Tensor,
    weight: te.Tensor,
    share: te.Tensor | None = None,
    *,
    out: te.Spec,
    known: DeformableConv2DAttrs,
) -> te.Tensor:
    """Interpolate the elements of all windows, then contract them with the weight."""
    images, moves = view(data, known.data_layout), view(offset, known.data_layout)
    kernel = view(weight, known.kernel_layout)
    shares = None if share is None else view(share, known.data_layout)
    dtype, channels = wide(out.dtype), images.extent("C")
    window = {letter: kernel.extent(letter) for letter in "HW"}

    def fetched(
        n: te.Expr, c: te.Expr, kh: te.Expr, kw: te.Expr, y: te.Expr, x: te.Expr
    ) -> te.Expr:
        part, _inside = along(c, channels).divided(channels // known.deformable_groups)
        element = (part.whole * window["H"] + kh) * window["W"] + kw

        def coordinate(axis: int, position: te.Expr, step: te.Expr) -> te.Expr:
            start = position * known.strides[axis] + step * known.dilation[axis]
            move = moves.at(N=n, C=element * 2 + axis, H=y, W=x)
            return te.cast(move, dtype) + te.cast(start - known.padding[axis], dtype)

        found = _between_compute(images, n, c, coordinate(0, y, kh), coordinate(1, x, kw))
        if shares is None:
            return found
        return found * te.cast(shares.at(N=n, C=element, H=y, W=x), dtype)

    positions = (moves.extent(letter) for letter in "HW")
    windows = te.compute(
        (images.extent("N"), channels, *window.values(), *positions), fetched, "fetched"
    )

    def window_of(place: LayoutIndex, channel: Digits, taps: Taps) -> te.Expr:
        where = (place["H"].whole, place["W"].whole)
        return windows[(place["N"].whole, channel.whole, *taps.values(), *where)]

    layout = layouts.read_layout(known.out_layout or known.data_layout)
    return contract(window_of, plain_kernel(kernel, "HW"), out, layout, known.groups)


def _contracted(site: Backward) -> Expr:
    """The elements of all windows, read between those of data, times the weight."""
    data, offset, weight, *share = site.args
    known: DeformableConv2DAttrs = site.attrs
    real, groups, parts = sampling_rules.REAL, known.groups, known.deformable_groups
    dtype = sampling_rules.wide(site.type)
    out_layout = known.out_layout or known.data_layout
    counts = layouts.extents(site.type.shape, out_layout, "HW")
    outputs, *kernel = fixed(
        site, layouts.extents(site.tensor_type(weight).shape, known.kernel_layout, "OHW")
    )
    elements = prod(kernel)
    moves = relaid(offset, known.data_layout, "NCHW").astype(real)
    moves = build("reshape", moves, newshape=(0, -4, parts * elements, 2, -2))
    inside = np.array(list(np.ndindex(*kernel))).reshape(-1, 2)
    places = []
    for axis in range(2):
        starts = sampling_rules.counted(moves, 3 + axis, counts[axis])
        starts = sampling_rules.spread(starts * const(known.strides[axis], "int64"), 2 + axis, 4)
        taps = np.tile(inside[:, axis] * known.dilation[axis] - known.padding[axis], parts)
        grid = starts + sampling_rules.spread(const(taps, "int64"), 1, 4)
        places.append(build("take", moves, const(axis), axis=2) + grid.astype(real))
    # each part of the channels is an image
    images = relaid(data, known.data_layout, "NCHW").astype(dtype)
    images = build("reshape", images, newshape=(0, -4, parts, -1, -2))
    images = build("transpose", images, axes=(0, 1, 3, 4, 2))
    rows = build("contrib_reverse_reshape", images, newshape=(-1, 0))
    batch = layouts.extents(site.type.shape, out_layout, "N")[0]
    image = sampling_rules.spread(sampling_rules.counted(moves, 0, batch), 0, 4)
    part = sampling_rules.spread(build("repeat", arange(0, parts), repeats=elements, axis=0), 1, 4)
    sizes = sampling_rules.sizes(site, known.data_layout, "HW")
    read = sampling_rules.read(
        rows,
        image * const(parts, "int64") + part,
        sizes,
        [
            sampling_rules.linear_taps_inside(place, size)
            for place, size in zip(places, sizes, strict=True)
        ],
    )
    for factors in share:
        factor = relaid(factors, known.data_layout, "NCHW").astype(dtype)
        read = read * build("expand_dims", factor, axis=-1)
    read = build("reshape", read, newshape=(0, -4, parts, elements, -2))
    read = build("transpose", read, axes=(0, 1, 5, 2, 3, 4))  # (n, part, channel, element, h, w)
    read = build("reshape", read, newshape=(0, -3, -2))
    read = build("reshape", read, newshape=(0, -4, groups, -1, -2))
    factors = relaid(weight, known.kernel_layout, "OIHW").astype(dtype)
    factors = build("reshape", factors, newshape=(groups, outputs // groups, -1, elements))
    made = build("einsum", [read, factors], equation="ngceyx,goce->ngoyx")
    made = build("reshape", made, newshape=(0, -3, -2))
    return relaid(made.astype(site.type.dtype), "NCHW", out_layout)


_ARGUMENTS = (
    ("data", "images"),
    ("offset", "the displacement of each element of each window"),
    ("weight", "a window for each output channel and input channel of its group"),
    ("share", "the factor of each element of each window"),
)
_LAYOUTS = ("data_layout", "data_layout", "kernel_layout", "data_layout")


def _define(name: str, doc: str, arguments: int, *samples: Sample) -> OpDef:
    return define(
        name,
        doc=doc,
        arguments=_ARGUMENTS[:arguments],
        attrs=DeformableConv2DAttrs,
        relation=_deformable_type,
        reference=with_attrs(DeformableConv2DAttrs, _deformable),
        compute=with_attrs(DeformableConv2DAttrs, _deformable_compute),
        fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
        layout=LayoutAttributes(_LAYOUTS[:arguments], "out_layout"),
        precision=Precision.ALWAYS,
        gradient=Composed(_contracted),
        samples=samples,
    )


DEFORMABLE_CONV2D = _define(
    "nn.deformable_conv2d",
    "`nn.conv2d` with each element of each window moved by an offset. Data is interpolated "
    "bilinearly with zeros around it, so that a position less than 1 beyond a border still counts, "
    "as in DeformConv of ONNX and in torchvision. The channels of offset are, for each deformable "
    "group and element of the window, a y and an x.",
    3,
    sample((1, 2, 4, 5), (1, 12, 3, 3), (3, 2, 2, 3)),
    sample(
        (2, 4, 5, 4),
        (2, 16, 3, 2),
        (2, 2, 2, 2),
        strides=2,
        padding=(1, 0, 1, 1),
        dilation=(2, 1),
        groups=2,
        deformable_groups=2,
        kernel_size=2,
        channels=2,
        dtype="float64",
    ),
    sample((1, 4, 4, 2), (1, 3, 3, 8), (2, 2, 2, 3), data_layout="NHWC", kernel_layout="HWIO"),
    sample((1, 1, 3, 3), (1, 2, 3, 3), (2, 1, 1, 1), out_layout="NHWC", dtype="float16"),
    sample((1, 1, 3, 3), (1, 2, 3, 3), (2, 1, 1, 1), out_dtype="float64"),
)
deformable_conv2d = helper(
    DEFORMABLE_CONV2D,
    "A deformable convolution.",
    first=("strides", "padding", "dilation", "deformable_groups"),
    padding=(0, 0),
    out_dtype="",
)


modulated_deformable_conv2d = _define(
    "nn.modulated_deformable_conv2d",
    "`nn.deformable_conv2d` with each element of each window multiplied by a factor of its own. "
    "The channels of share are, for each deformable group, the elements of the window.",
    4,
    sample((1, 2, 4, 5), (1, 12, 3, 3), (3, 2, 2, 3), (1, 6, 3, 3)),
    sample(
        (2, 4, 5, 4),
        (2, 16, 3, 2),
        (2, 2, 2, 2),
        (2, 8, 3, 2),
        strides=2,
        padding=(1, 0, 1, 1),
        dilation=(2, 1),
        groups=2,
        deformable_groups=2,
        kernel_size=2,
        channels=2,
        dtype="float64",
    ),
    sample(
        (1, 4, 4, 2),
        (1, 3, 3, 8),
        (2, 2, 2, 3),
        (1, 3, 3, 4),
        data_layout="NHWC",
        kernel_layout="HWIO",
    ),
    sample(
        (1, 1, 3, 3),
        (1, 2, 3, 3),
        (2, 1, 1, 1),
        (1, 1, 3, 3),
        out_layout="NHWC",
        dtype="float16",
    ),
    sample((1, 1, 3, 3), (1, 2, 3, 3), (2, 1, 1, 1), (1, 1, 3, 3), out_dtype="float64"),
)
