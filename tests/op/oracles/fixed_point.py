"""Fixed-point products: exact fractions."""

import math
from fractions import Fraction

import numpy as np


def scaled(value, multiplier, shift):
    exact = Fraction(int(value) * int(multiplier), 2**31) * Fraction(2) ** int(shift)
    return (math.floor(exact + Fraction(1, 2)) + 2**31) % 2**32 - 2**31


def fixed_point_multiply(data, multiplier, shift):
    found = [scaled(v, multiplier, shift) for v in data.ravel()]
    return np.array(found).reshape(data.shape)


def per_axis(data, multiplier, left, right, is_lshift_required, is_rshift_required, axes):
    made = np.empty(data.shape, int)
    for place in np.ndindex(data.shape):
        at = tuple(place[axis] for axis in axes)
        shift = left[at] * is_lshift_required - right[at] * is_rshift_required
        made[place] = scaled(data[place], multiplier[at], shift)
    return made


ORACLES = {
    "fixed_point_multiply": fixed_point_multiply,
    "fixed_point_multiply_per_axis": per_axis,
}
