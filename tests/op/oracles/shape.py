"""Shapes: codes read one after the other, and PyTorch's views."""

import math

import numpy as np
import torch


def wide(array):
    return torch.from_numpy(np.array(array, np.float64))


def reshape(data, newshape, allowzero):
    """The codes with a pointer into the old shape; -1 is what makes the sizes equal."""
    old, shape, pointer = data.shape, [], 0
    codes = iter(newshape)
    for code in codes:
        if code == -2:
            shape += old[pointer:]
            pointer = len(old)
        elif code == -3:
            shape.append(old[pointer] * old[pointer + 1])
            pointer += 2
        elif code == -4:
            pair = [next(codes), next(codes)]
            if -1 in pair:
                known = max(pair)
                pair[pair.index(-1)] = old[pointer] // known
            shape += pair
            pointer += 1
        else:
            shape.append(old[pointer] if code == 0 and not allowzero else code)
            pointer += 1
    if -1 in shape:
        rest = math.prod(d for d in shape if d != -1)
        shape[shape.index(-1)] = data.size // rest
    return wide(data).reshape(shape).numpy()


def reverse_reshape(data, newshape, allowzero):
    """Reading from the right: everything mirrored, and back."""
    units, rest = [], list(newshape)
    while rest:
        count = 3 if rest[0] == -4 else 1
        units.append(rest[:count])
        rest = rest[count:]
    mirrored = [c for u in units[::-1] for c in ([-4, u[2], u[1]] if len(u) == 3 else u)]
    other = np.zeros(data.shape[::-1])
    shape = reshape(other, mirrored, allowzero).shape[::-1]
    return wide(data).reshape(shape).numpy()


def reshape_like(data, like, lhs_begin, lhs_end, rhs_begin, rhs_end):
    def between(shape, begin, end):
        return list(range(len(shape)))[begin : len(shape) if end is None else end]

    left, right = between(data.shape, lhs_begin, lhs_end), between(like.shape, rhs_begin, rhs_end)
    shape = list(data.shape)
    shape[left[0] : left[-1] + 1] = [like.shape[a] for a in right]
    return wide(data).reshape(shape).numpy()


def expand_dims(data, axis, num_newaxis):
    found = wide(data)
    place = axis if axis >= 0 else data.ndim + 1 + axis
    for _ in range(num_newaxis):
        found = found.unsqueeze(place)
    return found.numpy()


def squeeze(data, axis):
    found = wide(data)
    return (found.squeeze() if axis is None else found.squeeze(axis)).numpy()


ORACLES = {
    "reshape": reshape,
    "contrib_reverse_reshape": reverse_reshape,
    "reshape_like": reshape_like,
    "nn.batch_flatten": lambda data: torch.nn.Flatten()(wide(data.reshape(*data.shape, 1))).numpy(),
    "expand_dims": expand_dims,
    "squeeze": squeeze,
    "shape_of": lambda data, dtype: np.array(list(wide(data).shape), int),
    "ndarray_size": lambda data, dtype: wide(data).numel(),
}
