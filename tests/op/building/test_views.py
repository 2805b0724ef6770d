"""Indices in digits, and tensors read by the letters of their axes."""

from __future__ import annotations

from math import prod

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from relay import te
from relay.op.building.layouts import blocked, read_layout, unblocked
from relay.op.building.views import Digits, View, along, common_blocks, padded, running, view
from relay.te.evaluate import evaluate


def digits(number: int, *bases: int) -> Digits:
    places = np.unravel_index(number, bases)
    return Digits(
        tuple((te.index(int(p)), te.index(b)) for p, b in zip(places, bases, strict=True))
    )


def letters(*extents: te.Scalar) -> Digits:
    """An index whose digits are variables a, b, …"""
    return Digits(
        tuple((te.Var("int64", name), te.index(e)) for name, e in zip("abc", extents, strict=False))
    )


def test_digits_make_a_number() -> None:
    assert repr(letters(5, 16).whole) == "((a * 16) + b)"
    assert Digits().whole == te.index(0)
    assert letters(5, 16).extent == te.index(80)


def test_blocks_that_end_with_a_digit_take_digits_as_they_are() -> None:
    assert repr(letters(5, 16).cut([16])) == "[a, b]"
    assert repr(letters(5, 4, 4).cut([16])) == "[a, ((b * 4) + c)]"
    assert repr(letters(5, 16).cut([])) == "[((a * 16) + b)]"


def test_a_block_may_end_inside_a_digit() -> None:
    assert repr(letters(5, 16).cut([4])) == "[((a * 4) + (b // 4)), (b % 4)]"
    assert repr(letters(80).cut([16])) == "[(a // 16), (a % 16)]"


def test_blocks_across_digits_divide_the_number() -> None:
    assert repr(letters(4, 6).cut([4])) == "[(((a * 6) + b) // 4), (((a * 6) + b) % 4)]"


def test_an_extent_that_a_run_finds_is_divided() -> None:
    n = te.Var("int64", "n")
    assert repr(letters(n).cut([8])) == "[(a // 8), (a % 8)]"
    assert repr(letters(n, 8).cut([8])) == "[a, b]"


@given(st.data())
def test_cutting_agrees_with_division(data: st.DataObject) -> None:
    bases = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    blocks = data.draw(st.lists(st.integers(1, 6), max_size=2))
    # an axis falls into whole blocks
    bases[0] *= prod(blocks)
    number = data.draw(st.integers(0, prod(bases) - 1))
    outer = prod(bases) // prod(blocks)
    expected = np.unravel_index(number, (outer, *blocks))
    found = digits(number, *bases).cut(blocks)
    assert [int(part.value) for part in found] == [int(e) for e in expected]


def test_common_blocks_are_those_that_all_consist_of() -> None:
    assert common_blocks([16], [4, 4]) == [4, 4]
    assert common_blocks([4], [2, 2]) == [2, 2]
    assert common_blocks([], [8]) == [8]
    assert common_blocks([4], [6]) == []
    assert common_blocks([], []) == []


def test_an_index_runs_in_blocks_where_they_come_out_even() -> None:
    index, axes = running(te.index(32), [16], "c")
    assert [repr(axis.extent) for axis in axes] == ["2", "16"]
    assert repr(index.whole) == "((c * 16) + c1)"
    _, whole = running(te.index(24), [16], "c")
    assert [repr(axis.extent) for axis in whole] == ["24"]


def test_elements_are_read_where_the_layout_puts_them() -> None:
    n, c, h, w = (te.Var("int64", name) for name in "nchw")
    x = te.placeholder((2, 4, 5, 6, 16), "float32", "x")
    read = view(x, "NCHW16c").at(N=n, C=c, H=h, W=w)
    assert repr(read) == "x[n, (c // 16), h, w, (c % 16)]"


@given(st.sampled_from(["NCHW", "NHWC", "NCHW2c", "CHWN2c", "NCHW2c2c", "NCHW2h"]))
def test_a_view_has_the_axes_of_the_array(layout: str) -> None:
    whole = np.arange(2 * 4 * 4 * 3).reshape(2, 4, 4, 3)
    array = np.ascontiguousarray(blocked(whole, "NCHW", layout))
    x = te.placeholder(array.shape, "int64", "x")
    seen = view(x, layout)
    copy = te.compute(whole.shape, lambda n, c, h, w: seen.at(N=n, C=c, H=h, W=w))
    (found,) = evaluate([copy], {x: array})
    np.testing.assert_array_equal(found, unblocked(array, layout, "NCHW"))


def test_room_around_an_axis_is_a_stage_of_its_own() -> None:
    x = te.placeholder((5, 3), "float32", "x")
    data = View(x, read_layout("HC"))
    assert padded(data, {"H": (0, 0)}) is data
    room = padded(data, {"H": (1, 2)}, -1.0)
    assert room.tensor.extents == (8, 3)
    ((body,),) = [room.tensor.op.bodies]
    assert repr(body) == "(x[(i - 1), j] if (((i - 1) >= 0) & ((i - 1) < 5)) else -1.0:float32)"


def test_padded_axes_are_whole() -> None:
    x = te.placeholder((2, 3, 4), "float32", "x")
    room = padded(View(x, read_layout("HC4h")), {"H": (0, 1)})
    assert room.layout.text == "HC"
    assert room.tensor.extents == (9, 3)


def test_one_digit_is_an_index() -> None:
    assert along(3, 5).whole == te.index(3)
