"""Order: Python's stable sort, its bisection, and dictionaries."""

import bisect
import itertools
import math

import numpy as np


def rows(data, axis):
    """The lists along an axis, with the places they belong to."""
    moved = np.moveaxis(data, axis, -1)
    for place in itertools.product(*map(range, moved.shape[:-1])):
        yield place, moved[place].tolist()


def along(data, axis, rule, length=None):
    """Each list along an axis replaced by what the rule makes of it."""
    extent = data.shape[axis] if length is None else length
    shape = list(data.shape)
    del shape[axis % data.ndim]
    made = np.empty((*shape, extent), np.float64)
    for place, elements in rows(data, axis):
        made[place] = rule(elements)
    return np.moveaxis(made, -1, axis)


def order(elements, ascending):
    def key(i):
        value = elements[i]
        return (math.isnan(value), 0 if math.isnan(value) else value)

    # Python keeps equal elements in order, also in reverse
    return sorted(range(len(elements)), key=key, reverse=not ascending)


def argsort(data, axis, is_ascend, dtype):
    return along(data, axis, lambda row: order(row, is_ascend))


def sort(data, axis, is_ascend, dtype):
    return along(data, axis, lambda row: [row[i] for i in order(row, is_ascend)])


def topk(data, k, axis, ret_type, is_ascend, dtype):
    length = k if k >= 1 else data.shape[axis]
    places = along(data, axis, lambda row: order(row, is_ascend)[:length], length)
    values = along(data, axis, lambda row: [row[i] for i in order(row, is_ascend)[:length]], length)
    return {"both": (values, places), "values": values, "indices": places}[ret_type]


def searchsorted(sequence, values, right, dtype):
    find = bisect.bisect_right if right else bisect.bisect_left
    made = np.empty(values.shape)
    for place in itertools.product(*map(range, values.shape)):
        row = sequence if sequence.ndim == 1 else sequence[place[:-1]]
        made[place] = find(row.tolist(), values[place].item())
    return made


def unique(data, sorted, return_counts):
    slices = data.reshape(len(data), math.prod(data.shape[1:])).tolist()
    keys = [tuple("nan" if v != v else v for v in row) for row in slices]
    first = {}
    for i, key in enumerate(keys):
        first.setdefault(key, i)
    values = list(first)
    if sorted:
        values.sort(key=lambda row: [(v == "nan", 0 if v == "nan" else v) for v in row])
    missing = [0] * (len(keys) - len(values))
    elements = [math.nan if v == "nan" else v for row in values for v in row]
    elements += [0] * (data.size - len(elements))
    found = (
        np.array(elements).reshape(data.shape),
        [first[v] for v in values] + missing,
        [values.index(key) for key in keys],
        [len(values)],
        [keys.count(v) for v in values] + missing,
    )
    return found if return_counts else found[:4]


ORACLES = {
    "sort": sort,
    "argsort": argsort,
    "topk": topk,
    "searchsorted": searchsorted,
    "unique": unique,
}
