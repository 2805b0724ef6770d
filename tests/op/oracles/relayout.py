"""Layouts: each element looked up by its logical position."""

import itertools
import re

import numpy as np


def spelled(layout):
    """The axes of a layout in order: a letter, and the size of the block or None."""
    parts = re.findall(r"(\d*)([A-Za-z])", layout)
    return [(letter.upper(), int(size) if size else None) for size, letter in parts]


def logical(place, axes):
    """The position along each whole axis that a place stands for; outer parts come first."""
    found = {}
    for (letter, size), i in sorted(
        zip(axes, place, strict=True), key=lambda part: part[0][1] is not None
    ):
        found[letter] = found.get(letter, 0) * (size or 1) + i
    return tuple(sorted(found.items()))


def moved(data, source, target, shape):
    table = {
        logical(place, source): data[place].item()
        for place in itertools.product(*map(range, data.shape))
    }
    made = np.empty(shape)
    for place in itertools.product(*map(range, shape)):
        made[place] = table[logical(place, target)]
    return made


def layout_transform(data, src_layout, dst_layout):
    source, target = spelled(src_layout), spelled(dst_layout)
    whole = {}
    for (letter, _), extent in zip(source, data.shape, strict=True):
        whole[letter] = whole.get(letter, 1) * extent
    blocks = {
        letter: int(np.prod([s for name, s in target if name == letter and s])) for letter in whole
    }
    shape = [size or whole[letter] // blocks[letter] for letter, size in target]
    return moved(data, source, target, shape)


def retile(data, src_layout, dst_layout):
    source, target = spelled(src_layout), spelled(dst_layout)
    return moved(data, source, target, [size for _, size in target])


# The sample maps, as functions.
MAPS = {
    "i, j -> i // 4, j, i % 4": lambda i, j: (i // 4, j, i % 4),
    "(n, h, w) -> (n * 3 + h, w)": lambda n, h, w: (n * 3 + h, w),
    "i -> i // 2, i % 2": lambda i: (i // 2, i % 2),
    "a, b -> b, a": lambda a, b: (b, a),
}


def mapped(data, index_map):
    goals = {p: MAPS[index_map](*p) for p in itertools.product(*map(range, data.shape))}
    if not goals:
        return np.empty(MAPS[index_map](*data.shape))
    made = np.zeros([max(axis) + 1 for axis in zip(*goals.values(), strict=True)])
    for place, goal in goals.items():
        made[goal] = data[place]
    return made


ORACLES = {
    "layout_transform": layout_transform,
    "auto_scheduler_layout_transform": retile,
    "meta_schedule_layout_transform": mapped,
}
