"""Block-sparse constants.

The axes of the tensor come first, then those of its blocks; each is stored in the order of
`traversal`, dense (all of its indices) or compressed (the indices that it has below each parent).
"""

from __future__ import annotations

from math import prod

import numpy as np

from relay.errors import FrontendError
from relay.frontend.common.naming import quoted
from relay.frontend.tflite.reader import Sparsity, TensorInfo
from relay.frontend.tflite.types import numpy_type

MOST_ELEMENTS = 1 << 28  # of the dense tensor


def dense(tensor: TensorInfo, by: Sparsity, data: np.ndarray) -> np.ndarray:
    """All elements of a tensor, zeros included."""

    def broken(what: str) -> FrontendError:
        return FrontendError.of(f"sparse tensor {quoted(tensor.name)} is broken: {what}")

    rank, dtype = len(tensor.shape), numpy_type(tensor.code, tensor.name)
    if prod(tensor.shape) > MOST_ELEMENTS:
        raise broken("it is too large")
    if sorted(by.order) != list(range(len(by.axes))) or len(by.axes) != rank + len(by.blocks):
        raise broken("its axes are not those of its shape")
    if len(set(by.blocks)) < len(by.blocks) or any(not 0 <= one < rank for one in by.blocks):
        raise broken("its blocks divide axes that it does not have")
    sizes = _sizes(tensor, by)
    if sizes is None:
        raise broken("its blocks do not fit its shape")
    if data.size % dtype.itemsize:
        raise broken("its elements are cut off")
    elements = np.frombuffer(data.tobytes(), dtype)
    # positions of what is stored so far, of all axes up to here
    places = np.zeros((1, 0), "int64")
    for number, axis in zip(by.order, by.axes, strict=True):
        if isinstance(axis, int):
            if axis != sizes[number] or len(places) * axis > max(elements.size, 1):
                raise broken("a dense axis has another size")
            inner = np.tile(np.arange(axis), len(places))
            places = np.repeat(places, axis, axis=0)
        else:
            segments, inner = axis
            counts = np.diff(segments)
            fits = segments.size == len(places) + 1 and segments[0] == 0
            if not fits or (counts < 0).any() or segments[-1] != inner.size:
                raise broken("its segments do not fit")
            if inner.size and not (inner.min() >= 0 and inner.max() < sizes[number]):
                raise broken("an index is out of range")
            places = np.repeat(places, counts, axis=0)
        places = np.concatenate([places, inner[:, None]], axis=1)
    if len(places) != elements.size:
        raise broken(f"it has {elements.size} elements, and indices for {len(places)}")
    by_axis = places[:, np.argsort(by.order)]
    whole = [by_axis[:, axis] for axis in range(rank)]
    for place, axis in enumerate(by.blocks):
        whole[axis] = whole[axis] * sizes[rank + place] + by_axis[:, rank + place]
    found = np.zeros(tensor.shape, dtype)
    found[tuple(whole)] = elements
    return found


def _sizes(tensor: TensorInfo, by: Sparsity) -> list[int] | None:
    """The extents of the axes in blocks, and of blocks; None where blocks do not fit."""
    rank, sizes = len(tensor.shape), list(tensor.shape)
    kinds = dict(zip(by.order, by.axes, strict=True))
    for place, axis in enumerate(by.blocks):
        size = kinds[rank + place]
        if not isinstance(size, int) or size < 1 or sizes[axis] % size:
            return None
        sizes[axis] //= size
        sizes.append(size)
    return sizes
