"""Where stages are computed: as much as is needed, in time, and in which memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relay import te
from relay.errors import RelayError
from relay.te.expr import INDEX
from relay.te.loops import MemoryScope
from relay.te.lower import lower
from relay.te.schedule import (
    Schedule,
    cache_read,
    check,
    compute_at,
    create,
    inline,
    reorder,
    set_scope,
    split,
    stream,
    vectorize,
)
from tests.te.running import assert_computes, text, tidy_text

X = te.placeholder((9,), "int32", "x")
T = te.compute((9,), lambda i: X[i] * 2, "t")
ARRAY = np.arange(9, dtype=np.int32)


def neighbors() -> Schedule:
    return create([te.compute((8,), lambda i: T[i] + T[i + 1], "y")])


def test_without_a_place_a_stage_is_computed_before_its_readers() -> None:
    assert text(neighbors()) == (
        "workspace t: int32[9]\n"
        "for i in 9:\n"
        "  t[i] = (x[i] * 2:int32)\n"
        "for i in 8:\n"
        "  y[i] = (t[i] + t[(i + 1)])"
    )


def test_inside_a_loop_as_much_is_computed_as_one_turn_reads() -> None:
    s = compute_at(neighbors(), "t", "y", "i")
    assert tidy_text(s) == (
        "for i in 8:\n"
        "  workspace t: int32[2]\n"
        "  for i1 in 2:\n"
        "    t[i1] = (x[(i + i1)] * 2:int32)\n"
        "  y[i] = (t[0] + t[1])"
    )
    assert_computes(s, {X: ARRAY})


def test_a_tile_reads_its_elements_and_one_more() -> None:
    s = compute_at(split(neighbors(), "y", "i", 3), "t", "y", "i.o")
    assert [repr(size) for size in s["t"].region] == ["4"]
    assert_computes(s, {X: ARRAY})


def test_what_every_turn_reads_all_of_is_computed_whole() -> None:
    k = te.axis(9)
    s = create([te.compute((8,), lambda i: te.sum(T[k] * te.cast(i, "int32"), k), "y")])
    s = compute_at(s, "t", "y", "i")
    assert [repr(size) for size in s["t"].region] == ["9"]
    assert not s["t"].guards
    assert_computes(s, {X: ARRAY})


def test_what_is_read_at_places_that_are_read_is_computed_whole() -> None:
    places = te.placeholder((5,), "int64", "places")
    s = create([te.compute((5,), lambda i: T[places[i]], "y")])
    s = compute_at(s, "t", "y", "i")
    assert [repr(size) for size in s["t"].region] == ["9"]
    assert_computes(s, {X: ARRAY, places: np.array([8, 0, 3, 3, 1])})


def test_room_for_turns_beyond_the_end() -> None:
    s = split(create([te.compute((9,), lambda i: T[i] + 1, "y")]), "y", "i", 16)
    assert "workspace t: int32[9]" in tidy_text(compute_at(s, "t", "y", "i.o"))
    s = compute_at(s, "t", "y", "i.o", padded=True)
    assert "workspace t: int32[16]" in tidy_text(s)
    assert_computes(s, {X: ARRAY})


def test_two_readers_in_one_loop_share_what_both_need() -> None:
    u = te.compute((8,), lambda i: T[i + 1] + 1, "u")
    s = create([te.compute((8,), lambda i: T[i] * u[i], "y")])
    s = compute_at(compute_at(s, "u", "y", "i"), "t", "y", "i")
    assert [repr(size) for size in s["t"].region] == ["2"]
    assert_computes(s, {X: ARRAY})


def test_a_stage_inside_a_stage_inside_a_loop() -> None:
    u = te.compute((8,), lambda i: T[i] + T[i + 1], "u")
    s = create([te.compute((7,), lambda i: u[i] * u[i + 1], "y")])
    s = compute_at(compute_at(s, "u", "y", "i"), "t", "u", "i")
    assert_computes(s, {X: ARRAY})
    s = create([te.compute((7,), lambda i: u[i] * u[i + 1], "y")])
    s = compute_at(compute_at(s, "u", "y", "i"), "t", "y", "i")
    assert [repr(size) for size in s["t"].region] == ["3"]
    assert_computes(s, {X: ARRAY})


@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_sizes_known_at_run_time(size: int) -> None:
    n = te.Var(INDEX, "n")
    x = te.placeholder((n,), "int32", "x")
    t = te.compute((n,), lambda i: x[i] + 1, "t")
    s = create([te.compute((n,), lambda i: t[i] * t[n - 1 - i], "y")])
    s = split(s, "y", "i", 3)
    for loop in ("i.o", "i.i"):
        assert_computes(compute_at(s, "t", "y", loop), {x: np.arange(size, dtype="int32")}, n=size)


def test_memory_is_in_registers_on_the_stack_or_in_the_workspace() -> None:
    s = compute_at(neighbors(), "t", "y", "i")
    assert "register t: int32[2]" in text(set_scope(s, "t", MemoryScope.REGISTER))
    assert "stack t: int32[2]" in text(set_scope(s, "t", MemoryScope.STACK))


def test_stores_may_go_past_the_caches() -> None:
    assert stream(neighbors(), "y")["y"].streaming


def placed() -> Schedule:
    return compute_at(neighbors(), "t", "y", "i")


def twice_read() -> Schedule:
    u = te.compute((9,), lambda i: T[i], "u")
    return create([te.compute((8,), lambda i: T[i], "y"), u])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: compute_at(neighbors(), "y", "t", "i"), "`y` is an output"),
        (lambda: compute_at(neighbors(), "t", "t", "i"), "`t` does not read `t`"),
        (lambda: compute_at(neighbors(), "t", "y", "j"), "no loop `j`"),
        (lambda: compute_at(twice_read(), "t", "y", "i"), "`u` reads it too"),
        (lambda: inline(placed(), "y"), "`t` is computed inside `y`"),
        (lambda: set_scope(neighbors(), "y", MemoryScope.REGISTER), "outputs, and only they"),
        (lambda: set_scope(neighbors(), "t", MemoryScope.GLOBAL), "outputs, and only they"),
    ],
)
def test_what_cannot_be_is_refused(wrong: Callable[[], Schedule], message: str) -> None:
    with pytest.raises(RelayError, match=message.replace("`", ".")):
        wrong()


def test_nothing_is_computed_in_a_vector_loop() -> None:
    with pytest.raises(RelayError, match=r"`t` is computed in vector loop `i`"):
        lower(vectorize(placed(), "y", "i"))


def test_a_reader_that_appears_outside_later_is_found_out() -> None:
    s = cache_read(placed(), "y", T, "copy")  # reads `t` before `y` has begun
    with pytest.raises(RelayError, match=r"`copy` reads it too and is not computed inside `y`"):
        check(s)
    check(compute_at(s, "copy", "y", "i"))


def test_a_reader_that_comes_to_need_more_is_found_out() -> None:
    u = te.compute((8, 4), lambda i, j: T[i] + te.cast(j, "int32"), "u")
    k = te.axis(4)
    s = create([te.compute((8,), lambda i: te.sum(u[i, k], k), "y")])
    s = compute_at(compute_at(s, "u", "y", "k"), "t", "y", "i")
    assert [repr(size) for size in s["t"].region] == ["1"]
    with pytest.raises(RelayError):  # everything in u is wanted before the loop over i
        check(s.with_stage(create([u])["u"]))


def test_reductions_are_computed_inside_their_readers() -> None:
    m = te.placeholder((4, 9), "int32", "m")
    k = te.axis(9)
    total = te.compute((4,), lambda i: te.sum(m[i, k], k), "total")
    s = create([te.compute((4, 9), lambda i, j: m[i, j] - total[i], "y")])
    s = compute_at(s, "total", "y", "i")
    assert tidy_text(s) == (
        "for i in 4:\n"
        "  workspace total: int32[1]\n"
        "  total[0] = 0:int32\n"
        "  for k in 9:\n"
        "    total[0] = (total[0] + m[i, k])\n"
        "  for j in 9:\n"
        "    y[i, j] = (m[i, j] - total[0])"
    )
    s = compute_at(
        reorder(s.with_stage(create([total])["total"]), "y", "j", "i"), "total", "y", "i"
    )
    assert_computes(s, {m: np.arange(36, dtype=np.int32).reshape(4, 9)})
