"""From schedules to loops: buffers, guards, reductions, and what is not there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from relay import te
from relay.errors import RelayError
from relay.te.expr import INDEX
from relay.te.loops import Allocate, MemoryScope
from relay.te.lower import lower
from relay.te.schedule import (
    cache_write,
    compute_at,
    create,
    reorder,
    set_scope,
    split,
    tile,
    unroll,
    vectorize,
)
from tests.te.running import assert_computes, text, tidy_text

X = te.placeholder((4, 10), "int32", "x")
ARRAY = np.arange(40, dtype=np.int32).reshape(4, 10)


def test_buffers_are_those_of_inputs_and_outputs_in_order() -> None:
    w = te.placeholder((10,), "int32", "w")
    y = te.compute((4,), lambda i: X[i, 0], "y")
    z = te.compute((4,), lambda i: w[i], "z")
    loops = lower(create([z, y], [w, X]))
    assert [buffer.name for buffer in loops.inputs] == ["w", "x"]
    assert [buffer.name for buffer in loops.outputs] == ["z", "y"]
    assert {buffer.scope for buffer in (*loops.inputs, *loops.outputs)} == {MemoryScope.GLOBAL}


def test_names_of_buffers_are_different() -> None:
    x = te.placeholder((4,), "int32", "x")
    loops = lower(create([te.compute((4,), lambda i: x[i] + X[i, 0], "x")]))
    assert [buffer.name for buffer in (*loops.inputs, *loops.outputs)] == ["x", "x1", "x2"]


def test_memory_of_a_stage_is_there_for_it_and_what_follows() -> None:
    t = te.compute((4,), lambda i: X[i, 0], "t")
    body = lower(create([te.compute((4,), lambda i: t[i], "y")])).body
    assert isinstance(body, Allocate)
    assert body.buffer.name == "t"


def test_all_values_of_a_reduction_change_at_once() -> None:
    k = te.axis(10)
    best = te.compute_many((4,), lambda i: te.argmax(X[i, k], k, k), "best")
    found = text(create(list(best)))
    update = found[found.index("    best.new0") :]
    assert [line.split(" =")[0].strip() for line in update.splitlines()] == [
        *("best.new0", "best.new1", "best[i]", "best1[i]"),
    ]


def test_a_reduction_over_nothing_is_where_it_begins() -> None:
    x = te.placeholder((3, 0), "float32", "x")
    k = te.axis(0)
    s = create([te.compute((3,), lambda i: te.max(x[i, k], k), "y")])
    assert tidy_text(s) == "for i in 3:\n  y[i] = -inf:float32"
    assert_computes(s, {x: np.zeros((3, 0), np.float32)})


def test_nothing_is_computed_of_an_empty_tensor() -> None:
    x = te.placeholder((0, 3), "float32", "x")
    s = create([te.compute((0, 3), lambda i, j: x[i, j], "y")])
    assert tidy_text(s) == ""
    assert_computes(s, {x: np.zeros((0, 3), np.float32)})


def test_the_tile_of_a_product_begins_and_ends_in_registers() -> None:
    k = te.axis(6)
    a, b = te.placeholder((4, 6), "float32", "a"), te.placeholder((6, 8), "float32", "b")
    c = te.compute((4, 8), lambda i, j: te.sum(a[i, k] * b[k, j], k), "c")
    s = cache_write(create([c]), "c", "acc")
    s = vectorize(tile(s, "c", ("i", 2), ("j", 4)), "c", "j.i")
    s = set_scope(compute_at(s, "acc", "c", "j.o"), "acc", MemoryScope.REGISTER)
    s = vectorize(reorder(s, "acc", "k", "i", "j"), "acc", "j")
    assert tidy_text(s) == (
        "for i.o in 2:\n"
        "  for j.o in 2:\n"
        "    register acc: float32[2, 4]\n"
        "    for i in 2:\n"
        "      vector for j in 4:\n"
        "        acc[i, j] = 0.0:float32\n"
        "    for k in 6:\n"
        "      for i in 2:\n"
        "        vector for j in 4:\n"
        "          acc[i, j] = (acc[i, j] + (a[((i.o * 2) + i), k] * b[k, ((j.o * 4) + j)]))\n"
        "    for i.i in 2:\n"
        "      vector for j.i in 4:\n"
        "        c[((i.o * 2) + i.i), ((j.o * 4) + j.i)] = acc[i.i, j.i]"
    )
    arrays = {a: np.ones((4, 6), np.float32), b: np.arange(48, dtype=np.float32).reshape(6, 8)}
    assert_computes(s, arrays)


def test_the_guard_of_a_reduction_stands_outside_that_of_its_results() -> None:
    k = te.axis(10)
    s = create([te.compute((4,), lambda i: te.sum(X[i, k], k), "y")])
    s = split(split(s, "y", "i", 3), "y", "k", 4)
    found = text(reorder(s, "y", "k.o", "k.i", "i.o", "i.i")).splitlines()
    guards = [line.strip() for line in found if "if" in line]
    assert guards[1:] == ["if (((k.o * 4) + k.i) < 10):", "if (((i.o * 3) + i.i) < 4):"]


@pytest.mark.parametrize("factor", [2, 3, 7, 16])
@pytest.mark.parametrize("size", [0, 1, 3, 8])
def test_sizes_known_at_run_time(factor: int, size: int) -> None:
    n = te.Var(INDEX, "n")
    x = te.placeholder((n, 5), "int32", "x")
    k, l = te.axis(n), te.axis(5)  # noqa: E741
    columns = te.compute((5,), lambda j: te.sum(x[k, j], k), "columns")
    rows = te.compute((n,), lambda i: te.sum(x[i, l] * columns[l], l), "rows")
    s = split(split(create([rows]), "rows", "i", factor), "rows", "k", 2)
    s = unroll(split(s, "columns", "k", factor), "columns", "k.i")
    s = vectorize(reorder(s, "rows", "i.o", "k.o", "k.i", "i.i"), "rows", "i.i")
    assert_computes(s, {x: np.arange(5 * size, dtype="int32").reshape(size, 5)}, n=size)


def test_what_is_read_must_be_there() -> None:
    y = te.compute((4,), lambda i: X[i, 0], "y")
    s = replace(create([y]), inputs=())
    with pytest.raises(RelayError, match=r"`x` is neither an input nor computed"):
        lower(s)
