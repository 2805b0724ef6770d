"""Reductions: Python's own over the elements of each group, in exact or double precision."""

import functools
import itertools
import math

import numpy as np
import torch


def wide(array):
    return torch.from_numpy(np.array(array, np.float64))


def groups(data, axis, keepdims, exclude):
    """The shape of the result, and for each place of it the elements that are reduced."""
    every = range(data.ndim)
    named = set(every) if axis is None else {a % data.ndim for a in axis}
    gone = set(every) - named if exclude and axis is not None else named
    shape = [1 if a in gone else d for a, d in enumerate(data.shape)]
    found = []
    for place in itertools.product(*map(range, shape)):
        index = tuple(slice(None) if a in gone else place[a] for a in every)
        found.append(data[index].ravel().tolist())
    kept = shape if keepdims else [d for a, d in enumerate(shape) if a not in gone]
    return kept, found


def by_group(rule):
    def oracle(data, axis, keepdims, exclude, **rest):
        shape, found = groups(data, axis, keepdims, exclude)
        results = [rule(elements, data.dtype, **rest) for elements in found]
        kind = object if data.dtype.kind in "iu" else np.float64
        made = np.array(results, kind).reshape(shape)
        if kind is object:  # integers of any size, of which the low bits are kept
            return np.array([int(v) % 2**64 for v in made.ravel()], np.uint64).reshape(shape)
        return made

    return oracle


def total(elements, dtype):
    if dtype.kind == "b":
        return any(elements)
    return sum(elements) if dtype.kind in "iu" else math.fsum(elements)


def product(elements, dtype):
    return functools.reduce(lambda a, b: a * b, elements, 1)


def limits(dtype):
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return (False, True) if dtype.kind == "b" else (-math.inf, math.inf)


def greatest(elements, dtype):
    return max(elements, default=limits(dtype)[0])


def smallest(elements, dtype):
    return min(elements, default=limits(dtype)[1])


def mean(elements, dtype):
    if dtype.kind in "iu":
        return int(sum(elements) / len(elements)) if elements else 0
    return math.fsum(elements) / len(elements) if elements else math.nan


def position(best):
    def rule(elements, dtype, select_last_index):
        if not elements:
            return -1
        wanted = best(elements)
        places = [i for i, v in enumerate(elements) if v == wanted]
        return places[-1 if select_last_index else 0]

    return rule


def variance(data, mean, axis, keepdims, exclude, unbiased):
    shape, found = groups(data, axis, keepdims, exclude)
    middles = mean.astype(np.float64).ravel().tolist()
    results = [
        math.fsum((v - m) ** 2 for v in elements) / (len(elements) - unbiased)
        for elements, m in zip(found, middles, strict=True)
    ]
    return np.array(results).reshape(shape)


def collapsed(data, shape):
    """The gradient of broadcasting, as PyTorch computes it."""
    small = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
    small.expand(data.shape).backward(wide(data))
    return small.grad.numpy()


ORACLES = {
    "sum": by_group(total),
    "prod": by_group(product),
    "max": by_group(greatest),
    "min": by_group(smallest),
    "mean": by_group(mean),
    "all": by_group(lambda elements, dtype: all(elements)),
    "any": by_group(lambda elements, dtype: any(elements)),
    "argmax": by_group(position(max)),
    "argmin": by_group(position(min)),
    "variance": variance,
    "collapse_sum_like": lambda data, like: collapsed(data, like.shape),
    "collapse_sum_to": lambda data, wanted, **_: collapsed(data, tuple(wanted.tolist())),
}
