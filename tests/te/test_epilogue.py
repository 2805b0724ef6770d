"""What is computed of registers is rolled where that is much, and only there."""

from __future__ import annotations

import numpy as np

from relay import te
from relay.te.epilogue import over_copies
from relay.te.evaluate import run
from relay.te.expr import INDEX, Expr, const
from relay.te.loops import Allocate, For, If, Kind, MemoryScope, Statement, Store, block
from relay.te.tidy import tidy

X = te.Buffer("x", (const(4, INDEX), const(8, INDEX)), "float32")
Y = te.Buffer("y", (const(4, INDEX), const(8, INDEX)), "float32")
R, L = te.Var(INDEX, "r"), te.Var(INDEX, "l")


def much(value: Expr) -> Expr:
    for number in range(15):
        value = value * value + float(number)
    return value * 0.0 + value


def tile(finish: Statement, held: te.Buffer) -> Statement:
    """Registers filled, and something made of them."""
    fill = Store(held, (R, L), X[R, L] * 0.01)
    return Allocate(held, block([nest(fill), nest(finish)]))


def nest(body: Statement) -> Statement:
    return For(R, const(4, INDEX), For(L, const(8, INDEX), body, Kind.VECTOR), Kind.UNROLLED)


def registers(scope: MemoryScope = MemoryScope.REGISTER) -> te.Buffer:
    return te.Buffer("acc", X.shape, "float32", scope)


def computed(held: te.Buffer, value: Expr) -> Statement:
    return tile(Store(Y, (R, L), value), held)


def test_many_steps_are_written_once_over_a_copy() -> None:
    held = registers()
    text = repr(over_copies(computed(held, much(held[R, L]))))
    lines = [line.strip() for line in text.split("\n")]
    copied = lines.index("acc.out[r, l] = acc[r, l]")
    assert "stack acc.out: float32[4, 8]" in lines[:copied]
    assert lines[copied - 2 : copied] == ["unrolled for r in 4:", "vector for l in 8:"]
    assert lines[copied + 1 : copied + 3] == ["for r in 4:", "vector for l in 8:"]
    assert "acc[" not in lines[copied + 3]


def test_the_last_of_several_loops_stays_written_out() -> None:
    held = registers()
    half = te.Var(INDEX, "h")
    place = R * 2 + half, L
    inside = For(L, const(8, INDEX), Store(Y, place, much(held[place])), Kind.VECTOR)
    inner = For(half, const(2, INDEX), inside, Kind.UNROLLED)
    text = repr(over_copies(Allocate(held, For(R, const(2, INDEX), inner, Kind.UNROLLED))))
    assert text.count("unrolled for h in 2:") == 2 and text.count("unrolled for r in 2:") == 1


def test_few_steps_stay_in_registers() -> None:
    held = registers()
    whole = computed(held, held[R, L] * 2.0 + 1.0)
    assert repr(over_copies(whole)) == repr(whole)


def test_memory_needs_no_copy() -> None:
    held = registers(MemoryScope.STACK)
    whole = computed(held, much(held[R, L]))
    assert repr(over_copies(whole)) == repr(whole)


def test_registers_read_in_two_places_stay() -> None:
    held = registers()
    whole = computed(held, much(held[R, L] + held[(const(3, INDEX) - R, L)]))
    assert repr(over_copies(whole)) == repr(whole)


def test_registers_that_a_guard_keeps_in_range_stay() -> None:
    held = te.Buffer("acc", (const(3, INDEX), const(8, INDEX)), "float32", MemoryScope.REGISTER)
    inside = If(R < 3, Store(Y, (R, L), much(held[R, L])))
    whole = Allocate(held, nest(inside))
    assert repr(over_copies(whole)) == repr(whole)


def test_the_same_comes_out() -> None:
    held = registers()
    guarded = If(R * 8 + L < 29, Store(Y, (R, L), much(held[R, L])), guard=True)
    whole = tile(guarded, held)
    given = np.linspace(-1, 1, 32, dtype="float32").reshape(4, 8)
    results = []
    for statement in (whole, tidy(over_copies(whole))):
        results.append(np.zeros_like(given))
        run(statement, {X: given, Y: results[-1]})
    np.testing.assert_array_equal(*results)
