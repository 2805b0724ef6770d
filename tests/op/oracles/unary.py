"""Functions of one element: PyTorch in float64, and Python's numbers for integers."""

import math

import numpy as np
import torch


def wide(array):
    """Floats as float64, everything else as it is."""
    floating = array.dtype.kind not in "biu"
    return torch.from_numpy(np.array(array, np.float64) if floating else np.array(array))


def from_torch(function):
    return lambda data: function(wide(data)).numpy()


def clip(data, a_min, a_max):
    if data.dtype.kind in "iu":
        low, high = math.ceil(a_min), math.floor(a_max)
        return np.array([min(max(int(v), low), high) for v in data.ravel()]).reshape(data.shape)
    return torch.clamp(wide(data), a_min, a_max).numpy()


def bitwise_not(data):
    flip = (lambda v: not v) if data.dtype == bool else (lambda v: ~int(v))
    return np.array([flip(v) for v in data.ravel()]).reshape(data.shape)


ORACLES = {
    name: from_torch(getattr(torch, name))
    for name in (
        *("exp", "log", "log2", "log10", "sqrt", "rsqrt", "sigmoid", "erf"),
        *("sin", "cos", "tan", "asin", "acos", "atan"),
        *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
        *("abs", "negative", "sign", "floor", "ceil", "trunc", "round"),
        *("isnan", "isinf", "isfinite", "logical_not"),
        *("zeros_like", "ones_like"),
    )
} | {
    "bitwise_not": bitwise_not,
    "clip": clip,
    "copy": lambda data: np.array(data.tolist()).reshape(data.shape),
    "stop_gradient": lambda data: np.array(data.tolist()).reshape(data.shape),
    "fast_exp": from_torch(torch.exp),
    "fast_tanh": from_torch(torch.tanh),
    "fast_erf": from_torch(torch.erf),
}
# how close the approximations are is tested on its own, for each width
TOLERANCES = dict.fromkeys(("fast_exp", "fast_tanh", "fast_erf"), (0.001, 0.001))
