"""Positions: loops over them."""

import itertools

import numpy as np


def argwhere(condition):
    found = [place for place in itertools.product(*map(range, condition.shape)) if condition[place]]
    return np.array(found, int).reshape(len(found), condition.ndim)


def unravel_index(data, shape):
    """The place in the list of all positions of a box, which repeats itself."""
    box = list(itertools.product(*map(range, shape.tolist())))
    found = [box[i % len(box)] for i in data.ravel().tolist()]
    return np.array(found, int).T.reshape(len(shape), *data.shape)


ORACLES = {
    "argwhere": argwhere,
    "unravel_index": unravel_index,
    "invert_permutation": lambda data: [data.tolist().index(i) for i in range(len(data))],
}
