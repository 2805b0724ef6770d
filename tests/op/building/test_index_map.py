"""Index maps: what spells one, and the shapes they make."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from relay.ir import dims
from relay.ir.types import ShapeVar
from relay.op.building.index_map import parse_index_map


@pytest.mark.parametrize(
    "text",
    [
        "i -> ",
        "i",
        "i -> j",
        "i, i -> i",
        "i -> i +",
        "i -> (i",
        "i -> i)",
        "i -> i i",
        "i -> -i",
        "i -> i / 2",
        "i -> i, , i",
        "1 -> 1",
        "i -> (i, i) + 1",
        "",
    ],
)
def test_these_are_none(text: str) -> None:
    assert parse_index_map(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "i, j -> i // 4, j, i % 4",
        "(i, j) -> (i * 3 + j)",
        "i, j -> (i + 1) * (j + 2) // 3",
        "i, j -> i + j * 2 % 5 - 0",
        "i, j -> 7",
        "i, j -> ((i), ((j)))",
    ],
)
def test_a_map_computes_what_python_does(text: str) -> None:
    known = parse_index_map(text)
    assert known is not None
    outputs = text.partition("->")[2]
    expected = [
        value if isinstance(value, tuple) else (value,)
        for i, j in itertools.product(range(5), range(3))
        for value in [python(outputs, i, j)]
    ]
    found = [np.broadcast_to(p, (5, 3)).ravel().tolist() for p in known.positions((5, 3))]
    assert list(zip(*found, strict=True)) == expected
    shape = known.shape((5, 3))
    assert shape is not None
    most = [max(axis) + 1 for axis in zip(*expected, strict=True)]
    assert all(s >= m for s, m in zip(shape, most, strict=True))


def python(text: str, i: int, j: int) -> object:
    """The formulas above, written out."""
    return {
        "i // 4, j, i % 4": (i // 4, j, i % 4),
        "(i * 3 + j)": i * 3 + j,
        "(i + 1) * (j + 2) // 3": (i + 1) * (j + 2) // 3,
        "i + j * 2 % 5 - 0": i + j * 2 % 5 - 0,
        "7": 7,
        "((i), ((j)))": (i, j),
    }[text.strip()]


def test_shapes_of_symbolic_extents() -> None:
    n = ShapeVar("n")
    known = parse_index_map("i, j -> i // 4, j, i % 4")
    assert known is not None
    shape = known.shape((n, 3))
    assert shape is not None
    assert [str(d) for d in shape] == ["(n + 3) // 4", "3", "min(4, n)"]
    assert known.shape((8, dims.ANY)) == [2, dims.ANY, 4]


def test_a_map_that_leaves_the_tensor_has_no_shape() -> None:
    for text in ("i -> i - 9", "i -> i // 0", "i -> i % i"):
        known = parse_index_map(text)
        assert known is not None and known.shape((4,)) is None


def test_nesting_has_no_limit() -> None:
    depth = 20000
    known = parse_index_map(f"i -> {'(' * depth}i{' + 1)' * depth}")
    assert known is not None
    assert known.shape((3,)) == [depth + 3]
