"""Pools: one element for each window that slides over the spatial axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType, Type
from relay.op.numerics import divide, in_64_bits, limits, rounded_once
from relay.op.opdef import FusionKind, define, sample
from relay.op.site import NUMERIC, Relation, Site
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
class MaxPool2DAttrs(Attrs):
    """pool_size: the extents of the window
    strides: the distance between windows
    dilation: the distance between the elements of a window
    padding: elements around data that do not count; for each axis, or before and then after each
    layout: the order of the axes of data
    out_layout: the order of the axes of the result; "" is that of data
    ceil_mode: the last window may stick out
    """

    pool_size: tuple[int, ...]
    strides: tuple[int, ...] = (1, 1)
    dilation: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0)
    layout: str = "NCHW"
    out_layout: str = ""
    ceil_mode: bool = False


@attrs
class AvgPool2DAttrs(MaxPool2DAttrs):
    """count_include_pad: divide by the size of the window, also where it reaches out of data"""

    count_include_pad: bool = False


@attrs
class GlobalPool2DAttrs(Attrs):
    """layout: the order of the axes of data
    out_layout: the order of the axes of the result; "" is that of data
    """

    layout: str = "NCHW"
    out_layout: str = ""


def pool_type(spatial: str) -> Relation:
    """(n, c, x…) -> (n, c, windows…), for the spatial axes named."""
    count = len(spatial)

    def relation(site: Site) -> Type | None:
        known = site.attrs
        site.require_elements(0, NUMERIC)
        layout = site.layout(known.layout, "NC" + spatial, "layout")
        out_layout = site.layout(known.out_layout or layout, "NC" + spatial, "out_layout")
        require_sizes(site, "pool_size", known.pool_size, count, 1)
        require_sizes(site, "strides", known.strides, count, 1)
        require_sizes(site, "dilation", known.dilation, count, 1)
        require_padding(site, known.padding, count)
        if (data := site.tensor(0, rank=2 + count)) is None:
            return None
        batch, channels, *extents = permuted(data.shape, layout, "NC" + spatial)
        positions = [
            window_count(site, extent, size, stride, dilation, pads, known.ceil_mode)
            for extent, size, stride, dilation, pads in zip(
                extents,
                per_axis(known.pool_size, count),
                per_axis(known.strides, count),
                per_axis(known.dilation, count),
                pad_pairs(known.padding, count),
                strict=True,
            )
        ]
        shape = permuted((batch, channels, *positions), "NC" + spatial, out_layout)
        return TensorType(shape, data.dtype)

    return relation


def global_pool_type(spatial: str) -> Relation:
    """(n, c, x…) -> (n, c, 1…), for the spatial axes named."""

    def relation(site: Site) -> Type | None:
        site.require_elements(0, NUMERIC)
        layout = site.layout(site.attrs.layout, "NC" + spatial, "layout")
        out_layout = site.layout(site.attrs.out_layout or layout, "NC" + spatial, "out_layout")
        if (data := site.tensor(0, rank=len(layout))) is None:
            return None
        batch, channels, *_ = permuted(data.shape, layout, "NC" + spatial)
        shape: tuple[Dim, ...] = (batch, channels, *(1,) * len(spatial))
        return TensorType(permuted(shape, "NC" + spatial, out_layout), data.dtype)

    return relation


# --- references --------------------------------------------------------------------------------

# (view of windows, their axes) -> one element each
Summary = Callable[[np.ndarray, tuple[int, ...]], Any]


def _pooled(
    data: np.ndarray,
    summary: Summary,
    fill: float,
    pool_size: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    layout: str,
    out_layout: str,
    ceil_mode: bool,
) -> Any:
    spatial = "".join(letter for letter in layout if letter not in "NC")
    count = len(spatial)
    view = windows(
        data.transpose(permutation(layout, "NC" + spatial)),
        per_axis(pool_size, count),
        per_axis(strides, count),
        per_axis(dilation, count),
        pad_pairs(padding, count),
        fill,
        ceil_mode,
    )
    result = summary(view, tuple(range(2 + count, 2 + 2 * count)))
    return result.transpose(permutation("NC" + spatial, out_layout or layout))


def max_pool(data: np.ndarray, **known: Any) -> Any:
    """The greatest element of each window; of a window outside data, the lowest there is."""
    return _pooled(data, lambda view, axes: view.max(axes), limits(data.dtype)[0], **known)


def avg_pool(data: np.ndarray, count_include_pad: bool, **known: Any) -> Any:
    """The mean of each window."""
    exact = in_64_bits(data)

    def total(values: np.ndarray) -> Any:
        return _pooled(values, lambda view, axes: view.sum(axes, dtype=values.dtype), 0, **known)

    if count_include_pad:
        counted = np.array(int(np.prod(per_axis(known["pool_size"], len(known["layout"]) - 2))))
    else:
        counted = np.maximum(total(np.ones(data.shape, np.int64)), 1)
    return divide(total(exact), counted.astype(exact.dtype)).astype(data.dtype)


def global_avg_pool(data: np.ndarray, layout: str, out_layout: str) -> Any:
    """The mean over the spatial axes."""
    axes = tuple(axis for axis, letter in enumerate(layout) if letter not in "NC")
    count = int(np.prod([data.shape[axis] for axis in axes]))
    exact = in_64_bits(data)
    total = exact.sum(axes, dtype=exact.dtype, keepdims=True)
    result = np.asarray(divide(total, np.array(count, exact.dtype))).astype(data.dtype)
    return result.transpose(permutation(layout, out_layout or layout))


# --- the operators -----------------------------------------------------------------------------


def max_pool2d(
    data: Expr,
    pool_size: int | Sequence[int] = (1, 1),
    strides: int | Sequence[int] = (1, 1),
    dilation: int | Sequence[int] = (1, 1),
    padding: int | Sequence[int] = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:
    """The greatest element of each window; sizes may be one number for both axes."""
    return MAX_POOL2D(
        data,
        pool_size=sizes_tuple(pool_size, 2),
        strides=sizes_tuple(strides, 2),
        dilation=sizes_tuple(dilation, 2),
        padding=padding_tuple(padding, 2),
        layout=layout,
        out_layout=out_layout,
        ceil_mode=ceil_mode,
    )


MAX_POOL2D = define(
    "nn.max_pool2d",
    doc="The greatest element of each window; NaN if there is one. A window that holds nothing of "
    "data gives the lowest value there is.",
    arguments=[("data", "images")],
    attrs=MaxPool2DAttrs,
    relation=pool_type("HW"),
    reference=rounded_once(max_pool),
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    helper=max_pool2d,
    samples=[
        sample((1, 2, 6, 7), pool_size=(2, 3)),
        sample((1, 2, 6, 7), pool_size=2, strides=(2, 3), padding=(1, 0, 0, 1), ceil_mode=True),
        sample((1, 6, 7, 2), pool_size=(3, 2), dilation=(2, 1), layout="NHWC", dtype="int8"),
        sample((1, 2, 5, 5), pool_size=3, padding=1, out_layout="NHWC", dtype="float16"),
    ],
)


def avg_pool2d(
    data: Expr,
    pool_size: int | Sequence[int] = (1, 1),
    strides: int | Sequence[int] = (1, 1),
    dilation: int | Sequence[int] = (1, 1),
    padding: int | Sequence[int] = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """The mean of each window; sizes may be one number for both axes."""
    return AVG_POOL2D(
        data,
        pool_size=sizes_tuple(pool_size, 2),
        strides=sizes_tuple(strides, 2),
        dilation=sizes_tuple(dilation, 2),
        padding=padding_tuple(padding, 2),
        layout=layout,
        out_layout=out_layout,
        ceil_mode=ceil_mode,
        count_include_pad=count_include_pad,
    )


AVG_POOL2D = define(
    "nn.avg_pool2d",
    doc="The mean of each window, over those of its elements that lie in data, or over all of them "
    "with zeros outside. Integers truncate towards zero; a window that holds nothing of data "
    "gives 0.",
    arguments=[("data", "images")],
    attrs=AvgPool2DAttrs,
    relation=pool_type("HW"),
    reference=rounded_once(avg_pool),
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    helper=avg_pool2d,
    samples=[
        sample((1, 2, 6, 7), pool_size=(2, 3)),
        sample((1, 2, 6, 7), pool_size=2, strides=(2, 3), padding=(1, 0, 0, 1), ceil_mode=True),
        sample((1, 2, 5, 5), pool_size=3, padding=1, count_include_pad=True),
        sample((1, 6, 7, 2), pool_size=(3, 2), dilation=(2, 1), layout="NHWC", dtype="int8"),
        sample((1, 2, 5, 5), pool_size=3, padding=1, out_layout="NHWC", dtype="bfloat16"),
    ],
)

global_avg_pool2d = define(
    "nn.global_avg_pool2d",
    doc="The mean of each channel; integers truncate towards zero.",
    arguments=[("data", "images")],
    attrs=GlobalPool2DAttrs,
    relation=global_pool_type("HW"),
    reference=rounded_once(global_avg_pool),
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    samples=[
        sample((2, 3, 4, 5)),
        sample((2, 4, 5, 3), layout="NHWC", dtype="int8", low=-99, high=99),
        sample((2, 3, 4, 5), out_layout="NHWC", dtype="float16"),
    ],
)
