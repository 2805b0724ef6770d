"""Convolutions over any number of spatial axes, in any layout."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType, Type
from relay.op.matmul import multiplied, product_dtype
from relay.op.opdef import DType, FusionKind, Tensor, define, sample
from relay.op.site import Relation, Site
from relay.op.window import (
    pad_pairs,
    padding_tuple,
    per_axis,
    permutation,
    permuted,
    require_padding,
    require_sizes,
    sizes_tuple,
    window_count,
    windows,
)


@attrs
class Conv2DAttrs(Attrs):
    """strides: the distance between windows
    padding: zeros around data; for each axis, or before each and then after each
    dilation: the distance between the elements of a window
    groups: channels are divided into so many groups, which do not see each other
    channels: the number of output channels; with kernel_size it gives the weight its type
    kernel_size: the extents of the window
    data_layout: the order of the axes of data
    kernel_layout: the order of the axes of weight: outputs, inputs, and the window
    out_layout: the order of the axes of the result; "" is that of data
    out_dtype: the element type of the result; None is that of data
    """

    strides: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0)
    dilation: tuple[int, ...] = (1, 1)
    groups: int = 1
    channels: int | None = None
    kernel_size: tuple[int, ...] | None = None
    data_layout: str = "NCHW"
    kernel_layout: str = "OIHW"
    out_layout: str = ""
    out_dtype: DType | None = None


def convolution_type(spatial: str) -> Relation:
    """(n, c, x…) * (o, c / groups, k…) -> (n, o, windows…), for the spatial axes named."""
    count = len(spatial)

    def relation(site: Site) -> Type | None:
        known = site.attrs
        data, weight = site.tensor(0, rank=2 + count), site.tensor(1, rank=2 + count)
        data_layout = site.layout(known.data_layout, "NC" + spatial, "data_layout")
        site.layout(known.kernel_layout, "OI" + spatial, "kernel_layout")
        out_layout = site.layout(known.out_layout or data_layout, "NC" + spatial, "out_layout")
        require_sizes(site, "strides", known.strides, count, 1)
        require_sizes(site, "dilation", known.dilation, count, 1)
        require_padding(site, known.padding, count)
        site.require(known.groups > 0, "`groups` is not positive", "1 or more", str(known.groups))
        if known.kernel_size is not None:
            require_sizes(site, "kernel_size", known.kernel_size, count, 1)
        if data is None:
            return None
        batch, inputs, *extents = permuted(data.shape, data_layout, "NC" + spatial)
        if weight is None:
            kernel = _assigned_weight(site, data.dtype, inputs, spatial)
        else:
            kernel = _checked_weight(site, weight, inputs, spatial)
        if kernel is None:
            return None
        outputs, sizes = kernel
        positions = map(
            lambda *axis: window_count(site, *axis),
            extents,
            sizes,
            per_axis(known.strides, count),
            per_axis(known.dilation, count),
            pad_pairs(known.padding, count),
        )
        shape = permuted((batch, outputs, *positions), "NC" + spatial, out_layout)
        return TensorType(shape, product_dtype(site, data, weight))

    return relation


Kernel = tuple[Dim, Sequence[Dim]]  # output channels, extents of the window


def _assigned_weight(site: Site, dtype: str, inputs: Dim, spatial: str) -> Kernel | None:
    """The weight that `channels` and `kernel_size` speak of, which the argument then has."""
    known = site.attrs
    if known.channels is None or known.kernel_size is None:
        return None
    sizes = per_axis(known.kernel_size, len(spatial))
    _require_groups(site, inputs, "input")
    _require_groups(site, known.channels, "output")
    each = dims.floor_divide(inputs, known.groups)
    shape = permuted((known.channels, each, *sizes), "OI" + spatial, known.kernel_layout)
    site.assign(1, TensorType(shape, dtype))
    return known.channels, sizes


def _checked_weight(site: Site, weight: TensorType, inputs: Dim, spatial: str) -> Kernel:
    """What the weight says, compared with the input channels and the attributes."""
    known = site.attrs
    outputs, each, *sizes = permuted(weight.shape, known.kernel_layout, "OI" + spatial)
    depthwise = _written_depthwise(known.groups, inputs, outputs, each)
    if depthwise is None:
        outputs = dims.ANY
    elif depthwise:
        outputs = dims.multiply(outputs, each)
    else:
        _require_groups(site, outputs, "output")
        if not site.unify_dims(dims.multiply(each, known.groups), inputs):
            site.fail(
                "input channels differ",
                f"{inputs} input channels, as data has, in {known.groups} group(s)",
                f"{each} per group in argument `weight`, {weight}",
            )
    if known.channels is not None:
        outputs = site.require_equal(outputs, known.channels, "output channels and `channels`")
    if known.kernel_size is not None:
        given = per_axis(known.kernel_size, len(spatial))
        sizes = [
            site.require_equal(found, wanted, "extents of weight and `kernel_size`")
            for found, wanted in zip(sizes, given, strict=True)
        ]
    return outputs, sizes


def _written_depthwise(groups: int, inputs: Dim, outputs: Dim, each: Dim) -> bool | None:
    """Whether a weight is written (channels, multiplier, …): each input channel is a group of its
    own and makes `multiplier` outputs. None while `?` leaves it open."""
    if groups == 1 or each == 1:
        return False
    answers = [
        None if isinstance(channels, dims.Any) else channels == groups
        for channels in (inputs, outputs)
    ]
    if False in answers:
        return False
    return None if None in answers or isinstance(each, dims.Any) else True


def _require_groups(site: Site, channels: Dim, what: str) -> None:
    groups = site.attrs.groups
    if isinstance(channels, int) and channels % groups:
        site.fail(
            f"{what} channels do not form {groups} groups",
            f"a multiple of {groups}",
            str(channels),
        )


def convolve(
    data: np.ndarray,
    weight: np.ndarray,
    strides: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    data_layout: str,
    kernel_layout: str,
    out_layout: str,
    out_dtype: str | None,
    **_: Any,
) -> Any:
    """The convolution as one matrix product per group, of the weight with a column per window."""
    spatial = "".join(letter for letter in data_layout if letter not in "NC")
    count = len(spatial)
    x = data.transpose(permutation(data_layout, "NC" + spatial))
    w = weight.transpose(permutation(kernel_layout, "OI" + spatial))
    if _written_depthwise(groups, x.shape[1], *w.shape[:2]):
        w = w.reshape(-1, 1, *w.shape[2:])
    view = windows(
        x,
        w.shape[2:],
        per_axis(strides, count),
        per_axis(dilation, count),
        pad_pairs(padding, count),
        fill=0,
    )
    batch, positions = view.shape[0], view.shape[2 : 2 + count]
    grouped = view.reshape(batch, groups, x.shape[1] // groups, *view.shape[2:])
    # a row per input channel of a group and element of the window, a column per window
    order = (1, 2, *range(3 + count, 3 + 2 * count), 0, *range(3, 3 + count))
    depth = prod(w.shape[1:])
    columns = grouped.transpose(order).reshape(groups, depth, batch * prod(positions))
    rows = w.reshape(groups, w.shape[0] // groups, depth)
    result = multiplied(np.matmul, rows, columns, out_dtype or data.dtype.name)
    result = result.reshape(w.shape[0], batch, *positions).swapaxes(0, 1)
    return result.transpose(permutation("NC" + spatial, out_layout or data_layout))


def conv2d(
    data: Expr,
    weight: Expr,
    strides: int | Sequence[int] = (1, 1),
    padding: int | Sequence[int] = (0, 0),
    dilation: int | Sequence[int] = (1, 1),
    groups: int = 1,
    channels: int | None = None,
    kernel_size: int | Sequence[int] | None = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: str = "",
) -> Call:
    """A convolution of images; sizes may be one number for both axes."""
    return CONV2D(
        data,
        weight,
        strides=sizes_tuple(strides, 2),
        padding=padding_tuple(padding, 2),
        dilation=sizes_tuple(dilation, 2),
        groups=groups,
        channels=channels,
        kernel_size=None if kernel_size is None else sizes_tuple(kernel_size, 2),
        data_layout=data_layout,
        kernel_layout=kernel_layout,
        out_layout=out_layout,
        out_dtype=out_dtype,
    )


CONV2D = define(
    "nn.conv2d",
    doc="Each window of data times each output channel of weight, added up. A depthwise weight "
    "(groups equal to the input channels) may also be written (channels, multiplier, …).",
    arguments=[("data", "images"), ("weight", "a window of channels for each output channel")],
    attrs=Conv2DAttrs,
    relation=convolution_type("HW"),
    reference=convolve,
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    helper=conv2d,
    samples=[
        sample((2, 3, 7, 8), (4, 3, 3, 3)),
        sample((1, 3, 9, 8), (4, 3, 3, 2), strides=(2, 3), padding=(1, 2), dilation=(2, 1)),
        sample((1, 4, 5, 6), (6, 2, 1, 3), groups=2, padding=(0, 1, 2, 3), channels=6),
        sample((2, 5, 4, 3), (3, 3, 3, 7), data_layout="NHWC", kernel_layout="HWIO", padding=1),
        sample((1, 4, 5, 5), (4, 1, 3, 3), groups=4, kernel_size=(3, 3), out_layout="NHWC"),
        sample((1, 4, 5, 5), (4, 2, 3, 3), groups=4, channels=8, dtype="float64"),
        sample((1, 5, 5, 4), (3, 3, 4, 1), groups=4, data_layout="NHWC", kernel_layout="HWOI"),
        sample(
            (1, 3, 5, 5), Tensor((2, 3, 3, 3), "int8"), dtype="uint8", high=99, out_dtype="int32"
        ),
        sample((1, 2, 4, 4), (3, 2, 3, 3), dtype="bfloat16", strides=2),
    ],
)
