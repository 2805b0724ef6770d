"""Sorting as loops: stable, in the order of the language, and only as much as is asked for."""

from __future__ import annotations

import numpy as np
import pytest

from relay import dtypes, te
from relay.op.tensor.sort_loops import first_positions, lower_bound, sort_key, sort_positions
from relay.te.evaluate import evaluate

SIZES = (0, 1, 2, 3, 7, 8, 9, 31, 64, 300)


def positions(data: np.ndarray, most: int | None = None, descending: bool = False) -> np.ndarray:
    """The positions of the elements of `data` in order, or the first of them."""
    x = te.placeholder(data.shape, dtypes.canonical(data.dtype), "x")
    count = len(data) if most is None else most

    def write(b: te.Builder, out: te.Buffer) -> None:
        def key(position: te.Expr) -> te.Expr:
            return sort_key(x[position], descending)

        if most is None:
            order = sort_positions(b, len(data), key)
        else:
            order = first_positions(b, len(data), most, key)
        with b.loop(count) as rank:
            b.store(out, rank, order[rank])

    (found,) = evaluate(te.procedure([x], [((count,), "int64")], write), {x: data})
    return found


def expected(data: np.ndarray, descending: bool = False) -> np.ndarray:
    if not descending:
        return np.argsort(data, kind="stable")
    return len(data) - 1 - np.argsort(data[::-1], kind="stable")[::-1]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("descending", [False, True])
def test_equal_elements_keep_their_order(size: int, descending: bool) -> None:
    data = np.random.default_rng(size).integers(-4, 4, size)
    np.testing.assert_array_equal(positions(data, None, descending), expected(data, descending))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("descending", [False, True])
def test_floats_that_are_no_common_numbers_have_a_place(dtype: str, descending: bool) -> None:
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, -np.nan, 1e-7, -1e-7, 3.0, -3.0]
    data = np.random.default_rng(0).choice(special, 60).astype(dtype)
    np.testing.assert_array_equal(positions(data, None, descending), expected(data, descending))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
def test_integers_go_to_their_ends(dtype: str) -> None:
    limits = np.iinfo(dtype)
    data = np.array([limits.max, 0, limits.min, 1, limits.max - 1, limits.min + 1], dtype)
    for descending in (False, True):
        np.testing.assert_array_equal(positions(data, None, descending), expected(data, descending))


@pytest.mark.parametrize("size", SIZES)
def test_the_first_ones_are_those_that_sorting_puts_there(size: int) -> None:
    data = np.random.default_rng(size).integers(0, 9, size).astype("float32")
    for most in {1, 2, size // 2, size} & set(range(1, size + 1)):
        np.testing.assert_array_equal(positions(data, most), expected(data)[:most])


def test_a_bound_is_where_a_value_would_be_put() -> None:
    data = np.array([1, 3, 3, 3, 5, 9], "int32")
    x = te.placeholder((6,), "int32", "x")

    def write(b: te.Builder, out: te.Buffer) -> None:
        with b.loop(11) as i:
            value = te.cast(i, "int32")
            b.store(out, (0, i), lower_bound(b, 6, lambda p: x[p] < value))
            b.store(out, (1, i), lower_bound(b, 6, lambda p: x[p] <= value))

    (found,) = evaluate(te.procedure([x], [((2, 11), "int64")], write), {x: data})
    np.testing.assert_array_equal(found[0], np.searchsorted(data, np.arange(11), "left"))
    np.testing.assert_array_equal(found[1], np.searchsorted(data, np.arange(11), "right"))
