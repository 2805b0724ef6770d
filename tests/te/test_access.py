"""Where elements lie in memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay import te
from relay.te.access import flat, stride, strides
from relay.te.expr import INDEX
from relay.te.simplify import Linear, Simplifier

I, J, N = (te.Var(INDEX, name) for name in "ijn")  # noqa: E741


def sizes(*extents: te.Scalar) -> list[te.Expr]:
    return [te.index(extent) for extent in extents]


def test_strides_count_in_row_major_order() -> None:
    assert list(map(repr, strides(sizes(2, 3, 4)))) == ["12", "4", "1"]
    assert list(map(repr, strides(sizes(7)))) == ["1"]
    assert strides([]) == []


def test_strides_of_sizes_known_at_run_time() -> None:
    assert list(map(repr, strides(sizes(2, N, 4)))) == ["(4 * n)", "4", "1"]


@pytest.mark.parametrize(
    ("shape", "indices", "expected"),
    [
        ((4, 8), (I, J), "((i * 8) + j)"),
        ((4, 8), (I // 8, I % 8), "i"),
        ((4, 8), (I, 3), "((i * 8) + 3)"),
        ((4, N), (I, J), "((i * n) + j)"),
        ((), (), "0"),
        ((2, 3, 4), (I // 12, (I // 4) % 3, I % 4), "i"),
    ],
)
def test_positions_are_sums(
    shape: tuple[te.Scalar, ...], indices: tuple[te.Scalar, ...], expected: str
) -> None:
    simplify = Simplifier({I: (0, 23), J: (0, 7)})
    total = flat(sizes(*shape), [te.index(i) for i in indices], simplify)
    assert repr(simplify.build(total)) == expected


def test_by_how_much_a_position_grows() -> None:
    simplify = Simplifier({I: (0, 3), J: (0, 7)})
    x = te.placeholder((4, 8), "float32", "x")
    assert stride(x[I, J], J, simplify) == 1
    assert stride(x[I, J], I, simplify) == 8
    assert stride(x[I, 0], J, simplify) == 0
    assert stride(x[I, 7 - J], J, simplify) == -1
    assert stride(x[I, J // 2], J, simplify) is None
    whole = Simplifier({I: (0, 31)})
    assert stride(x[I // 8, I % 8], I, whole) == 1


@given(st.lists(st.integers(1, 5), max_size=4), st.data())
def test_positions_are_those_of_numpy(shape: list[int], data: st.DataObject) -> None:
    at = [data.draw(st.integers(0, extent - 1)) for extent in shape]
    total = flat(sizes(*shape), sizes(*at), Simplifier())
    expected = np.ravel_multi_index(at, shape) if shape else 0
    assert total == Linear({}, int(expected))


def test_a_stride_that_depends_on_a_size_is_no_number() -> None:
    x = te.placeholder((4, N), "float32", "x")
    assert stride(x[I, J], J, Simplifier()) == 1
    assert stride(x[I, J], I, Simplifier()) is None
