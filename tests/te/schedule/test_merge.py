"""Fewer stages: computed where they are read, or two in the same loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relay import te
from relay.errors import RelayError
from relay.te.loops import MemoryScope
from relay.te.schedule import Schedule, create, inline, join
from tests.te.running import assert_computes, text

X = te.placeholder((9,), "int32", "x")
ARRAY = np.arange(9, dtype=np.int32)
T = te.compute((9,), lambda i: X[i] + 1, "t")
Y = te.compute((9,), lambda i: T[i] * T[8 - i], "y")


def test_inline_computes_where_it_is_read() -> None:
    s = inline(create([Y]), "t")
    assert text(s) == "for i in 9:\n  y[i] = ((x[i] + 1:int32) * (x[(8 - i)] + 1:int32))"
    assert_computes(s, {X: ARRAY})


def test_an_output_that_is_inlined_is_still_computed() -> None:
    s = inline(create([T, Y]), "t")
    assert [stage.name for stage in s.stages] == ["t", "y"]
    assert not s.readers("t")
    assert_computes(s, {X: ARRAY})


def test_a_reader_of_several_results_gets_each() -> None:
    both = te.compute_many((9,), lambda i: (X[i] + 1, X[i] * 2), "both")
    s = create([te.compute((9,), lambda i: both[0][i] - both[1][i], "y")])
    assert_computes(inline(s, "both"), {X: ARRAY})


def test_chains_grow_with_what_is_written_and_not_with_what_it_means() -> None:
    tensor = X
    for _ in range(40):
        tensor = te.compute((9,), lambda i, t=tensor: t[i] + t[i], "t")
    s = create([tensor])
    for stage in s.stages[:-1]:
        s = inline(s, stage.name)
    assert len(text(s)) < 10_000
    assert_computes(s, {X: ARRAY})


def test_join_computes_two_stages_in_the_same_loops() -> None:
    u, v = te.compute((9,), lambda i: X[i] + 1, "u"), te.compute((9,), lambda i: X[i] * 2, "v")
    s = join(create([u, v]), "u", "v")
    assert text(s) == "for i in 9:\n  u[i] = (x[i] + 1:int32)\n  v[i] = (x[i] * 2:int32)"
    assert_computes(s, {X: ARRAY})
    assert_computes(join(create([u, v]), "v", "u"), {X: ARRAY})


def test_join_waits_for_what_the_later_stage_reads() -> None:
    u = te.compute((9,), lambda i: X[i] + 1, "u")
    v = te.compute((9,), lambda i: T[i] * 2, "v")
    for names in (("u", "v"), ("v", "u")):
        s = join(create([u, v]), *names)
        assert [stage.name for stage in s.stages] == ["t", names[0]]
        assert_computes(s, {X: ARRAY})


def test_an_output_joined_to_what_is_none_is_an_output() -> None:
    hidden = te.compute((9,), lambda i: X[i] - 3, "hidden")
    out = te.compute((9,), lambda i: X[i] * 2, "out")
    last = te.compute((9,), lambda i: hidden[i] + 1, "last")
    s = join(create([out, last]), "hidden", "out")
    assert s["hidden"].scope is MemoryScope.GLOBAL
    assert_computes(s, {X: ARRAY})


def a_sum() -> Schedule:
    k = te.axis(9)
    total = te.compute((9,), lambda i: te.sum(X[k] + X[i], k), "total")
    return create([te.compute((9,), lambda i: total[i] + X[i], "y")])


def a_procedure() -> Schedule:
    def write(b: te.Builder, out: te.Buffer) -> None:
        with b.loop(9) as i:
            b.store(out, i, T[i])

    return create(list(te.procedure([T], [((9,), "int32")], write, "copy")))


def shapes() -> Schedule:
    return create([Y, te.compute((3,), lambda i: X[i], "z")])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: inline(a_sum(), "total"), "is a reduction and cannot be computed where"),
        (lambda: inline(a_procedure(), "t"), "procedure `copy` reads memory"),
        (lambda: inline(a_procedure(), "copy"), "its loops stand as written"),
        (lambda: join(a_sum(), "total", "y"), "reductions are not joined"),
        (lambda: join(shapes(), "y", "z"), "different shapes"),
        (lambda: join(create([Y]), "t", "y"), "`y` reads `t`, which is computed before"),
        (lambda: join(create([Y]), "y", "t"), "`y` reads `t`, which is computed before"),
        (lambda: join(create([Y]), "y", "y"), "named twice"),
    ],
)
def test_what_cannot_be_is_refused(wrong: Callable[[], Schedule], message: str) -> None:
    with pytest.raises(RelayError, match=message.replace("`", ".")):
        wrong()
