"""Adaptive and global pooling: the windows follow from the size of the result.

Window i of o over an axis of extent x reaches from floor(i * x / o) to ceil((i + 1) * x / o).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from relay.ir.attrs import attrs
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building.layouts import blocked_shape, require_layout, unblocked_shape
from relay.op.building.numerics import divide, in_64_bits, limits, rounded_once
from relay.op.building.window import SpatialAttrs, WindowAttrs, require_sizes
from relay.op.facts import Facts
from relay.op.gradient_rules import Rule
from relay.op.opdef import FusionKind, OpDef, Sample, define, sample
from relay.op.pool import pool_compute, pool_rules
from relay.op.pool.pool import AVG_FACTS, INPUTS, MAX_FACTS, on_unblocked
from relay.op.site import NUMERIC, Site

# --- attributes --------------------------------------------------------------------------------


@attrs
class AdaptivePoolAttrs(WindowAttrs):
    """output_size: the extents of the result, or one for all axes; () is those of data
    layout: the order of the axes of data
    out_layout: the order of the axes of the result; "" is that of data
    """

    output_size: tuple[int, ...] | None = ()
    layout: str
    out_layout: str = ""

    def __post_init__(self) -> None:
        WindowAttrs.__post_init__(self)
        if self.output_size is None:
            object.__setattr__(self, "output_size", ())


@attrs
class AdaptivePool1DAttrs(AdaptivePoolAttrs, axes=1):
    """Defaults for one spatial axis."""


@attrs
class AdaptivePool2DAttrs(AdaptivePoolAttrs, axes=2):
    """Defaults for two spatial axes."""


@attrs
class AdaptivePool3DAttrs(AdaptivePoolAttrs, axes=3):
    """Defaults for three spatial axes."""


@attrs
class GlobalPool2DAttrs(SpatialAttrs, axes=2):
    """layout: the order of the axes of data
    out_layout: the order of the axes of the result; "" is that of data
    """

    output_size: ClassVar[tuple[int, ...]] = (1, 1)

    layout: str = "NCHW"
    out_layout: str = ""


# --- relations ---------------------------------------------------------------------------------


def adaptive_type(site: Site) -> Type | None:
    """(n, c, x…) -> (n, c, output_size…)"""
    if site.attrs.output_size:
        require_sizes(site, "output_size", 1)
    site.require_elements(0, NUMERIC)
    known, letters = site.attrs, "NC" + site.attrs.spatial
    layout = require_layout(site, "layout", known.layout, letters)
    out_layout = require_layout(site, "out_layout", known.out_layout or known.layout, letters)
    shape, data = unblocked_shape(site, 0, layout, letters), site.tensor(0)
    if shape is None or data is None:
        return None
    result: tuple[Dim, ...] = (*shape[:2], *(known.output_size or shape[2:]))
    return TensorType(blocked_shape(site, result, letters, out_layout), data.dtype)


def _global_type(site: Site) -> Type | None:
    """(n, c, h, w) -> (n, c, 1, 1)"""
    return adaptive_type(site)


# --- references --------------------------------------------------------------------------------


def _segments(extent: int, count: int) -> list[slice]:
    """The windows on an axis."""
    return [slice(i * extent // count, -(-(i + 1) * extent // count)) for i in range(count)]


def _by_axis(
    data: np.ndarray, sizes: Sequence[int], combine: Callable[[np.ndarray, int], Any]
) -> np.ndarray:
    """Reduce one axis after the other: windows are products of segments."""
    for axis, count in enumerate(sizes, start=2):
        if count == 0:  # as many windows as elements
            continue
        segments = [
            combine(data[(slice(None),) * axis + (segment,)], axis)
            for segment in _segments(data.shape[axis], count)
        ]
        data = np.stack(segments, axis)
    return data


def adaptive_max_pool(data: np.ndarray, known: Any) -> Any:
    """The maximum of each window; the lowest value for an empty one."""
    lowest = limits(data.dtype)[0]

    def pool(x: np.ndarray) -> np.ndarray:
        sizes = known.output_size or x.shape[2:]
        return _by_axis(x, sizes, lambda part, axis: part.max(axis, initial=lowest))

    return on_unblocked(data, known, pool)


def adaptive_avg_pool(data: np.ndarray, known: Any) -> Any:
    """The mean of each window."""

    def pool(x: np.ndarray) -> Any:
        sizes = known.output_size or x.shape[2:]
        exact = in_64_bits(x)
        ones = np.ones((1, 1, *x.shape[2:]), exact.dtype)
        total, count = (
            _by_axis(values, sizes, lambda part, axis: part.sum(axis, dtype=exact.dtype))
            for values in (exact, ones)
        )
        return divide(total, count).astype(x.dtype)

    return on_unblocked(data, known, pool)


# --- adaptive pools ----------------------------------------------------------------------------

_MAX_DOC = "The maximum of each adaptive window; NaN if there is one."
_AVG_DOC = (
    "The mean of each adaptive window. Integers truncate toward zero; the mean of an empty window "
    "is NaN, or 0 for integers."
)
_SAMPLES_1D = (
    sample((1, 2, 7), output_size=3),
    sample(
        (1, 5, 2), output_size=2, layout="NWC", out_layout="NCW", dtype="int8", low=-99, high=99
    ),
    sample((1, 2, 3), output_size=5, dtype="float16"),
    sample((2, 1, 4)),
)
_SAMPLES_2D = (
    sample((1, 2, 7, 5), output_size=(3, 2)),
    sample((1, 5, 4, 2), output_size=2, layout="NHWC", dtype="int8", low=-99, high=99),
    sample((1, 2, 3, 6), output_size=(4, 1), out_layout="NHWC", dtype="float16"),
    sample((1, 1, 3, 4, 2), output_size=2, layout="NCHW2c", dtype="float64"),
    sample((2, 1, 4, 3)),
)
_SAMPLES_3D = (
    sample((1, 2, 3, 5, 4), output_size=(2, 3, 1)),
    sample((1, 5, 2, 3, 2), output_size=2, layout="NDHWC", dtype="int8", low=-99, high=99),
    sample((1, 1, 3, 2, 4), output_size=(1, 3, 2), out_layout="NDHWC", dtype="bfloat16"),
    sample((2, 1, 2, 3, 2)),
)


_RULES: Mapping[str, Rule] = {
    "adaptive_max_pool": pool_rules.adaptive_max_pool_windows,
    "adaptive_avg_pool": pool_rules.adaptive_avg_pool_matrices,
    "global_max_pool": pool_rules.global_max_pool,
    "global_avg_pool": pool_rules.global_avg_pool,
}


def _define(
    name: str, doc: str, attributes: type[SpatialAttrs], samples: Sequence[Sample]
) -> OpDef:
    is_max = "max" in name
    reference = adaptive_max_pool if is_max else adaptive_avg_pool
    compute = pool_compute.adaptive_max_pool if is_max else pool_compute.adaptive_avg_pool
    facts: Facts = {**(MAX_FACTS if is_max else AVG_FACTS), "gradient": _RULES[name]}
    return define(
        f"nn.{name}{attributes.axes}d",
        doc=doc,
        arguments=[("data", INPUTS[attributes.axes])],
        attrs=attributes,
        relation=adaptive_type if "adaptive" in name else _global_type,
        reference=rounded_once(with_attrs(attributes, reference)),
        compute=with_attrs(attributes, compute),
        fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
        samples=samples,
        **facts,
    )


adaptive_max_pool1d = _define("adaptive_max_pool", _MAX_DOC, AdaptivePool1DAttrs, _SAMPLES_1D)
adaptive_max_pool2d = _define("adaptive_max_pool", _MAX_DOC, AdaptivePool2DAttrs, _SAMPLES_2D)
adaptive_max_pool3d = _define("adaptive_max_pool", _MAX_DOC, AdaptivePool3DAttrs, _SAMPLES_3D)
adaptive_avg_pool1d = _define("adaptive_avg_pool", _AVG_DOC, AdaptivePool1DAttrs, _SAMPLES_1D)
adaptive_avg_pool2d = _define("adaptive_avg_pool", _AVG_DOC, AdaptivePool2DAttrs, _SAMPLES_2D)
adaptive_avg_pool3d = _define("adaptive_avg_pool", _AVG_DOC, AdaptivePool3DAttrs, _SAMPLES_3D)

# --- global pools ------------------------------------------------------------------------------

_GLOBAL_SAMPLES = (
    sample((2, 3, 4, 5)),
    sample((2, 4, 5, 3), layout="NHWC", dtype="int8", low=-99, high=99),
    sample((2, 3, 4, 5), out_layout="NHWC", dtype="float16"),
    sample((1, 2, 3, 4, 2), layout="NCHW2c", dtype="float64"),
)

global_max_pool2d = _define(
    "global_max_pool",
    "The maximum of each channel; NaN if there is one.",
    GlobalPool2DAttrs,
    _GLOBAL_SAMPLES,
)
global_avg_pool2d = _define(
    "global_avg_pool",
    "The mean of each channel; integers truncate toward zero.",
    GlobalPool2DAttrs,
    _GLOBAL_SAMPLES,
)


def global_max_pool1d(data: Expr, layout: str = "NCW", out_layout: str = "") -> Call:
    """The maximum of each channel."""
    return adaptive_max_pool1d(data, 1, layout, out_layout)


def global_avg_pool1d(data: Expr, layout: str = "NCW", out_layout: str = "") -> Call:
    """The mean of each channel."""
    return adaptive_avg_pool1d(data, 1, layout, out_layout)


def global_max_pool3d(data: Expr, layout: str = "NCDHW", out_layout: str = "") -> Call:
    """The maximum of each channel."""
    return adaptive_max_pool3d(data, 1, layout, out_layout)


def global_avg_pool3d(data: Expr, layout: str = "NCDHW", out_layout: str = "") -> Call:
    """The mean of each channel."""
    return adaptive_avg_pool3d(data, 1, layout, out_layout)
