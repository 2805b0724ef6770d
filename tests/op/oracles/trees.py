"""Decision trees: one row, one tree and one node after the other."""

import math

import numpy as np


def tree_leaves(data, features, splits, outcomes, yes, no, roots):
    found = np.zeros((len(data), len(roots)), np.int64)
    for i, row in enumerate(data):
        for j, place in enumerate(roots):
            while place >= 0:
                value, split = float(row[features[place]]), float(splits[place])
                if math.isnan(value) or math.isnan(split):
                    bit = 3
                else:
                    bit = 0 if value < split else 2 if value > split else 1
                place = yes[place] if outcomes[place] >> bit & 1 else no[place]
            found[i, j] = -1 - place
    return found


ORACLES = {"tree_leaves": tree_leaves}
