"""Loops over several axes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relay import te
from relay.op.loop_nest import lines, nest, spread
from relay.te.evaluate import evaluate


def filled(shape: tuple[int, ...], write: Callable[[te.Builder, te.Buffer], None]) -> np.ndarray:
    (found,) = evaluate(te.procedure([], [(shape, "int64")], write), {})
    return found


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 1, 4), (0, 3)])
def test_every_place_of_a_grid_is_visited(shape: tuple[int, ...]) -> None:
    expected = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    for loops in (nest, spread):

        def write(b: te.Builder, out: te.Buffer, loops: Callable = loops) -> None:
            with loops(b, shape) as place:
                number = te.index(0)
                for index, extent in zip(place, shape, strict=True):
                    number = number * extent + index
                b.store(out, place, number)

        np.testing.assert_array_equal(filled(shape, write), expected)


def test_a_nest_goes_row_by_row() -> None:
    def write(b: te.Builder, out: te.Buffer) -> None:
        step = b.variable("int64", 0)
        with nest(b, (2, 3)) as place:
            b.store(out, place, step[()])
            b.store(step, (), step[()] + 1)

    np.testing.assert_array_equal(filled((2, 3), write), [[0, 1, 2], [3, 4, 5]])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_lines_lie_along_their_axis(axis: int) -> None:
    def write(b: te.Builder, out: te.Buffer) -> None:
        with lines(b, (2, 3, 4), axis) as at, b.loop((2, 3, 4)[axis]) as i:
            b.store(out, at(i), i)

    np.testing.assert_array_equal(filled((2, 3, 4), write), np.indices((2, 3, 4))[axis])
