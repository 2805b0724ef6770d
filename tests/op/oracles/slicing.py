"""Slices: Python's ranges, and PyTorch's unfold."""

import numpy as np
import torch


def wide(array):
    return torch.from_numpy(np.array(array, np.float64))


def ranges(shape, begin, end, strides, axes, slice_mode):
    """The positions along each axis that a slice holds, as Python's `range` counts them."""
    found = [list(range(d)) for d in shape]
    count = max(len(begin), len(end), len(strides or ()))
    for i in range(count):
        axis = i if axes is None else axes[i]
        positions = found[axis]
        stride = strides[i] if strides and i < len(strides) and slice_mode == "end" else None
        first = begin[i] if i < len(begin) else None
        last = end[i] if i < len(end) else None
        if slice_mode == "size":
            rest = positions[first:]
            found[axis] = rest if last is None or last < 0 else rest[:last]
        else:
            # a bound of 2**31 - 1 is outside of every axis here, on either side
            last = None if stride is not None and stride < 0 and last <= -(2**31 - 1) else last
            found[axis] = positions[first:last:stride]
    return found


def strided_slice(data, begin, end, strides, axes, slice_mode):
    return data[np.ix_(*ranges(data.shape, begin, end, strides, axes, slice_mode))]


def slice_like(data, like, axes):
    found = wide(data)
    for axis in axes or range(min(data.ndim, like.ndim)):
        found = found.narrow(axis, 0, like.shape[axis])
    return found.numpy()


def strided_set(data, v, begin, end, strides):
    found = data.astype(np.float64)
    bounds = (x.tolist() for x in (begin, end, strides))
    found[np.ix_(*ranges(data.shape, *bounds, None, "end"))] = v
    return found


def sliding_window(data, axis, window_shape, strides):
    found = wide(data)
    for i, (size, stride) in enumerate(zip(window_shape, strides, strict=True)):
        found = found.unfold(axis % data.ndim + i, size, stride)
    return found.numpy()


ORACLES = {
    "strided_slice": strided_slice,
    "slice_like": slice_like,
    "strided_set": strided_set,
    "sliding_window": sliding_window,
}
