"""Small constant tables in tensor expressions, and matrices applied along an axis."""

from __future__ import annotations

import numpy as np

from relay import te
from relay.op.building.elements import position


def table(values: np.ndarray, dtype: str, name: str = "table") -> te.Tensor:
    """The tensor with these elements, selected by the bits of the index, so there should be few."""
    return te.compute(
        values.shape,
        lambda *i: _chosen(values, position(i, tuple(map(te.index, values.shape))), dtype),
        name,
    )


def _chosen(values: np.ndarray, number: te.Expr, dtype: str) -> te.Expr:
    level: list[te.Expr] = [te.const(value, dtype) for value in values.ravel().tolist()]
    bit = 1
    while len(level) > 1:
        is_even = te.equal(number // bit % 2, 0)
        pairs = zip(level[::2], level[1::2] + level[-1:], strict=False)
        level = [a if a == b else te.select(is_even, a, b) for a, b in pairs]
        bit *= 2
    return level[0]


def applied(matrix: np.ndarray, tensor: te.Tensor, axis: int, name: str) -> te.Tensor:
    """`tensor` with `matrix` applied to the vectors along an axis."""
    numbers = table(matrix, tensor.dtype, "matrix")
    shape = (*tensor.shape[:axis], te.index(matrix.shape[0]), *tensor.shape[axis + 1 :])
    r = te.axis(tensor.shape[axis], "r")
    return te.compute(
        shape,
        lambda *i: te.sum(numbers[i[axis], r] * tensor[(*i[:axis], r, *i[axis + 1 :])], r),
        name,
    )
