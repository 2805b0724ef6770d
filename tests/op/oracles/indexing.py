"""Index tensors: a loop over the places of the result."""

import itertools

import numpy as np


def by_place(shape, source):
    """The tensor whose element at a place is `source(place)`."""
    made = np.empty(shape, object)
    for place in itertools.product(*map(range, shape)):
        made[place] = source(place)
    return made.astype(np.float64) if made.size else np.empty(shape)


def clamped(index, extent):
    return min(max(int(index), 0), extent - 1)


def take(data, indices, axis, batch_dims, mode):
    if axis is None:
        data, axis = data.ravel(), 0
    axis %= data.ndim
    shared = batch_dims % indices.ndim if batch_dims < 0 else batch_dims
    inner = indices.ndim - shared

    def source(place):
        index = indices[place[:shared] + place[axis : axis + inner]]
        extent = data.shape[axis]
        chosen = int(index) % extent if mode == "wrap" else clamped(index, extent)
        return data[(*place[:axis], chosen, *place[axis + inner :])]

    shape = (*data.shape[:axis], *indices.shape[shared:], *data.shape[axis + 1 :])
    return by_place(shape, source)


def gather(data, indices, axis):
    axis = (axis or 0) % data.ndim

    def source(place):
        chosen = clamped(indices[place], data.shape[axis])
        return data[(*place[:axis], chosen, *place[axis + 1 :])]

    return by_place(indices.shape, source)


def gather_nd(data, indices, batch_dims, index_rank):
    count, places = indices.shape[0], indices.ndim - 1

    def source(place):
        index = list(place[:batch_dims])
        for i in range(count):
            named = indices[(i, *place[:places])]
            index.append(clamped(named, data.shape[batch_dims + i]))
        return data[(*index, *place[places:])]

    return by_place((*indices.shape[1:], *data.shape[batch_dims + count :]), source)


def adv_index(inputs):
    data, *indices = inputs
    indices = np.broadcast_arrays(*indices)
    rank = indices[0].ndim

    def source(place):
        index = []
        for values, extent in zip(indices, data.shape, strict=False):
            i = int(values[place[:rank]])
            index.append(clamped(i + extent if i < 0 else i, extent))
        return data[(*index, *place[rank:])]

    return by_place((*indices[0].shape, *data.shape[len(indices) :]), source)


def check_indices(indices, data, axes, negative, reader):
    rows = indices if len(axes) > 1 else [indices]
    extents = [data.shape[axis] for axis in axes] or [data.size]
    for row, extent in zip(rows, extents, strict=True):
        for index in np.ravel(row):
            range(-extent if negative else 0, extent).index(int(index))
    return np.zeros(())


ORACLES = {
    "take": take,
    "gather": gather,
    "gather_nd": gather_nd,
    "adv_index": adv_index,
    "check_indices": check_indices,
}
