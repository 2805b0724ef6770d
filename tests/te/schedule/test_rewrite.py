"""Stages that are computed, or read, in another way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relay import te
from relay.errors import RelayError
from relay.te.expr import Reduce
from relay.te.reduction import SUM
from relay.te.schedule import Schedule, create, put_before, read_as, recompute
from tests.te.running import assert_computes, text


def sums() -> tuple[te.Tensor, Schedule]:
    x = te.placeholder((3, 8), "int32", "x")
    k = te.axis(8)
    t = te.compute((3,), lambda i: te.sum(x[i, k], k), "t")
    return x, create([te.compute((3,), lambda i: t[i] * 2, "y")])


def test_a_tensor_gets_a_stage_before_who_is_going_to_read_it() -> None:
    x, s = sums()
    s = put_before(s, "y", te.compute((3,), lambda i: x[i, 0], "first"))
    assert [stage.name for stage in s.stages] == ["t", "first", "y"]


def test_readers_find_something_else() -> None:
    x, s = sums()
    first = te.compute((3,), lambda i: x[i, 0] * 5, "first")
    s = put_before(read_as(s, "t", lambda read: read - first[read.indices]), "y", first)
    assert text(s).endswith("for i in 3:\n  y[i] = ((t[i] - first[i]) * 2:int32)")


def test_a_stage_is_computed_from_something_else() -> None:
    """The same sum, by fours."""
    x, s = sums()
    (row,) = s["t"].computation.axes
    count, step = te.axis(2), te.axis(4)
    whole = x[row, count * 4 + step]
    s = recompute(s, "t", Reduce("int32", SUM, (count, step), (whole,)))
    assert [loop.extent for loop in s["t"].loops] == [te.index(n) for n in (3, 2, 4)]
    assert_computes(s, {x: np.arange(24, dtype=np.int32).reshape(3, 8)})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x, s: put_before(s, "y", te.compute((1,), lambda i: i, "t")), "already a stage .t"),
        (lambda x, s: put_before(s, "y", x), "`x` is not computed element by element"),
        (lambda x, s: recompute(s, "t", te.const(0, "int8")), "is of int32, its new body of int8"),
        (lambda x, s: read_as(s, "y", lambda read: read), "`y` is an output"),
    ],
)
def test_what_cannot_be_is_refused(
    wrong: Callable[[te.Tensor, Schedule], Schedule], message: str
) -> None:
    with pytest.raises(RelayError, match=message):
        wrong(*sums())
