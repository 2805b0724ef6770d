"""Loops written top to bottom with a builder."""

from __future__ import annotations

import numpy as np
import pytest

from relay import te
from relay.errors import RelayError
from relay.te.evaluate import run
from relay.te.expr import INDEX, const, substitute
from relay.te.loops import (
    Allocate,
    Block,
    For,
    Kind,
    Let,
    MemoryScope,
    Prefetch,
    Store,
    block,
    map_expressions,
    serial,
)

X = te.placeholder((6,), "int32", "x")
OUT = te.Buffer("out", (const(6, INDEX),), "int32")
ARRAY = np.array([3, 1, 2, 5, 4, 0], np.int32)


def result(b: te.Builder) -> np.ndarray:
    found = np.full(6, 77, np.int32)
    run(b.finish(), {X: ARRAY, OUT: found})
    return found


def test_running_sums() -> None:
    b = te.Builder()
    total = b.variable("int32", 0, "total")
    with b.loop(6) as i:
        b.store(total, (), total[()] + X[i])
        b.store(OUT, i, total[()])
    np.testing.assert_array_equal(result(b), np.cumsum(ARRAY))


def test_the_text_of_what_was_written() -> None:
    b = te.Builder()
    with b.loop(6, "i", Kind.PARALLEL) as i:
        row = b.local("int32", (2,), "row")
        twice = b.let(X[i] * 2, "twice")
        b.store(row, 0, twice)
        with b.if_(twice > 4):
            b.store(OUT, i, row[0])
        with b.else_():
            b.store(OUT, i, 0)
    assert repr(b.finish()) == (
        "parallel for i in 6:\n"
        "  workspace row: int32[2]\n"
        "  twice = (x[i] * 2:int32)\n"
        "  row[0] = twice\n"
        "  if (twice > 4:int32):\n"
        "    out[i] = row[0]\n"
        "  else:\n"
        "    out[i] = 0:int32"
    )


def test_names_and_memory_last_until_the_end_of_their_block() -> None:
    b = te.Builder()
    with b.loop(3) as i:
        b.let(X[i], "t")
        b.store(OUT, i, 1)
    b.store(OUT, 5, 2)
    written = b.finish()
    assert isinstance(written, Block)
    assert isinstance(written.steps[0], For)
    assert isinstance(written.steps[0].body, Let)
    assert isinstance(written.steps[1], Store)


def test_while_runs_as_long_as_its_condition_holds() -> None:
    b = te.Builder()
    i = b.variable("int64", 0, "i")
    with b.while_(X[i[()]] > 0):
        b.store(OUT, i[()], X[i[()]] * 2)
        b.store(i, (), i[()] + 1)
    assert list(result(b)) == [6, 2, 4, 10, 8, 77]


def test_both_sides_of_a_condition() -> None:
    b = te.Builder()
    with b.loop(6) as i:
        with b.if_(X[i] > 2):
            b.store(OUT, i, 1)
        with b.else_():
            b.store(OUT, i, -1)
    assert list(result(b)) == [1, -1, -1, 1, 1, -1]


def test_a_local_scalar_is_on_the_stack_and_an_array_in_the_workspace() -> None:
    b = te.Builder()
    assert b.local("int32").scope is MemoryScope.STACK
    assert b.local("int32", (4,)).scope is MemoryScope.WORKSPACE
    b.store(OUT, 0, 1)
    outer = b.finish()
    assert isinstance(outer, Allocate)
    assert isinstance(outer.body, Allocate)


def test_numbers_take_the_type_of_the_buffer() -> None:
    b = te.Builder()
    b.store(OUT, 0, 2**32 + 5)
    written = b.finish()
    assert isinstance(written, Store)
    assert written.value == te.const(5, "int32")


def test_mistakes_are_found_while_writing() -> None:
    b = te.Builder()
    with pytest.raises(RelayError, match="`out` has 1 axes, found 2 indices"):
        b.store(OUT, (0, 0), 1)
    with pytest.raises(RelayError, match="different types"):
        b.store(OUT, 0, te.const(1, "int64"))
    with pytest.raises(RelayError, match="`else_` comes right after an `if_`"), b.else_():
        pass
    with pytest.raises(RelayError, match="still open"), b.loop(3):
        b.finish()


def test_else_belongs_to_one_if() -> None:
    b = te.Builder()
    with b.if_(X[0] > 0):
        b.store(OUT, 0, 1)
    with b.else_():
        b.store(OUT, 0, 2)
    with pytest.raises(RelayError, match="`else_` comes right after"), b.else_():
        pass


def test_blocks_are_flat() -> None:
    one, two = Store(OUT, (const(0, INDEX),), te.const(1, "int32")), Block(())
    assert block([one]) is one
    flat = block([block([one, one]), two, one])
    assert isinstance(flat, Block)
    assert flat.steps == (one, one, one)


def test_every_expression_of_a_statement_is_changed() -> None:
    b = te.Builder()
    n = te.Var(INDEX, "n")
    with b.loop(n) as i:
        t = b.let(X[i] + te.cast(n, "int32"))
        with b.if_(i < n):
            b.store(OUT, i + n, t)
        with b.while_(i > n):
            b.store(OUT, n, t)
    b._add(Prefetch(OUT, (n,)))
    other = te.Buffer("other", OUT.shape, "int32")
    changed = map_expressions(
        b.finish(), lambda e: substitute(e, {n: const(3, INDEX)}), {id(OUT): other}
    )
    assert " n" not in repr(changed)
    assert "out" not in repr(changed)
    assert "prefetch other[3]" in repr(changed)


def test_serial_takes_threads_away() -> None:
    b = te.Builder()
    with b.loop(6, kind=Kind.PARALLEL) as i, b.loop(1, kind=Kind.VECTOR) as j:
        b.store(OUT, i + j, 1)
    text = repr(serial(b.finish()))
    assert text.startswith("for i in 6:\n  vector for i1 in 1:")
