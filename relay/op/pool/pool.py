"""Pools: one element for each window that slides over one, two or three spatial axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from relay.ir.attrs import attrs
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType, Type
from relay.op.building.layout_rules import POOL
from relay.op.building.layouts import (
    blocked,
    blocked_shape,
    require_layout,
    spatial_axes,
    unblocked,
    unblocked_shape,
)
from relay.op.building.numerics import divide, in_64_bits, limits, rounded_once
from relay.op.building.window import (
    Sizes,
    WindowAttrs,
    pad_pairs,
    require_padding,
    require_sizes,
    window_counts,
    windows,
)
from relay.op.facts import Facts, Precision, Trait
from relay.op.opdef import FusionKind, define, sample
from relay.op.pool import pool_compute
from relay.op.site import NUMERIC, Relation, Site

# --- attributes --------------------------------------------------------------------------------


@attrs
class PoolAttrs(WindowAttrs):
    """pool_size: the extents of the window
    strides: the distance between windows
    dilation: the distance between the elements of a window
    padding: elements around data that do not count; for each axis, or before and then after each
    layout: the order of the axes of data
    out_layout: the order of the axes of the result; "" is that of data
    ceil_mode: the last window may stick out
    """

    pool_size: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[int, ...]
    layout: str
    out_layout: str = ""
    ceil_mode: bool = False


@attrs
class MaxPool1DAttrs(PoolAttrs):
    """Defaults for one spatial axis."""

    axes: ClassVar[int] = 1

    strides: tuple[int, ...] = (1,)
    dilation: tuple[int, ...] = (1,)
    padding: tuple[int, ...] = (0, 0)
    layout: str = "NCW"


@attrs
class MaxPool2DAttrs(PoolAttrs):
    """Defaults for two spatial axes."""

    axes: ClassVar[int] = 2

    strides: tuple[int, ...] = (1, 1)
    dilation: tuple[int, ...] = (1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0)
    layout: str = "NCHW"


@attrs
class MaxPool3DAttrs(PoolAttrs):
    """Defaults for three spatial axes."""

    axes: ClassVar[int] = 3

    strides: tuple[int, ...] = (1, 1, 1)
    dilation: tuple[int, ...] = (1, 1, 1)
    padding: tuple[int, ...] = (0, 0, 0, 0, 0, 0)
    layout: str = "NCDHW"


@attrs
class AvgPool1DAttrs(MaxPool1DAttrs):
    """count_include_pad: padding counts as zeros, for each axis up to its end"""

    count_include_pad: bool = False


@attrs
class AvgPool2DAttrs(MaxPool2DAttrs):
    """count_include_pad: padding counts as zeros, for each axis up to its end"""

    count_include_pad: bool = False


@attrs
class AvgPool3DAttrs(MaxPool3DAttrs):
    """count_include_pad: padding counts as zeros, for each axis up to its end"""

    count_include_pad: bool = False


# --- the relation ------------------------------------------------------------------------------


def pool_type(spatial: str) -> Relation:
    """(n, c, x…) -> (n, c, windows…), for the spatial axes named."""

    def relation(site: Site) -> Type | None:
        site.require_elements(0, NUMERIC)
        return pooled_type(site, spatial, 0)

    return relation


def pooled_type(site: Site, spatial: str, index: int) -> TensorType | None:
    """The type of a pool of argument `index`; None while that is not known."""
    known, letters = site.attrs, "NC" + spatial
    layout = require_layout(site, "layout", known.layout, letters)
    out_layout = require_layout(site, "out_layout", known.out_layout or known.layout, letters)
    for name in ("pool_size", "strides", "dilation"):
        require_sizes(site, name, 1)
    require_padding(site, site.attrs.padding, site.attrs.axes)
    shape, data = unblocked_shape(site, index, layout, letters), site.tensor(index)
    if shape is None or data is None:
        return None
    batch, channels, *extents = shape
    positions = window_counts(site, extents, known.pool_size, known.ceil_mode)
    result = blocked_shape(site, (batch, channels, *positions), letters, out_layout)
    return TensorType(result, data.dtype)


# --- the references ----------------------------------------------------------------------------


def with_whole_axes(
    data: np.ndarray, layout: str, out_layout: str, pool: Callable[[np.ndarray], Any]
) -> Any:
    """The result of `pool`, which sees data as (n, c, x…)."""
    letters = "NC" + spatial_axes(layout)
    return blocked(pool(unblocked(data, layout, letters)), letters, out_layout or layout)


def pool_windows(data: np.ndarray, fill: float, **known: Any) -> np.ndarray:
    """The windows of a pool with these attributes: (n, c, positions…, window…)"""
    return windows(
        data,
        known["pool_size"],
        known["strides"],
        known["dilation"],
        pad_pairs(known["padding"], len(known["pool_size"])),
        fill,
        known["ceil_mode"],
    )


def _combined(function: np.ufunc, view: np.ndarray) -> Any:
    """One element for each window. Windows have few elements, so that taking one of each window at
    a time is much faster than reducing small axes."""
    sizes = view.shape[1 + view.ndim // 2 :]
    return reduce(function, (view[(..., *place)] for place in np.ndindex(*sizes)))


def counted(extents: Sequence[int], count_include_pad: bool, **known: Any) -> Any:
    """How many elements of each window count, (1, 1, positions…); 1 if there are none."""
    if count_include_pad:
        pads = pad_pairs(known["padding"], len(known["pool_size"]))
        extents = [sum(pair) + extent for extent, pair in zip(extents, pads, strict=True)]
        known["padding"] = (0,) * (2 * len(extents))
    ones = np.ones((1, 1, *extents), np.int64)
    return np.maximum(_combined(np.add, pool_windows(ones, 0, **known)), 1)


def max_pool(data: np.ndarray, layout: str, out_layout: str, **known: Any) -> Any:
    """The greatest element of each window; of a window outside data, the lowest there is."""
    lowest = limits(data.dtype)[0]
    return with_whole_axes(
        data,
        layout,
        out_layout,
        lambda x: _combined(np.maximum, pool_windows(x, lowest, **known)),
    )


def avg_pool(
    data: np.ndarray, layout: str, out_layout: str, count_include_pad: bool, **known: Any
) -> Any:
    """The mean of each window."""

    def mean(x: np.ndarray) -> Any:
        exact = in_64_bits(x)
        total = _combined(np.add, pool_windows(exact, 0, **known))
        count = counted(x.shape[2:], count_include_pad, **known)
        return divide(total, count.astype(exact.dtype)).astype(x.dtype)

    return with_whole_axes(data, layout, out_layout, mean)


# --- maxima ------------------------------------------------------------------------------------

_MAX_DOC = (
    "The greatest element of each window; NaN if there is one. A window that holds nothing of "
    "data gives the lowest value there is."
)
MAX_FACTS: Facts = {"traits": Trait.CHOOSES, "layout": POOL}
_MAX: Any = {
    "doc": _MAX_DOC,
    "reference": rounded_once(max_pool),
    "compute": pool_compute.max_pool,
    "fusion": FusionKind.OUT_ELEMWISE_FUSABLE,
    **MAX_FACTS,
}


def max_pool1d(
    data: Expr,
    pool_size: Sizes = (1,),
    strides: Sizes = (1,),
    dilation: Sizes = (1,),
    padding: Sizes = (0,),
    layout: str = "NCW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:
    """The greatest element of each window."""
    return MAX_POOL1D(data, pool_size, strides, dilation, padding, layout, out_layout, ceil_mode)


MAX_POOL1D = define(
    "nn.max_pool1d",
    arguments=[("data", "the input")],
    attrs=MaxPool1DAttrs,
    relation=pool_type("W"),
    helper=max_pool1d,
    samples=[
        sample((1, 2, 7), pool_size=3),
        sample((2, 1, 8), pool_size=2, strides=3, padding=(0, 1), ceil_mode=True),
        sample((1, 7, 2), pool_size=2, dilation=3, layout="NWC", out_layout="NCW", dtype="uint8"),
    ],
    **_MAX,
)


def max_pool2d(
    data: Expr,
    pool_size: Sizes = (1, 1),
    strides: Sizes = (1, 1),
    dilation: Sizes = (1, 1),
    padding: Sizes = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:
    """The greatest element of each window."""
    return MAX_POOL2D(data, pool_size, strides, dilation, padding, layout, out_layout, ceil_mode)


MAX_POOL2D = define(
    "nn.max_pool2d",
    arguments=[("data", "images")],
    attrs=MaxPool2DAttrs,
    relation=pool_type("HW"),
    helper=max_pool2d,
    samples=[
        sample((1, 2, 6, 7), pool_size=(2, 3)),
        sample((1, 2, 6, 7), pool_size=2, strides=(2, 3), padding=(1, 0, 0, 1), ceil_mode=True),
        sample((1, 6, 7, 2), pool_size=(3, 2), dilation=(2, 1), layout="NHWC", dtype="int8"),
        sample((1, 2, 5, 5), pool_size=3, padding=1, out_layout="NHWC", dtype="float16"),
        sample((1, 2, 3, 4, 2), pool_size=2, strides=2, layout="NCHW2c"),
    ],
    **_MAX,
)


def max_pool3d(
    data: Expr,
    pool_size: Sizes = (1, 1, 1),
    strides: Sizes = (1, 1, 1),
    dilation: Sizes = (1, 1, 1),
    padding: Sizes = (0, 0, 0),
    layout: str = "NCDHW",
    out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:
    """The greatest element of each window."""
    return MAX_POOL3D(data, pool_size, strides, dilation, padding, layout, out_layout, ceil_mode)


MAX_POOL3D = define(
    "nn.max_pool3d",
    arguments=[("data", "volumes")],
    attrs=MaxPool3DAttrs,
    relation=pool_type("DHW"),
    helper=max_pool3d,
    samples=[
        sample((1, 2, 3, 4, 3), pool_size=(2, 3, 1)),
        sample(
            (1, 1, 4, 3, 4),
            pool_size=2,
            strides=(2, 1, 3),
            padding=(1, 0, 1, 0, 1, 0),
            ceil_mode=True,
            dtype="int32",
        ),
        sample((1, 3, 4, 3, 1), pool_size=2, dilation=(1, 3, 2), layout="NDHWC"),
        sample((1, 1, 2, 3, 3), pool_size=2, out_layout="NDHWC", dtype="bfloat16"),
    ],
    **_MAX,
)

# --- means -------------------------------------------------------------------------------------

_AVG_DOC = (
    "The mean of each window, over those of its elements that lie in data, or in padding too, "
    "which is 0. Integers truncate towards zero; a window that holds nothing gives 0."
)
AVG_FACTS: Facts = {
    "traits": Trait.LINEAR | Trait.AVERAGES,
    "precision": Precision.FOLLOW,
    "layout": POOL,
}
_AVG: Any = {
    "doc": _AVG_DOC,
    "reference": rounded_once(avg_pool),
    "compute": pool_compute.avg_pool,
    "fusion": FusionKind.OUT_ELEMWISE_FUSABLE,
    **AVG_FACTS,
}


def avg_pool1d(
    data: Expr,
    pool_size: Sizes = (1,),
    strides: Sizes = (1,),
    dilation: Sizes = (1,),
    padding: Sizes = (0,),
    layout: str = "NCW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """The mean of each window."""
    return AVG_POOL1D(
        data,
        pool_size,
        strides,
        dilation,
        padding,
        layout,
        out_layout,
        ceil_mode,
        count_include_pad,
    )


AVG_POOL1D = define(
    "nn.avg_pool1d",
    arguments=[("data", "the input")],
    attrs=AvgPool1DAttrs,
    relation=pool_type("W"),
    helper=avg_pool1d,
    samples=[
        sample((1, 2, 7), pool_size=3),
        sample((2, 1, 8), pool_size=2, strides=3, padding=(0, 1), ceil_mode=True),
        sample((1, 2, 5), pool_size=3, padding=1, count_include_pad=True, dtype="int32"),
        sample((1, 7, 2), pool_size=2, dilation=3, layout="NWC", out_layout="NCW"),
    ],
    **_AVG,
)


def avg_pool2d(
    data: Expr,
    pool_size: Sizes = (1, 1),
    strides: Sizes = (1, 1),
    dilation: Sizes = (1, 1),
    padding: Sizes = (0, 0),
    layout: str = "NCHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """The mean of each window."""
    return AVG_POOL2D(
        data,
        pool_size,
        strides,
        dilation,
        padding,
        layout,
        out_layout,
        ceil_mode,
        count_include_pad,
    )


AVG_POOL2D = define(
    "nn.avg_pool2d",
    arguments=[("data", "images")],
    attrs=AvgPool2DAttrs,
    relation=pool_type("HW"),
    helper=avg_pool2d,
    samples=[
        sample((1, 2, 6, 7), pool_size=(2, 3)),
        sample((1, 2, 6, 7), pool_size=2, strides=(2, 3), padding=(1, 0, 0, 1), ceil_mode=True),
        sample((1, 2, 5, 5), pool_size=3, padding=1, count_include_pad=True),
        sample(
            (1, 1, 6, 6), pool_size=3, strides=2, padding=1, ceil_mode=True, count_include_pad=True
        ),
        sample((1, 6, 7, 2), pool_size=(3, 2), dilation=(2, 1), layout="NHWC", dtype="int8"),
        sample((1, 2, 5, 5), pool_size=3, padding=1, out_layout="NHWC", dtype="bfloat16"),
        sample((1, 2, 3, 4, 2), pool_size=2, strides=2, layout="NCHW2c", out_layout="NCHW4c"),
    ],
    **_AVG,
)


def avg_pool3d(
    data: Expr,
    pool_size: Sizes = (1, 1, 1),
    strides: Sizes = (1, 1, 1),
    dilation: Sizes = (1, 1, 1),
    padding: Sizes = (0, 0, 0),
    layout: str = "NCDHW",
    out_layout: str = "",
    ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:
    """The mean of each window."""
    return AVG_POOL3D(
        data,
        pool_size,
        strides,
        dilation,
        padding,
        layout,
        out_layout,
        ceil_mode,
        count_include_pad,
    )


AVG_POOL3D = define(
    "nn.avg_pool3d",
    arguments=[("data", "volumes")],
    attrs=AvgPool3DAttrs,
    relation=pool_type("DHW"),
    helper=avg_pool3d,
    samples=[
        sample((1, 2, 3, 4, 3), pool_size=(2, 3, 1)),
        sample(
            (1, 1, 4, 3, 4),
            pool_size=2,
            strides=(2, 1, 3),
            padding=(1, 0, 1, 0, 1, 0),
            ceil_mode=True,
        ),
        sample((1, 1, 3, 3, 4), pool_size=2, padding=1, count_include_pad=True, dtype="float16"),
        sample((1, 3, 4, 3, 1), pool_size=2, dilation=(1, 3, 2), layout="NDHWC", dtype="int8"),
        sample((1, 1, 2, 3, 3), pool_size=2, out_layout="NDHWC", dtype="float64"),
    ],
    **_AVG,
)
