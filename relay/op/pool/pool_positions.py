"""The positions of the maxima of the windows of a pool."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building.numerics import limits, widened
from relay.op.building.window import PoolAttrs
from relay.op.gradient_rules import DISCRETE
from relay.op.opdef import FusionKind, OpDef, Sample, define, sample
from relay.op.pool import pool_compute
from relay.op.pool.pool import (
    MaxPool1DAttrs,
    MaxPool2DAttrs,
    MaxPool3DAttrs,
    on_unblocked,
    pool_type,
    pool_windows,
)
from relay.op.site import Site


def _positions_type(site: Site) -> Type | None:
    """(n, c, x…) -> (n, c, windows…) of integers"""
    pooled = pool_type(site)
    return None if pooled is None else TensorType(pooled.shape, "int64")


def max_pool_positions(data: np.ndarray, known: PoolAttrs) -> Any:
    """The position of the first maximum of each window; -1 for a window outside of data."""

    def pool(x: np.ndarray) -> Any:
        places = np.arange(prod(x.shape[2:]), dtype="int64").reshape(1, 1, *x.shape[2:])
        numbers = pool_windows(places, -1, known)
        values = pool_windows(widened(x), limits(x.dtype)[0], known)
        flat = values.reshape(*values.shape[: x.ndim], prod(known.pool_size))
        where = np.broadcast_to(numbers, values.shape).reshape(flat.shape)
        maximum = flat.max(-1, keepdims=True)
        hits = (where >= 0) & ((flat == maximum) | (flat != flat))
        first = hits.argmax(-1)[..., None]
        found = np.take_along_axis(where, first, -1)
        return np.where(hits.any(-1), found[..., 0], -1)

    return on_unblocked(data, known, pool)


def _define(attrs: type[PoolAttrs], *samples: Sample) -> OpDef:
    return define(
        f"nn.max_pool{attrs.axes}d_positions",
        doc=f"The position of the first maximum of each window of `nn.max_pool{attrs.axes}d`: its "
        "row-major index in its channel. NaN counts as the maximum. A window outside of data "
        "gives -1.",
        arguments=[("data", "the input")],
        attrs=attrs,
        relation=_positions_type,
        reference=with_attrs(attrs, max_pool_positions),
        compute=with_attrs(attrs, pool_compute.max_pool_positions),
        fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
        gradient=DISCRETE,
        samples=samples,
    )


max_pool1d_positions = _define(
    MaxPool1DAttrs,
    sample((1, 2, 7), pool_size=3),
    sample((2, 1, 8), pool_size=2, strides=3, padding=(0, 1), ceil_mode=True),
    sample((1, 7, 2), pool_size=2, dilation=3, layout="NWC", out_layout="NCW", dtype="uint8"),
)
max_pool2d_positions = _define(
    MaxPool2DAttrs,
    sample((1, 2, 6, 7), pool_size=(2, 3)),
    sample((1, 2, 6, 7), pool_size=2, strides=(2, 3), padding=(1, 0, 0, 1), ceil_mode=True),
    sample((1, 6, 7, 2), pool_size=(3, 2), dilation=(2, 1), layout="NHWC", dtype="int8"),
    sample((1, 2, 5, 5), pool_size=3, padding=1, out_layout="NHWC", dtype="float16"),
)
max_pool3d_positions = _define(
    MaxPool3DAttrs,
    sample((1, 2, 3, 4, 3), pool_size=(2, 3, 1)),
    sample(
        (1, 1, 4, 3, 4),
        pool_size=2,
        strides=(2, 1, 3),
        padding=1,
        ceil_mode=True,
        dtype="int32",
    ),
    sample((1, 3, 4, 3, 1), pool_size=2, dilation=(1, 3, 2), layout="NDHWC"),
    sample((1, 1, 2, 3, 3), pool_size=2, out_layout="NDHWC", dtype="bfloat16"),
)
