"""Procedures among other stages: what lowering makes of their results."""

from __future__ import annotations

import numpy as np

from relay import te
from relay.te.evaluate import run
from relay.te.lower import lower
from relay.te.schedule import create


def table_and_total(x: te.Tensor) -> tuple[te.Tensor, ...]:
    """Two results of different ranks: the squares side by side with the numbers, and their sum."""
    (size,) = x.shape

    def write(b: te.Builder, table: te.Buffer, total: te.Buffer) -> None:
        b.store(total, (), 0.0)
        with b.loop(size) as i:
            b.store(table, (i, 0), x[i])
            b.store(table, (i, 1), x[i] * x[i])
            b.store(total, (), total[()] + table[i, 1])

    return te.procedure([x], [((size, 2), "float32"), ((), "float32")], write, "squares")


def results(outputs: list[te.Tensor], x: te.Tensor, values: np.ndarray) -> list[np.ndarray]:
    loops = lower(create(outputs, [x]))
    found = [np.zeros([int(e.value) for e in o.shape], o.dtype) for o in loops.outputs]
    run(loops.body, dict(zip((*loops.inputs, *loops.outputs), (values, *found), strict=True)))
    return found


X = te.placeholder((3,), "float32", "x")
VALUES = np.array([1, 2, 3], "float32")


def test_each_result_of_a_procedure_has_its_own_shape() -> None:
    table, total = results(list(table_and_total(X)), X, VALUES)
    np.testing.assert_array_equal(table, [[1, 1], [2, 4], [3, 9]])
    assert total == 14


def test_a_result_nobody_wants_is_made_all_the_same() -> None:
    (total,) = results([table_and_total(X)[1]], X, VALUES)
    assert total == 14


def test_results_of_a_procedure_are_read_by_computations() -> None:
    table, total = table_and_total(X)
    shares = te.compute((3,), lambda i: table[i, 1] / total[()])
    (found,) = results([shares], X, VALUES)
    np.testing.assert_allclose(found, [1 / 14, 4 / 14, 9 / 14])
