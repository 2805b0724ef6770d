"""Triangles, diagonals, determinants, inverses: PyTorch, and a loop over a matrix."""

import numpy as np
import torch


def trilu(data, k, upper):
    found = torch.from_numpy(np.array(data, np.float64))
    return (torch.triu if upper else torch.tril)(found, int(k)).numpy()


def matrix_set_diag(matrix, diagonal, k1, k2, super_diag_right_align, sub_diag_right_align):
    rows, columns = matrix.shape[-2:]
    lines = diagonal[..., None, :] if k1 == k2 else diagonal
    found = matrix.astype(np.float64)
    for i in range(rows):
        for j in range(columns):
            number = j - i
            if not k1 <= number <= k2:
                continue
            length = sum(1 for r in range(rows) if 0 <= r + number < columns)
            right = super_diag_right_align if number >= 0 else sub_diag_right_align
            place = min(i, j) + (lines.shape[-1] - length if right else 0)
            found[..., i, j] = lines[..., k2 - number, place]
    return found


def determinant(data):
    return torch.linalg.det(torch.from_numpy(np.array(data, np.float64))).numpy()


def matrix_inverse(data):
    return torch.linalg.inv(torch.from_numpy(np.array(data, np.float64))).numpy()


ORACLES = {
    "trilu": trilu,
    "matrix_set_diag": matrix_set_diag,
    "determinant": determinant,
    "matrix_inverse": matrix_inverse,
}
