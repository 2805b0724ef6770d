"""Max and average pooling over one, two or three spatial axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from relay.ir.attrs import attrs
from relay.ir.expr import Call
from relay.ir.types import TensorType
from relay.op.attributes import with_attrs
from relay.op.building import layouts, window
from relay.op.building.helper import helper
from relay.op.building.layout_rules import POOL
from relay.op.building.numerics import divide, in_64_bits, limits, rounded_once
from relay.op.facts import Facts, Precision, Trait
from relay.op.gradient_rules import Rule
from relay.op.opdef import FusionKind, OpDef, Sample, define, sample
from relay.op.pool import pool_compute, pool_rules
from relay.op.site import NUMERIC, Site

# --- attributes --------------------------------------------------------------------------------


@attrs
class MaxPool1DAttrs(window.PoolAttrs, axes=1):
    """Defaults for one spatial axis."""


@attrs
class MaxPool2DAttrs(window.PoolAttrs, axes=2):
    """Defaults for two spatial axes."""


@attrs
class MaxPool3DAttrs(window.PoolAttrs, axes=3):
    """Defaults for three spatial axes."""


@attrs
class AvgPool1DAttrs(window.AvgPoolAttrs, axes=1):
    """Defaults for one spatial axis."""


@attrs
class AvgPool2DAttrs(window.AvgPoolAttrs, axes=2):
    """Defaults for two spatial axes."""


@attrs
class AvgPool3DAttrs(window.AvgPoolAttrs, axes=3):
    """Defaults for three spatial axes."""


# --- the relation ------------------------------------------------------------------------------


def pool_type(site: Site) -> TensorType | None:
    """(n, c, x…) -> (n, c, windows…)"""
    site.require_elements(0, NUMERIC)
    return pooled_type(site, 0)


def pooled_type(site: Site, index: int) -> TensorType | None:
    """The type of a pool of argument `index`; None while it is unknown."""
    known, letters = site.attrs, "NC" + site.attrs.spatial
    layout = layouts.require_layout(site, "layout", known.layout, letters)
    out_layout = layouts.require_layout(
        site, "out_layout", known.out_layout or known.layout, letters
    )
    for name in ("pool_size", "strides", "dilation"):
        window.require_sizes(site, name, 1)
    window.require_padding(site, site.attrs.padding, site.attrs.axes)
    shape, data = layouts.unblocked_shape(site, index, layout, letters), site.tensor(index)
    if shape is None or data is None:
        return None
    batch, channels, *extents = shape
    positions = window.window_counts(site, extents, known.pool_size, known.ceil_mode)
    result = layouts.blocked_shape(site, (batch, channels, *positions), letters, out_layout)
    return TensorType(result, data.dtype)


# --- the references ----------------------------------------------------------------------------


def on_unblocked(data: np.ndarray, known: Any, pool: Callable[[np.ndarray], Any]) -> Any:
    """The result of `pool` on data in the layout (n, c, x…)."""
    letters = "NC" + known.spatial
    result = pool(layouts.unblocked(data, known.layout, letters))
    return layouts.blocked(result, letters, known.out_layout or known.layout)


def pool_windows(data: np.ndarray, fill: float, known: window.PoolAttrs) -> np.ndarray:
    """The windows of a pool with these attributes: (n, c, positions…, window…)"""
    pads = window.pad_pairs(known.padding, known.axes)
    sizes, steps = (known.pool_size, known.strides), known.dilation
    return window.windows(data, *sizes, steps, pads, fill, known.ceil_mode)


def _combined(function: np.ufunc, view: np.ndarray) -> Any:
    """Reduce each window, by combining the k-th elements of all windows: faster than reducing
    small axes."""
    sizes = view.shape[1 + view.ndim // 2 :]
    return reduce(function, (view[(..., *place)] for place in np.ndindex(*sizes)))


def counted(extents: Sequence[int], known: window.AvgPoolAttrs) -> Any:
    """The number of elements of each window that count, (1, 1, positions…); at least 1."""
    if known.count_include_pad:
        pads = window.pad_pairs(known.padding, known.axes)
        extents = [sum(pair) + extent for extent, pair in zip(extents, pads, strict=True)]
        known = replace(known, padding=(0,))
    ones = np.ones((1, 1, *extents), np.int64)
    return np.maximum(_combined(np.add, pool_windows(ones, 0, known)), 1)


def max_pool(data: np.ndarray, known: window.PoolAttrs) -> Any:
    """The maximum of each window; the lowest value for a window outside of data."""
    lowest = limits(data.dtype)[0]
    return on_unblocked(
        data, known, lambda x: _combined(np.maximum, pool_windows(x, lowest, known))
    )


def avg_pool(data: np.ndarray, known: window.AvgPoolAttrs) -> Any:
    """The mean of each window."""

    def mean(x: np.ndarray) -> Any:
        exact = in_64_bits(x)
        total = _combined(np.add, pool_windows(exact, 0, known))
        return divide(total, counted(x.shape[2:], known).astype(exact.dtype)).astype(x.dtype)

    return on_unblocked(data, known, mean)


# --- the operators -----------------------------------------------------------------------------

INPUTS = {1: "the input", 2: "images", 3: "volumes"}
MAX_FACTS: Facts = {"traits": Trait.CHOOSES, "layout": POOL}
AVG_FACTS: Facts = {
    "traits": Trait.LINEAR | Trait.AVERAGES,
    "precision": Precision.FOLLOW,
    "layout": POOL,
}
_MAX: Any = {
    "doc": "The maximum of each window; NaN if there is one. A window outside of data gives the "
    "lowest value of the element type.",
    **MAX_FACTS,
}
_AVG: Any = {
    "doc": "The mean of each window, over its elements in data, or in the zero padding too. "
    "Integers truncate toward zero; a window outside of data gives 0.",
    **AVG_FACTS,
}


def _rule(kind: str, axes: int) -> Rule:
    if kind == "max":
        return pool_rules.max_pool_gradient
    return pool_rules.avg_pool_gradient if axes == 2 else pool_rules.avg_pool_matrices


def _define(
    kind: str, attrs: type[window.PoolAttrs], *samples: Sample
) -> tuple[OpDef, Callable[..., Call]]:
    """The record of `nn.<kind>_pool<axes>d`, and the function that builds calls of it."""
    axes, is_max = attrs.axes, kind == "max"
    record = define(
        f"nn.{kind}_pool{axes}d",
        arguments=[("data", INPUTS[axes])],
        attrs=attrs,
        relation=pool_type,
        reference=rounded_once(with_attrs(attrs, max_pool if is_max else avg_pool)),
        compute=with_attrs(attrs, pool_compute.max_pool if is_max else pool_compute.avg_pool),
        fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
        samples=samples,
        gradient=_rule(kind, axes),
        **(_MAX if is_max else _AVG),
    )
    summary = f"The {'maximum' if is_max else 'mean'} of each window."
    return record, helper(record, summary, pool_size=(1,) * axes, padding=(0,) * axes)


MAX_POOL1D, max_pool1d = _define(
    "max",
    MaxPool1DAttrs,
    sample((1, 2, 7), pool_size=3),
    sample((2, 1, 8), pool_size=2, strides=3, padding=(0, 1), ceil_mode=True),
    sample((1, 7, 2), pool_size=2, dilation=3, layout="NWC", out_layout="NCW", dtype="uint8"),
)
MAX_POOL2D, max_pool2d = _define(
    "max",
    MaxPool2DAttrs,
    sample((1, 2, 6, 7), pool_size=(2, 3)),
    sample((1, 2, 6, 7), pool_size=2, strides=(2, 3), padding=(1, 0, 0, 1), ceil_mode=True),
    sample((1, 6, 7, 2), pool_size=(3, 2), dilation=(2, 1), layout="NHWC", dtype="int8"),
    sample((1, 2, 5, 5), pool_size=3, padding=1, out_layout="NHWC", dtype="float16"),
    sample((1, 2, 3, 4, 2), pool_size=2, strides=2, layout="NCHW2c"),
)
MAX_POOL3D, max_pool3d = _define(
    "max",
    MaxPool3DAttrs,
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
)
AVG_POOL1D, avg_pool1d = _define(
    "avg",
    AvgPool1DAttrs,
    sample((1, 2, 7), pool_size=3),
    sample((2, 1, 8), pool_size=2, strides=3, padding=(0, 1), ceil_mode=True),
    sample((1, 2, 5), pool_size=3, padding=1, count_include_pad=True, dtype="int32"),
    sample((1, 7, 2), pool_size=2, dilation=3, layout="NWC", out_layout="NCW"),
)
AVG_POOL2D, avg_pool2d = _define(
    "avg",
    AvgPool2DAttrs,
    sample((1, 2, 6, 7), pool_size=(2, 3)),
    sample((1, 2, 6, 7), pool_size=2, strides=(2, 3), padding=(1, 0, 0, 1), ceil_mode=True),
    sample((1, 2, 5, 5), pool_size=3, padding=1, count_include_pad=True),
    sample((1, 1, 6, 6), pool_size=3, strides=2, padding=1, ceil_mode=True, count_include_pad=True),
    sample((1, 6, 7, 2), pool_size=(3, 2), dilation=(2, 1), layout="NHWC", dtype="int8"),
    sample((1, 2, 5, 5), pool_size=3, padding=1, out_layout="NHWC", dtype="bfloat16"),
    sample((1, 2, 3, 4, 2), pool_size=2, strides=2, layout="NCHW2c", out_layout="NCHW4c"),
)
AVG_POOL3D, avg_pool3d = _define(
    "avg",
    AvgPool3DAttrs,
    sample((1, 2, 3, 4, 3), pool_size=(2, 3, 1)),
    sample(
        (1, 1, 4, 3, 4), pool_size=2, strides=(2, 1, 3), padding=(1, 0, 1, 0, 1, 0), ceil_mode=True
    ),
    sample((1, 1, 3, 3, 4), pool_size=2, padding=1, count_include_pad=True, dtype="float16"),
    sample((1, 3, 4, 3, 1), pool_size=2, dilation=(1, 3, 2), layout="NDHWC", dtype="int8"),
    sample((1, 1, 2, 3, 3), pool_size=2, out_layout="NDHWC", dtype="float64"),
)
