"""Loops made small: what is gone, what is split off, and what stays because it must."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay import te, tree
from relay.te.evaluate import run
from relay.te.expr import INDEX, const
from relay.te.loops import (
    Allocate,
    Block,
    For,
    If,
    Kind,
    Let,
    MemoryScope,
    Statement,
    Store,
    block,
)
from relay.te.tidy import tidy

X = te.Buffer("x", (const(56, INDEX),), "int32")
OUT = te.Buffer("out", (const(56, INDEX),), "int32")
N = te.Var(INDEX, "n")


def loops(write: Callable[[te.Builder], None]) -> Statement:
    b = te.Builder()
    write(b)
    return b.finish()


def small(write: Callable[[te.Builder], None]) -> str:
    return repr(tidy(loops(write)))


def guarded(condition: te.Expr, body: Statement) -> If:
    return If(condition, body, guard=True)


def copy(i: te.Expr) -> Store:
    return Store(OUT, (i,), X[i])


# --- loops


def test_a_loop_that_runs_once_is_its_body() -> None:
    def write(b: te.Builder) -> None:
        for kind in Kind:
            with b.loop(1, kind=kind) as i:
                b.store(OUT, i + 2, X[i])

    assert small(write) == "\n".join(["out[2] = x[0]"] * len(Kind))


def test_a_loop_that_never_runs_is_gone_and_so_is_what_holds_it() -> None:
    def write(b: te.Builder) -> None:
        local = b.local("int32", (4,))
        t = b.let(X[3])
        with b.loop(8), b.if_(X[0] > 0), b.loop(0) as i:
            b.store(local, i, t)

    assert small(write) == ""


def test_a_loop_to_unroll_is_its_copies() -> None:
    def write(b: te.Builder) -> None:
        with b.loop(2, kind=Kind.UNROLLED) as i, b.loop(2, "j", kind=Kind.UNROLLED) as j:
            b.store(OUT, i * 2 + j, X[j])

    assert small(write) == "out[0] = x[0]\nout[1] = x[1]\nout[2] = x[0]\nout[3] = x[1]"


def test_a_size_known_at_run_time_is_not_unrolled() -> None:
    def write(b: te.Builder) -> None:
        with b.loop(N, kind=Kind.UNROLLED) as i:
            b.store(OUT, i, X[i])

    assert small(write) == "unrolled for i in n:\n  out[i] = x[i]"


def test_a_name_for_a_number_is_the_number() -> None:
    def write(b: te.Builder) -> None:
        three = b.let(te.index(1) + 2)
        other = b.let(X[three])
        b.store(OUT, three, other)

    assert small(write) == "t = x[3]\nout[3] = t"


# --- guards


def tiles(extent: int, factor: int, kind: Kind = Kind.SERIAL) -> For:
    """Elements in blocks, the last one guarded."""
    o, i = te.Var(INDEX, "o"), te.Var(INDEX, "i")
    place = o * factor + i
    inner = For(i, const(factor, INDEX), guarded(place < extent, copy(place)))
    return For(o, const(-(-extent // factor), INDEX), inner, kind)


def test_the_main_part_runs_without_the_guard_and_the_tail_only_as_far_as_it_holds() -> None:
    assert repr(tidy(tiles(56, 6))) == (
        "for o in 9:\n"
        "  for i in 6:\n"
        "    out[((o * 6) + i)] = x[((o * 6) + i)]\n"
        "for i in 2:\n"
        "  out[(i + 54)] = x[(i + 54)]"
    )


def test_threads_start_once_for_both_parts() -> None:
    assert repr(tidy(tiles(56, 6, Kind.PARALLEL))) == (
        "parallel for o in 10:\n"
        "  if (o < 9):\n"
        "    for i in 6:\n"
        "      out[((o * 6) + i)] = x[((o * 6) + i)]\n"
        "  else:\n"
        "    for i in 2:\n"
        "      out[(i + 54)] = x[(i + 54)]"
    )


def test_a_guard_that_always_holds_is_gone() -> None:
    assert repr(tidy(tiles(54, 6))) == (
        "for o in 9:\n  for i in 6:\n    out[((o * 6) + i)] = x[((o * 6) + i)]"
    )


def test_of_a_vector_some_lanes_are_masked() -> None:
    o, i = te.Var(INDEX, "o"), te.Var(INDEX, "i")
    inner = For(i, const(16, INDEX), guarded(o * 16 + i < 56, copy(o * 16 + i)), Kind.VECTOR)
    assert repr(tidy(For(o, const(4, INDEX), inner))) == (
        "for o in 3:\n"
        "  vector for i in 16:\n"
        "    out[((o * 16) + i)] = x[((o * 16) + i)]\n"
        "vector for i in 16:\n"
        "  if ((i + 48) < 56):\n"
        "    out[(i + 48)] = x[(i + 48)]"
    )


def test_a_vector_of_which_one_lane_is_wanted_is_a_scalar() -> None:
    i = te.Var(INDEX, "i")
    loop = For(i, const(16, INDEX), guarded(i + 55 < 56, copy(i + 55)), Kind.VECTOR)
    assert repr(tidy(loop)) == "out[55] = x[55]"


def test_conditions_of_a_size_stay() -> None:
    assert "if" in repr(tidy(tiles_of_size()))


def tiles_of_size() -> For:
    o, i = te.Var(INDEX, "o"), te.Var(INDEX, "i")
    inner = For(i, const(6, INDEX), guarded(o * 6 + i < N, copy(o * 6 + i)))
    return For(o, (N + 5) // 6, inner)


@pytest.mark.parametrize("size", [0, 1, 5, 6, 7, 56])
def test_loops_of_a_size_do_what_they_did(size: int) -> None:
    for loop in (tiles_of_size(), tidy(tiles_of_size()), tidy(tiles_of_size(), {N: (0, 56)})):
        found = np.zeros(56, np.int32)
        run(loop, {X: np.arange(1, 57, dtype=np.int32), OUT: found}, {N: size})
        assert list(found) == [*range(1, size + 1)] + [0] * (56 - size)


def test_a_condition_moves_out_of_loops_it_does_not_depend_on() -> None:
    def write(b: te.Builder) -> None:
        with b.loop(8), b.loop(4, "j") as j, b.if_(N > 3):
            b.store(OUT, j, X[j])

    assert small(write).splitlines()[0] == "if (n > 3):"


def test_a_condition_that_is_read_stays_where_it_is() -> None:
    def write(b: te.Builder) -> None:
        with b.loop(4) as i, b.if_(X[3] > 3):
            b.store(OUT, i, X[i])

    assert small(write).splitlines()[0] == "for i in 4:"


def test_what_is_read_only_where_another_condition_holds_is_read_there_only() -> None:
    def write(b: te.Builder) -> None:
        with b.loop(N) as i, b.if_(i < 56), b.if_(X[i] > 0):
            b.store(OUT, i, 1)

    found = np.zeros(56, np.int32)
    arrays = {X: np.arange(56, dtype=np.int32) - 50, OUT: found}
    run(tidy(loops(write)), arrays, {N: 70})
    assert found.sum() == 5


def test_inside_a_condition_its_variable_is_bounded() -> None:
    def write(b: te.Builder) -> None:
        with b.loop(N) as i:
            with b.if_(i < 8):
                b.store(OUT, i // 8, X[i % 8])
            with b.else_():
                b.store(OUT, te.minimum(i, 8), 0)

    assert small(write) == (
        "i.main = max(min(8, n), 0)\n"
        "for i in i.main:\n"
        "  out[0] = x[i]\n"
        "for i in (n - i.main):\n"
        "  out[8] = 0:int32"
    )


# --- loops that end where only a run knows

SIZE = te.Extent(INDEX, "n")
LONG = te.Buffer("x", (SIZE,), "int32")
RESULT = te.Buffer("y", (SIZE,), "int32")


def open_tiles(factor: int, kind: Kind = Kind.SERIAL) -> For:
    """All elements in blocks, the last one guarded."""
    o, i = te.Var(INDEX, "o"), te.Var(INDEX, "i")
    place = o * factor + i
    inner = For(
        i, const(factor, INDEX), guarded(place < SIZE, Store(RESULT, (place,), LONG[place]))
    )
    return For(o, (SIZE + (factor - 1)) // factor, inner, kind)


def test_the_main_part_runs_without_the_guard_also_where_only_a_run_knows_how_long_it_is() -> None:
    assert repr(tidy(open_tiles(16))) == (
        "o.main = min((n // 16), ((n + 15) // 16))\n"
        "for o in o.main:\n"
        "  for i in 16:\n"
        "    y[((o * 16) + i)] = x[((o * 16) + i)]\n"
        "for o in (((n + 15) // 16) - o.main):\n"
        "  for i in 16:\n"
        "    if ((((o.main * 16) + (o * 16)) + i) < n):\n"
        "      y[(((o.main * 16) + (o * 16)) + i)] = x[(((o.main * 16) + (o * 16)) + i)]"
    )


def test_threads_start_once_for_the_main_part_and_the_tail() -> None:
    assert repr(tidy(open_tiles(16, Kind.PARALLEL))) == (
        "o.main = min((n // 16), ((n + 15) // 16))\n"
        "parallel for o in ((n + 15) // 16):\n"
        "  if (o < o.main):\n"
        "    for i in 16:\n"
        "      y[((o * 16) + i)] = x[((o * 16) + i)]\n"
        "  else:\n"
        "    for i in 16:\n"
        "      if (((o * 16) + i) < n):\n"
        "        y[((o * 16) + i)] = x[((o * 16) + i)]"
    )


def test_a_loop_up_to_a_size_needs_no_guard_against_it() -> None:
    i = te.Var(INDEX, "i")
    loop = For(i, SIZE, guarded(i < SIZE, Store(RESULT, (i,), LONG[i])))
    assert repr(tidy(loop)) == "for i in n:\n  y[i] = x[i]"


def test_what_is_one_thing_up_to_a_size_and_another_from_there_is_two_loops() -> None:
    other = te.Extent(INDEX, "m")
    more = te.Buffer("z", (other,), "int32")
    i = te.Var(INDEX, "i")
    value = te.select(i < SIZE, LONG[i], more[i - SIZE])
    both = te.Buffer("y", (SIZE + other,), "int32")
    assert repr(tidy(For(i, SIZE + other, Store(both, (i,), value)))) == (
        "i.main = n\n"
        "for i in i.main:\n"
        "  y[i] = x[i]\n"
        "for i in ((n + m) - i.main):\n"
        "  y[(i.main + i)] = z[(((n * -1) + i.main) + i)]"
    )


def test_rows_beyond_the_last_are_read_as_the_last_where_nobody_sees_them() -> None:
    own = te.Buffer("t", (const(4, INDEX),), "int32", MemoryScope.REGISTER)
    o, r = te.Var(INDEX, "o"), te.Var(INDEX, "r")
    place = o * 4 + r
    body = guarded(place < SIZE, Store(own, (r,), LONG[place]))
    rows = For(r, const(4, INDEX), body)
    text = repr(tidy(For(o, (SIZE + 3) // 4, Allocate(own, block([rows, copy(o)])))))
    main, tail = text.split("for o in (((n + 3) // 4) - o.main):")
    assert "t[r] = x[((o * 4) + r)]" in main
    assert "if" not in tail
    assert "t[r] = x[min((((o.main * 4) + (o * 4)) + r), (n - 1))]" in tail


def test_lanes_beyond_the_last_are_masked() -> None:
    own = te.Buffer("t", (const(4, INDEX),), "int32", MemoryScope.REGISTER)
    o, r = te.Var(INDEX, "o"), te.Var(INDEX, "r")
    place = o * 4 + r
    body = guarded(place < SIZE, Store(own, (r,), LONG[place]))
    rows = For(r, const(4, INDEX), body, Kind.VECTOR)
    text = repr(tidy(For(o, (SIZE + 3) // 4, Allocate(own, block([rows, copy(o)])))))
    assert "min((((o.main" not in text
    assert "if ((((o.main * 4) + (o * 4)) + r) < n):" in text


@given(st.integers(1, 40), st.sampled_from([Kind.SERIAL, Kind.PARALLEL]))
def test_partitioned_later_or_not_the_same_is_stored(factor: int, kind: Kind) -> None:
    values = np.arange(100, dtype="int32")
    for n in (0, 1, factor - 1, factor, factor + 1, 100):
        found = np.zeros(n, "int32")
        run(tidy(open_tiles(factor, kind)), {LONG: values[:n], RESULT: found}, {SIZE: n})
        np.testing.assert_array_equal(found, values[:n])


# --- guards that are only there to stay inside


def kept(scope: MemoryScope, size: int, value: Callable[[te.Expr], te.Expr]) -> Statement:
    """A stage that fills 10 elements of a buffer in blocks of 4 lanes."""
    buffer = te.Buffer("t", (const(size, INDEX),), "int32", scope)
    o, i = te.Var(INDEX, "o"), te.Var(INDEX, "i")
    place = o * 4 + i
    store = guarded(place < 10, Store(buffer, (place,), value(place)))
    loop = For(o, const(3, INDEX), For(i, const(4, INDEX), store, Kind.VECTOR))
    last = Store(OUT, (const(0, INDEX),), buffer[9])
    return Allocate(buffer, Block((loop, last)))


def test_memory_of_the_kernels_own_is_filled_further_than_anybody_reads() -> None:
    assert "if" not in repr(tidy(kept(MemoryScope.WORKSPACE, 12, lambda i: X[i])))


def test_where_that_would_leave_the_buffer_the_guard_stays() -> None:
    assert "if" in repr(tidy(kept(MemoryScope.WORKSPACE, 10, lambda i: X[i])))


def test_where_that_would_read_outside_the_guard_stays() -> None:
    assert "if" in repr(tidy(kept(MemoryScope.WORKSPACE, 12, lambda i: X[i * 6])))


def test_what_the_caller_gave_is_written_only_where_it_should_be() -> None:
    assert "if" in repr(tidy(kept(MemoryScope.GLOBAL, 12, lambda i: X[i])))


def test_what_reads_under_a_condition_keeps_its_guard() -> None:
    def value(i: te.Expr) -> te.Expr:
        return te.select(i < 5, X[i], 0)

    assert "if (" in repr(tidy(kept(MemoryScope.WORKSPACE, 12, value)))


def test_a_condition_that_is_no_guard_stays() -> None:
    t = te.Buffer("t", (const(4, INDEX),), "int32", MemoryScope.STACK)
    i = te.Var(INDEX, "i")
    body = For(i, const(4, INDEX), If(i < 3, Store(t, (i,), X[i])), Kind.VECTOR)
    assert "if (i < 3)" in repr(tidy(Allocate(t, body)))


# --- any loops


@st.composite
def nests(draw: st.DrawFn) -> Statement:
    """Loops around conditions around stores that count how often they happen, where."""
    out = te.Buffer("out", (const(64, INDEX),), "int32")
    numbers = draw(st.lists(st.integers(0, 10**6), min_size=12, max_size=12))
    variables: list[te.Var] = []
    place: te.Expr = const(numbers[0] % 5, INDEX)
    opened: list[Callable[[Statement], Statement]] = []
    for i in range(1, 2 + numbers[1] % 4):
        kind, number, which = list(Kind)[numbers[i] % 4], numbers[i + 1] % 6, numbers[i + 2] % 5
        var = te.Var(INDEX, f"v{i}")
        extent: te.Expr = const(number, INDEX) if which or not variables else variables[-1] + 1
        if not isinstance(extent, te.Const) and kind in (Kind.VECTOR, Kind.UNROLLED):
            kind = Kind.SERIAL
        opened.append(lambda body, v=var, e=extent, k=kind: For(v, e, body, k))
        variables.append(var)
        place = place * (1 + numbers[i + 3] % 3) + var
        bound = numbers[i + 4] % 12
        conditions = {
            1: place < bound,
            2: (place <= bound) & (var < 3),
            3: var * 2 - variables[0] < bound,
            4: (place >= 2) & (place < N),
        }
        if which in conditions:
            opened.append(lambda body, c=conditions[which]: If(c, body))
        elif numbers[i + 5] % 2:
            name = te.Var(INDEX, "t")
            value, place = place, name
            opened.append(lambda body, n=name, v=value: Let(n, v, body))
    at = te.minimum(te.maximum(place, 0), 63)
    body: Statement = Store(out, (at,), out[at] * 3 + te.cast(place, "int32") + 1)
    other = Store(out, (const(63, INDEX),), out[63] + 1)
    for wrap in reversed(opened):
        body = wrap(body)
        if isinstance(body, If) and numbers[2] % 3 == 0:
            body = If(body.condition, body.then, other)
    return body


@given(nests(), st.integers(0, 20))
def test_loops_made_small_do_the_same(loop: Statement, size: int) -> None:
    # iterations of these loops depend on their order: in all of them it is the natural one
    def results(statement: Statement) -> np.ndarray:
        (out,) = {part.buffer for part in stores(statement)} or {OUT}
        found = np.zeros(64, np.int32)
        run(in_order(statement), {out: found}, {N: size})
        return found

    np.testing.assert_array_equal(results(tidy(loop)), results(loop))


def stores(statement: Statement) -> list[Store]:
    return [part for part in tree.postorder(statement) if isinstance(part, Store)]


def in_order(statement: Statement) -> Statement:
    def step(before: Statement, after: Statement) -> Statement:
        return For(after.var, after.extent, after.body) if isinstance(after, For) else after

    return tree.transform(statement, step)


def test_windows_read_those_of_the_last_element_there() -> None:
    wide = te.Buffer("x", (SIZE * 2 + 1,), "int32")
    local = te.Buffer("t", (const(4, INDEX),), "int32", MemoryScope.REGISTER)
    o, r, k = (te.Var(INDEX, name) for name in "ork")
    step = Store(local, (r,), wide[(o * 4 + r) * 2 + k])
    inner = For(r, const(4, INDEX), guarded(o * 4 + r < SIZE, step))
    windows = For(k, const(3, INDEX), inner)
    text = repr(tidy(For(o, (SIZE + 3) // 4, Allocate(local, windows))))
    main, tail = text.split("for o in (((n + 3) // 4) - o.main):")
    assert "t[r] = x[(((o * 8) + (r * 2)) + k)]" in main
    assert "if" not in tail
    assert "t[r] = x[((min((((o.main * 4) + (o * 4)) + r), (n - 1)) * 2) + k)]" in tail


def test_what_lies_where_the_guard_says_nothing_of_stays_guarded() -> None:
    other = te.Buffer("x", (SIZE,), "int32")
    local = te.Buffer("t", (const(4, INDEX),), "int32", MemoryScope.REGISTER)
    o, r = te.Var(INDEX, "o"), te.Var(INDEX, "r")
    place = o * 4 + r
    step = Store(local, (r,), other[place + place // 2])
    inner = For(r, const(4, INDEX), guarded(place < SIZE, step))
    tail = repr(tidy(For(o, (SIZE + 3) // 4, Allocate(local, inner)))).split("- o.main):")[1]
    assert "if" in tail


def test_what_neighbors_ask_for_is_asked_once() -> None:
    i = te.Var(INDEX, "i")
    asks = [If(i < SIZE, Store(OUT, (const(n, INDEX),), X[n])) for n in range(3)]
    other = If(i < 3, Store(OUT, (const(3, INDEX),), X[3]))
    assert repr(tidy(block([*asks[:2], other, asks[2]]))) == (
        "if (i < n):\n"
        "  out[0] = x[0]\n"
        "  out[1] = x[1]\n"
        "if (i < 3):\n"
        "  out[3] = x[3]\n"
        "if (i < n):\n"
        "  out[2] = x[2]"
    )


def test_what_may_have_changed_in_between_is_asked_again() -> None:
    asks = [If(OUT[0] > 0, Store(OUT, (const(n, INDEX),), X[n])) for n in range(2)]
    assert repr(tidy(block(asks))).count("if") == 2
