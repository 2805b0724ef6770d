"""Loops of one stage: what each primitive makes of them, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relay import te
from relay.errors import RelayError
from relay.te.expr import INDEX
from relay.te.schedule import (
    Schedule,
    compute_at,
    create,
    fuse,
    parallel,
    reorder,
    split,
    tile,
    unroll,
    vectorize,
)
from tests.te.running import assert_computes, text, tidy_text

X = te.placeholder((56,), "float32", "x")
M = te.placeholder((4, 8), "int32", "m")


def row() -> Schedule:
    return create([te.compute((56,), lambda i: X[i] + 1.0, "y")])


def grid() -> Schedule:
    return create([te.compute((4, 8), lambda i, j: M[i, j] * 2, "y")])


def sums() -> Schedule:
    k = te.axis(8)
    return create([te.compute((4,), lambda i: te.sum(M[i, k], k), "y")])


def lines(text: str) -> list[str]:
    """The lines without those of the body."""
    return [line for line in text.splitlines() if line.endswith(":")]


def test_split_makes_two_loops_and_a_guard_where_the_factor_does_not_divide() -> None:
    s = split(row(), "y", "i", 6)
    assert text(s) == (
        "for i.o in 10:\n"
        "  for i.i in 6:\n"
        "    if (((i.o * 6) + i.i) < 56):\n"
        "      y[((i.o * 6) + i.i)] = (x[((i.o * 6) + i.i)] + 1.0:float32)"
    )
    assert "if" not in text(split(row(), "y", "i", 8))


def test_split_names_its_loops() -> None:
    assert [loop.name for loop in split(row(), "y", "i", 8, ("a", "b"))["y"].loops] == ["a", "b"]


def test_split_of_a_size_known_at_run_time_has_a_guard() -> None:
    n = te.Var(INDEX, "n")
    x = te.placeholder((n,), "float32", "x")
    s = split(create([te.compute((n,), lambda i: x[i], "y")]), "y", "i", 8)
    assert lines(text(s)) == [
        "for i.o in ((n + 7) // 8):",
        "  for i.i in 8:",
        "    if (((i.o * 8) + i.i) < n):",
    ]


def test_fuse_makes_one_loop_of_two() -> None:
    s = fuse(grid(), "y", "i", "j")
    assert text(s) == (
        "for i.j in 32:\n  y[(i.j // 8), (i.j % 8)] = (m[(i.j // 8), (i.j % 8)] * 2:int32)"
    )


def test_what_is_split_and_fused_again_is_what_it_was() -> None:
    s = fuse(split(row(), "y", "i", 8), "y", "i.o", "i.i", "i")
    assert tidy_text(s) == tidy_text(row())


def test_reorder_changes_places_among_the_named_loops_only() -> None:
    assert lines(text(reorder(grid(), "y", "j", "i"))) == ["for j in 8:", "  for i in 4:"]
    s = tile(grid(), "y", ("i", 2), ("j", 4))
    names = [loop.name for loop in reorder(s, "y", "j.i", "i.o")["y"].loops]
    assert names == ["j.i", "j.o", "i.i", "i.o"]


def test_tile_makes_blocks() -> None:
    assert lines(text(tile(grid(), "y", ("i", 2), ("j", 4)))) == [
        "for i.o in 2:",
        "  for j.o in 2:",
        "    for i.i in 2:",
        "      for j.i in 4:",
    ]


def test_loops_run_in_lanes_in_copies_and_on_threads() -> None:
    s = split(grid(), "y", "j", 4)
    s = vectorize(unroll(parallel(s, "y", "i"), "y", "j.o"), "y", "j.i")
    assert tidy_text(s) == (
        "parallel for i in 4:\n"
        "  vector for j.i in 4:\n"
        "    y[i, j.i] = (m[i, j.i] * 2:int32)\n"
        "  vector for j.i in 4:\n"
        "    y[i, (j.i + 4)] = (m[i, (j.i + 4)] * 2:int32)"
    )


def test_the_outer_part_of_a_loop_runs_as_the_loop_did() -> None:
    s = split(parallel(grid(), "y", "j"), "y", "j", 4)
    assert lines(text(s))[1:] == ["  parallel for j.o in 2:", "    for j.i in 4:"]


def test_threads_may_go_through_a_loop_in_both_directions() -> None:
    s = parallel(grid(), "y", "i", alternating=True)
    assert lines(text(s))[0] == "alternating parallel for i in 4:"


def test_a_reduction_begins_where_its_first_loop_is() -> None:
    s = reorder(sums(), "y", "k", "i")
    assert text(s) == (
        "for i in 4:\n  y[i] = 0:int32\nfor k in 8:\n  for i in 4:\n    y[i] = (y[i] + m[i, k])"
    )


@pytest.mark.parametrize("factor", [1, 3, 5, 8, 11])
def test_what_lies_beyond_the_end_of_a_reduction_does_not_count(factor: int) -> None:
    # nothing that is read would be out of range
    k = te.axis(8)
    x = te.placeholder((4,), "int32", "x")
    s = create([te.compute((4,), lambda i: te.sum(x[i] + te.cast(k, "int32"), k), "y")])
    s = unroll(split(s, "y", "k", factor), "y", "k.i")
    assert_computes(s, {x: np.arange(4, dtype=np.int32)})


def symbolic() -> Schedule:
    n = te.Var(INDEX, "n")
    x = te.placeholder((n,), "float32", "x")
    return create([te.compute((n,), lambda i: x[i], "y")])


def with_something_inside() -> Schedule:
    a = te.compute((4, 8), lambda i, j: M[i, j] + 1, "t")
    s = create([te.compute((4, 8), lambda i, j: a[i, j] * 2, "y")])
    return compute_at(split(s, "y", "j", 2), "t", "y", "j.o")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: split(row(), "y", "i", 0), "split by a number from 1 on, found 0"),
        (lambda: split(row(), "y", "j", 2), "has no loop `j`; it has i"),
        (lambda: split(row(), "z", "i", 2), "no stage `z`"),
        (lambda: split(row(), "y", "i", 2, ("a", "a")), "two loops `a`"),
        (lambda: split(grid(), "y", "i", 2, ("j", "k")), "two loops `j`"),
        (lambda: split(vectorize(grid(), "y", "j"), "y", "j", 2), "lanes of vectors already"),
        (lambda: fuse(vectorize(grid(), "y", "j"), "y", "i", "j"), "lanes of vectors already"),
        (lambda: fuse(grid(), "y", "j", "i"), "`i` is not the loop directly inside `j`"),
        (lambda: fuse(sums(), "y", "i", "k"), "only one is a reduction"),
        (
            lambda: fuse(tile(grid(), "y", ("i", 2), ("j", 4)), "y", "i.o", "j.o", "j.i"),
            "two loops",
        ),
        (lambda: reorder(grid(), "y", "i", "i"), "named twice"),
        (lambda: parallel(sums(), "y", "k"), "threads split results, never a reduction"),
        (lambda: vectorize(sums(), "y", "k"), "lanes need results of their own"),
        (lambda: vectorize(symbolic(), "y", "i"), "known at run time only"),
        (lambda: unroll(symbolic(), "y", "i"), "known at run time only"),
        (lambda: split(with_something_inside(), "y", "i", 2), "`t` is computed in loop `j.o`"),
        (lambda: split(with_something_inside(), "y", "j.o", 2), "`t` is computed in loop `j.o`"),
        (lambda: fuse(with_something_inside(), "y", "i", "j.o"), "`t` is computed in loop `j.o`"),
        (lambda: reorder(with_something_inside(), "y", "j.i", "j.o"), "is computed in loop `j.o`"),
        (lambda: reorder(with_something_inside(), "y", "j.o", "i"), "is computed in loop `j.o`"),
    ],
)
def test_what_cannot_be_is_refused(wrong: Callable[[], Schedule], message: str) -> None:
    with pytest.raises(RelayError, match=message.replace("`", ".")):
        wrong()


def test_loops_inside_the_one_that_something_is_computed_in_may_change() -> None:
    s = vectorize(split(with_something_inside(), "y", "j.i", 2), "y", "j.i.i")
    s = parallel(s, "y", "i")
    assert_computes(s, {M: np.arange(32, dtype=np.int32).reshape(4, 8)})
