"""Sequences of different lengths: a loop over each of them."""

import math

import numpy as np


def each(data, lengths, axis, batch_axis, change):
    """`change(sequence, its length)` for every sequence, as arrays with the axis in front."""
    found = np.array(data, np.float64)
    view = np.moveaxis(found, (batch_axis, axis), (0, 1))
    for number, length in enumerate(lengths.tolist()):
        change(view[number], min(max(length, 0), data.shape[axis]))
    return found


def sequence_mask(data, valid_length, mask_value, axis):
    axis %= data.ndim
    value = math.trunc(mask_value) if data.dtype.kind == "i" else mask_value

    def change(sequence, length):
        for i in range(length, len(sequence)):
            sequence[i] = value

    return each(data, valid_length, axis, 1 - axis, change)


def reverse_sequence(data, seq_lengths, seq_axis, batch_axis):
    def change(sequence, length):
        old = sequence.copy()
        for i in range(length):
            sequence[i] = old[length - 1 - i]

    return each(data, seq_lengths, seq_axis, batch_axis, change)


ORACLES = {"sequence_mask": sequence_mask, "reverse_sequence": reverse_sequence}
