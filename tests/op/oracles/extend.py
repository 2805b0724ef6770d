"""More elements than before: PyTorch."""

import numpy as np
import torch


def wide(array):
    return torch.from_numpy(np.array(array, np.float64))


def meshgrid(data, indexing):
    # PyTorch wants vectors, and swaps the axes only where there are two
    parts = [wide(d).reshape(-1) for d in data]
    return [part.numpy() for part in torch.meshgrid(*parts, indexing=indexing)]


ORACLES = {
    "broadcast_to": lambda data, shape, dtype: wide(data).expand(shape).numpy(),
    "broadcast_to_like": lambda data, like: wide(data).expand(like.shape).numpy(),
    "tile": lambda data, reps: wide(data).tile(reps).numpy(),
    "repeat": lambda data, repeats, axis: wide(data).repeat_interleave(repeats, axis).numpy(),
    "meshgrid": meshgrid,
}
