"""Rows of segments, combined."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay import dtypes, op
from relay.frontend.common.builder import int64
from relay.frontend.common.known_elements import SizedBuilder
from relay.ir.expr import Expr
from relay.op.building.numerics import limits

MODES: Mapping[str, str] = {"SUM": "add", "PROD": "mul", "MAX": "max", "MIN": "min"}


def segments_of(node: SizedBuilder, data: Expr, segments: Expr, count: Expr, name: str) -> Expr:
    """Rows that belong to segments, combined; `count` is how many segments there are, as a vector
    of one. Those of negative numbers are left out."""
    low, high = limits(dtypes.to_numpy(node.dtype(data)))
    neutral = {"SUM": 0, "PROD": 1, "MAX": low, "MIN": high}[name]
    if dtypes.is_float(node.dtype(data)) and name in ("MAX", "MIN"):
        most = float(np.finfo(dtypes.to_numpy(node.dtype(data))).max)
        neutral = -most if name == "MAX" else most
    axes = node.rank(segments)
    rest = node.extents(data, axes, node.rank(data)) if node.rank(data) > axes else int64([])
    shape = node.let(op.concatenate([count, rest], axis=0))
    whole = node.filled(node.number(neutral, data), shape)
    places = op.cast(segments, "int64")
    beyond = node.let(op.where(places < int64(0), node.size(whole, 0), places))
    return op.scatter_nd(whole, op.expand_dims(beyond, 0), data, mode=MODES[name])
