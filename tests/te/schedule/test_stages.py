"""Schedules as they are at first, and how their parts are found."""

from __future__ import annotations

import pytest

from relay import te
from relay.errors import RelayError
from relay.te.schedule import create
from tests.te.running import text

X = te.placeholder((4, 8), "float32", "x")
K = te.axis(8)
TOTAL = te.compute((4,), lambda i: te.sum(X[i, K], K), "total")
Y = te.compute((4, 8), lambda i, j: X[i, j] / TOTAL[i], "y")


def test_every_computation_is_a_stage_after_those_it_reads() -> None:
    s = create([Y])
    assert [stage.name for stage in s.stages] == ["total", "y"]
    assert [tensor.name for tensor in s.inputs] == ["x"]
    assert [loop.name for loop in s["total"].loops] == ["i", "k"]
    assert [loop.reduces for loop in s["total"].loops] == [False, True]
    assert [stage.name for stage in s.readers("total")] == ["y"]
    assert s.is_output(s["y"]) and not s.is_output(s["total"])


def test_stages_of_one_name_get_numbers() -> None:
    again = te.compute((4,), lambda i: TOTAL[i] + 1.0, "total")
    assert [stage.name for stage in create([again]).stages] == ["total", "total1"]


def test_axes_of_one_name_get_numbers() -> None:
    i = te.axis(8, "i")
    s = create([te.compute((4,), lambda j: te.sum(X[j, i], i), "y")])
    assert [loop.name for loop in s["y"].loops] == ["i", "i1"]


def test_a_reduction_makes_all_its_values_though_one_is_wanted() -> None:
    best = te.compute_many((4,), lambda i: te.argmax(X[i, K], K, K), "best")
    s = create([best[1]])
    assert [tensor.dtype for tensor in s["best"].tensors] == ["float32", "int64"]
    assert text(s).startswith("workspace best: float32[4]\nfor i in 4:\n  best[i] = -inf:float32\n")


def test_results_of_one_computation_are_one_stage() -> None:
    pair = te.compute_many((4,), lambda i: (X[i, 0], X[i, 1]), "pair")
    s = create([pair[1], pair[0]])
    assert len(s.stages) == 1
    assert len(s["pair"].tensors) == 2


def test_inputs_keep_their_order_and_none_is_forgotten() -> None:
    other = te.placeholder((2,), "float32", "other")
    assert create([Y], [other, X]).inputs == (other, X)
    with pytest.raises(RelayError, match=r"`x` is read and is none of the inputs"):
        create([Y], [other])


def test_names_that_are_not_there_are_refused_with_those_that_are() -> None:
    s = create([Y])
    with pytest.raises(RelayError, match=r"no stage `totl`; .*`total`"):
        s["totl"]
    with pytest.raises(RelayError, match=r"stage `total` has no loop `j`; it has i, k"):
        s["total"].loop("j")


def test_long_chains_need_no_stack() -> None:
    tensor = X
    for _ in range(1000):
        tensor = te.compute((4, 8), lambda i, j, t=tensor: t[i, j] + 1.0, "t")
    assert len(create([tensor]).stages) == 1000
