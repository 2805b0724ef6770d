"""Tensors made from a shape or a rule: PyTorch, and Python's numbers."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def as_kind(value, dtype):
    """A Python number as an element of a type: whole and inside its range for integers."""
    if dtype is None or "float" in dtype:
        return value
    if dtype == "bool":
        return value != 0
    bounds = np.iinfo(dtype)
    return min(max(math.trunc(value), bounds.min), bounds.max)


def full(fill_value, shape, dtype):
    return torch.full(shape, as_kind(fill_value.item(), dtype), dtype=torch.float64).numpy()


def arange(*values, dtype, **_):
    numbers = [value.item() for value in values]
    return torch.arange(*numbers, dtype=torch.float64).numpy()


def one_hot(indices, on_value, off_value, depth, axis, dtype):
    inside = torch.from_numpy(indices.astype(np.int64))
    # an index outside stands in a class of its own, which is cut off
    inside = torch.where((inside >= 0) & (inside < depth), inside, depth)
    hot = F.one_hot(inside, depth + 1)[..., :depth].movedim(-1, axis)
    on, off = (as_kind(value.item(), dtype) for value in (on_value, off_value))
    return torch.where(hot == 1, float(on), float(off)).numpy()


ORACLES = {
    "full": full,
    "zeros": lambda shape, dtype: torch.zeros(shape).numpy(),
    "ones": lambda shape, dtype: torch.ones(shape).numpy(),
    "full_like": lambda data, fill_value: full(fill_value, data.shape, data.dtype.name),
    "arange": arange,
    "one_hot": one_hot,
}
