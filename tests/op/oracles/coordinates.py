"""Sparse tensors: PyTorch's coordinate format, dictionaries, and positions counted by NumPy."""

import numpy as np
import torch


def sparse_to_dense(indices, values, default_value, output_shape):
    found = np.full(
        output_shape, np.trunc(default_value) if values.dtype.kind in "i" else default_value
    )
    found = found.astype(np.float64)
    table = indices.reshape(-1, 1) if indices.ndim < 2 else indices
    for number, row in enumerate(table.tolist()):
        if all(0 <= i < d for i, d in zip(row, output_shape, strict=True)):
            found[tuple(row)] = values[number] if values.ndim else values
    return found


def sparse_fill_empty_rows(indices, values, dense_shape, default_value):
    count = int(dense_shape[0])
    rows = {row: [] for row in range(count)}
    for index, value in zip(indices.tolist(), values.tolist(), strict=True):
        rows[index[0]].append((index, value))
    filler = [0] * (indices.shape[1] - 1)
    places, filled, empty = [], [], []
    for row, elements in rows.items():
        empty.append(not elements)
        for index, value in elements or [([row, *filler], default_value.item())]:
            places.append(index)
            filled.append(value)
    shape = (len(places), indices.shape[1])
    return np.array(places, int).reshape(shape), np.array(filled), np.array(empty, int)


def sparse_reshape(indices, prev_shape, new_shape):
    marked = torch.zeros(prev_shape.tolist(), dtype=torch.int64)
    for number, row in enumerate(indices.tolist(), 1):
        marked[tuple(row)] = number
    other = marked.reshape(new_shape.tolist())
    order = [torch.nonzero(other == number)[0].tolist() for number in range(1, len(indices) + 1)]
    shape = (len(indices), len(new_shape))
    return np.array(order, int).reshape(shape), np.array(other.shape)


ORACLES = {
    "sparse_to_dense": sparse_to_dense,
    "sparse_fill_empty_rows": sparse_fill_empty_rows,
    "sparse_reshape": sparse_reshape,
}
