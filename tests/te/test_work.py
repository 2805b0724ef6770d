"""How much a statement does, over sizes that only a run knows."""

from __future__ import annotations

from collections.abc import Callable

from relay import te
from relay.te.expr import INDEX, call
from relay.te.loops import If
from relay.te.work import without_idle_loops, work

N = te.Extent(INDEX, "n")
X = te.Buffer("x", (N,), "float32")
Y = te.Buffer("y", (N,), "float32")
M = te.Extent(INDEX, "m")
Z = te.Buffer("z", (M, N), "float32")


def written(write: Callable[[te.Builder], None]) -> te.Expr:
    b = te.Builder()
    write(b)
    return work(b.finish(), {})


def test_loops_multiply_and_steps_add() -> None:
    def write(b: te.Builder) -> None:
        with b.loop(N) as i:
            with b.loop(4, "j"):
                b.store(Y, i, X[i])
            b.store(Y, i, X[i] + 1.0)

    assert written(write) == N * 11


def test_functions_of_mathematics_cost_more() -> None:
    def write(b: te.Builder) -> None:
        b.store(Y, 0, call("exp", X[0]))

    assert written(write) == te.index(14)


def test_both_sides_of_a_condition_count() -> None:
    def write(b: te.Builder) -> None:
        with b.if_(X[0] > 0.0):
            b.store(Y, 0, 1.0)
        with b.else_():
            b.store(Y, 0, X[0])

    assert written(write) == te.index(3)


def test_what_depends_on_values_is_taken_for_one_turn() -> None:
    length = te.Buffer("length", (te.index(1),), "int64")

    def write(b: te.Builder) -> None:
        with b.loop(length[0]) as i:
            b.store(Y, i, 0.0)
        with b.while_(X[0] > 0.0):
            b.store(Y, 0, 0.0)

    assert written(write) == te.index(2)


def test_a_loop_over_an_empty_one_is_left_out() -> None:
    b = te.Builder()
    with b.loop(M) as i, b.loop(N, "j") as j:
        b.store(Z, (i, j), X[j])
    guarded = without_idle_loops(b.finish())
    assert isinstance(guarded, If)
    assert guarded.condition == (N > 0)


def test_a_loop_that_does_something_is_not_left_out() -> None:
    b = te.Builder()
    with b.loop(M) as i:
        b.store(Z, (i, 0), X[i])
        with b.loop(N, "j") as j:
            b.store(Z, (i, j), X[j])
    loop = b.finish()
    assert str(without_idle_loops(loop)) == str(loop)


def test_a_reduction_over_an_empty_axis_is_left_out() -> None:
    b = te.Builder()
    with b.loop(4) as i:
        b.store(Y, i, 0.0)
        with b.loop(M, "m"), b.loop(N, "n") as n:
            b.store(Y, i, Y[i] + X[n])
    assert "if (0 < n):\n    for m in m:" in str(without_idle_loops(b.finish()))
