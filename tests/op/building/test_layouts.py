"""Layouts: what spells one, and tensors going there and back."""

from __future__ import annotations

import numpy as np
import pytest

from relay.errors import EvaluationError
from relay.op.building.layouts import blocked, parse_layout, read_layout, unblocked


@pytest.mark.parametrize("text", ["NCHW", "NHWC", "NCHW8c", "OIHW4i16o4i", "NC8cHW", "W", ""])
def test_these_are_layouts(text: str) -> None:
    found = parse_layout(text)
    assert found is not None
    assert sorted(found.letters) == sorted(letter for letter in text if letter.isupper())


@pytest.mark.parametrize("text", ["NCHWc", "8c", "NN", "NC0c", "NC-8c", "N C", "NCHW8d", "NCHW8"])
def test_these_are_none(text: str) -> None:
    assert parse_layout(text) is None
    with pytest.raises(EvaluationError, match="no layout"):
        read_layout(text)


def test_an_element_stands_where_the_layout_says() -> None:
    data = np.arange(2 * 16 * 3 * 5).reshape(2, 16, 3, 5)
    found = blocked(data, "NCHW", "NCHW8c")
    assert found.shape == (2, 2, 3, 5, 8)
    for n, c, h, w in np.ndindex(data.shape):
        assert found[n, c // 8, h, w, c % 8] == data[n, c, h, w]


def test_of_blocks_cut_twice_the_outer_ones_come_first() -> None:
    weight = np.arange(8 * 12).reshape(8, 12)
    found = blocked(weight, "OI", "OI3i4o2i")
    assert found.shape == (2, 2, 3, 4, 2)
    for o, i in np.ndindex(weight.shape):
        assert found[o // 4, i // 6, i % 6 // 2, o % 4, i % 2] == weight[o, i]


@pytest.mark.parametrize("text", ["NCHW", "CNWH", "NCHW4c", "NHWC2c", "NH3hCW2c2n", "2cNCHW2c"])
def test_there_and_back_is_nothing(text: str) -> None:
    data = np.arange(2 * 4 * 3 * 5).reshape(2, 4, 3, 5)
    there = blocked(data, "NCHW", text)
    np.testing.assert_array_equal(unblocked(there, text, "NCHW"), data)


def test_an_axis_that_does_not_fall_into_blocks_is_refused() -> None:
    with pytest.raises(EvaluationError, match="axis C does not fall into the blocks"):
        blocked(np.zeros((1, 6)), "NC", "NC4c")
