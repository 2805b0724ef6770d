"""Elements in other places: PyTorch."""

import numpy as np
import torch


def wide(array):
    return torch.from_numpy(np.array(array, np.float64))


def order(data):
    return tuple(range(data.ndim))


def split(data, indices_or_sections, axis):
    if isinstance(indices_or_sections, int):
        parts = wide(data).chunk(indices_or_sections, axis)
    else:
        parts = wide(data).tensor_split(indices_or_sections, axis)
    return [part.numpy() for part in parts]


ORACLES = {
    "transpose": lambda data, axes: wide(data).permute(axes or order(data)[::-1]).numpy(),
    "reverse": lambda data, axis: wide(data).flip(order(data) if axis is None else (axis,)).numpy(),
    "concatenate": lambda data, axis: torch.cat([wide(d) for d in data], axis).numpy(),
    "stack": lambda data, axis: torch.stack([wide(d) for d in data], axis).numpy(),
    "split": split,
}
