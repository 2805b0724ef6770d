"""Which element of an input belongs to an element of the result."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay import te
from relay.op.building.elements import folded, place, position, regrouped, stretched
from relay.te.evaluate import evaluate

Sizes = tuple[int, ...]


def extents(*sizes: int) -> tuple[te.Expr, ...]:
    return tuple(map(te.index, sizes))


def names(count: int) -> tuple[te.Var, ...]:
    return tuple(te.Var("int64", name) for name in "ijklmn"[:count])


@pytest.mark.parametrize(
    ("shape", "other", "indices"),
    [
        ((6, 4), (6, 4), "(i, j)"),
        ((6, 4), (2, 3, 4), "((i // 3), (i % 3), j)"),
        ((2, 3, 4), (6, 4), "(((i * 3) + j), k)"),
        ((4, 6), (6, 4), "(((i * 6) + j) // 4), (((i * 6) + j) % 4)"),
        ((5, 1), (1, 5), "(0, i)"),
        ((1, 1), (), "()"),
        ((3, 2, 2), (3, 4), "(i, ((j * 2) + k))"),
    ],
)
def test_axes_with_the_same_number_of_elements_are_counted_by_themselves(
    shape: Sizes, other: Sizes, indices: str
) -> None:
    found = regrouped(names(len(shape)), extents(*shape), extents(*other))
    assert str(found).strip("()") == indices.strip("()")


def test_an_axis_that_stays_is_found_although_its_extent_is_not_known() -> None:
    n = te.Var("int64", "n")
    i, j, k = names(3)
    assert regrouped((i, j), (n, te.index(6)), (n, *extents(2, 3))) == (i, j // 3, j % 3)
    # from there on where the numbers of elements cannot be compared, all is counted through
    assert regrouped((i, j, k), (n, *extents(2, 3)), (n * 2, te.index(3)))[1] == (
        ((i * 2 + j) * 3 + k) % 3
    )


@given(st.lists(st.sampled_from([1, 2, 3, 4]), max_size=4), st.randoms())
def test_regrouping_is_what_reshape_does(sizes: list[int], random: Random) -> None:
    whole = int(np.prod(sizes, dtype=int))
    other = divided(whole, random)
    numbers = np.arange(whole).reshape(sizes)
    x = te.placeholder(sizes, "int64")
    y = te.compute(other, lambda *i: x[regrouped(i, extents(*other), x.shape)])
    np.testing.assert_array_equal(evaluate([y], {x: numbers})[0], numbers.reshape(other))


def divided(whole: int, random: Random) -> list[int]:
    """Some shape with that number of elements."""
    found = []
    while whole > 1 and len(found) < 5:
        part = random.choice([d for d in range(1, whole + 1) if whole % d == 0])
        found.append(part)
        whole //= part
    return [*found, whole] if whole > 1 else found


def test_the_number_of_a_place_leads_back_to_it() -> None:
    shape = extents(3, 1, 4)
    x = te.placeholder((3, 1, 4), "int64")
    y = te.compute(shape, lambda *i: x[place(position(i, shape), shape)])
    numbers = np.arange(12).reshape(3, 1, 4)
    np.testing.assert_array_equal(evaluate([y], {x: numbers})[0], numbers)


def test_an_extent_of_one_is_stretched() -> None:
    x = te.placeholder((3, 1), "float32", "x")
    i, j, k = names(3)
    assert str(stretched(x, (i, j, k), extents(2, 3, 4))) == "x[j, 0]"


def test_an_extent_that_may_turn_out_to_be_one_is_looked_at_in_the_run() -> None:
    n, m = te.Var("int64", "n"), te.Var("int64", "m")
    x = te.placeholder((n,), "float32", "x")
    (i,) = names(1)
    assert str(stretched(x, (i,), (m,))) == "x[(0 if (n == 1) else i)]"
    assert str(stretched(x, (i,), (n,))) == "x[i]"


@pytest.mark.parametrize("keep", [False, True])
def test_a_reduction_drops_its_axes_or_keeps_them_with_extent_one(keep: bool) -> None:
    x = te.placeholder((2, 3, 4), "float64")
    y = folded(x.shape, (0, 2), lambda i: x[i], te.sum, keep)
    values = np.random.default_rng(0).normal(size=(2, 3, 4))
    np.testing.assert_allclose(
        evaluate([y], {x: values})[0], values.sum((0, 2), keepdims=keep), rtol=1e-12
    )
