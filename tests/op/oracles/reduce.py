"""Reductions, as plain NumPy in float64."""

import numpy as np

ORACLES = {}


def axes_of(data, axis, exclude):
    axes = range(data.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    named = {a % data.ndim for a in axes}
    return tuple(sorted(set(range(data.ndim)) - named if exclude and axis is not None else named))


def reduction(function):
    def oracle(data, axis, keepdims, exclude):
        wide = data.astype(np.float64) if data.dtype.kind == "f" else data
        return function(wide, axis=axes_of(data, axis, exclude), keepdims=keepdims)

    return oracle


for name in ("sum", "prod", "max", "min", "mean", "all", "any"):
    ORACLES[name] = reduction(getattr(np, name))
