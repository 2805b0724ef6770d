"""Writing to places: a loop over the updates, one after the other."""

import itertools

import numpy as np

COMBINE = {
    "update": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "min": min,
    "max": max,
}


def written(data, updates, target, how):
    """`target(place)` says where the update at a place goes."""
    elements = {}  # what is written to each place, in order
    for place in itertools.product(*map(range, updates.shape)):
        goal = target(place)
        index = [i + d if i < 0 else i for i, d in zip(goal, data.shape, strict=True)]
        if all(0 <= i < d for i, d in zip(index, data.shape, strict=True)):
            elements.setdefault(tuple(index), []).append(updates[place].item())
    found = np.array(data.astype(object) if data.dtype.kind in "iub" else data.astype(np.float64))
    for index, values in elements.items():
        result = found[index]
        if how == "mean":
            whole = sum(values, result)
            count = len(values) + 1
            result = int(whole / count) if data.dtype.kind in "iu" else whole / count
        else:
            for value in values:
                result = COMBINE[how](result, value)
        found[index] = result
    if data.dtype.kind in "iu":
        return np.array([int(v) % 2**64 for v in found.ravel()], np.uint64).reshape(data.shape)
    return found.astype(np.float64)


def scatter_elements(data, indices, updates, axis, reduction):
    axis %= data.ndim

    def target(place):
        return (*place[:axis], int(indices[place]), *place[axis + 1 :])

    return written(data, updates, target, reduction)


def scatter_nd(data, indices, updates, mode):
    count, places = indices.shape[0], indices.ndim - 1

    def target(place):
        named = (int(indices[(i, *place[:places])]) for i in range(count))
        return (*named, *place[places:])

    return written(data, updates, target, mode)


ORACLES = {"scatter_elements": scatter_elements, "scatter_nd": scatter_nd}
