"""What schedules ask of a stage."""

from __future__ import annotations

import pytest

from relay import te
from relay.te.schedule import Schedule, Stage, create, facts

M, N = 6, 40
X = te.placeholder((M, N), "float32", "x")
B = te.placeholder((N,), "float32", "b")
K = te.axis(N, "k")


def stage_of(y: te.Tensor) -> Stage:
    return create([y])[y.name]


SUM = te.compute((M,), lambda i: te.sum(X[i, K] * B[K], K), "total")
PLUS = te.compute((M, N), lambda i, j: X[i, j] + B[j], "plus")


def test_points_are_elements_times_what_is_reduced() -> None:
    assert facts.points(stage_of(SUM)) == M * N
    assert facts.elements(stage_of(SUM)) == M
    assert facts.points(stage_of(PLUS)) == facts.elements(stage_of(PLUS)) == M * N


def test_sizes_known_at_run_time_are_taken_for_large() -> None:
    n = te.Var("int64", "n")
    x = te.placeholder((n, 3), "float32", "x")
    assert facts.points(stage_of(te.compute((n, 3), lambda i, j: x[i, j] + 1, "y"))) == 3 * 1024


def test_arithmetic_is_what_people_count() -> None:
    assert facts.arithmetic(stage_of(SUM)) == 2  # a product and a sum
    assert facts.arithmetic(stage_of(PLUS)) == 1
    y = te.compute((M,), lambda i: te.select(X[i, 0] < 0.0, te.call("exp", X[i, 0]), 0.0), "y")
    assert facts.arithmetic(stage_of(y)) == 1


def test_functions_and_divisions_are_worth_keeping() -> None:
    def of(body) -> bool:
        return facts.is_expensive(stage_of(te.compute((M, N), body, "y")))

    assert of(lambda i, j: te.call("exp", X[i, j]))
    assert of(lambda i, j: X[i, j] / B[j])
    assert not of(lambda i, j: X[i, j] / 2.0)
    assert not of(lambda i, j: X[i, j] * 2 + B[j])
    assert not of(lambda i, j: X[(i * N + j) // N, (i * N + j) % N])  # positions cost nothing


def test_shared_parts_are_counted_once() -> None:
    one = X[0, 0]
    square = one * one
    y = te.compute((M,), lambda i: square + square * square, "y")
    assert facts.cost(stage_of(y)) == 4


@pytest.mark.parametrize(
    ("dtype", "lanes"), [("float32", 16), ("float64", 8), ("int8", 64), ("bfloat16", 16)]
)
def test_lanes_are_those_of_the_widest_type(dtype: str, lanes: int) -> None:
    x = te.placeholder((M,), dtype, "x")
    y = te.compute((M,), lambda i: x[i] + x[i], "y")
    assert facts.lanes(stage_of(y), 512) == lanes
    assert facts.lanes(stage_of(y), 128) == lanes // 4


def test_positions_in_a_result_of_truth_do_not_count() -> None:
    y = te.compute((M, N), lambda i, j: X[i, j] < te.cast(i + j, "float32"), "y")
    assert facts.lanes(stage_of(y), 512) == 16


def test_results_are_measured_as_they_are_computed() -> None:
    assert facts.result_bytes(stage_of(PLUS)) == M * N * 4


def test_results_of_sizes_known_at_run_time_may_be_small() -> None:
    # or a batch of one would be stored past the caches
    n = te.Var("int64", "n")
    x = te.placeholder((n, 3), "float32", "x")
    y = te.compute((n, 3), lambda i, j: x[i, j] + 1, "y")
    assert facts.result_bytes(stage_of(y)) == 3 * 4


def collapsed(y: te.Tensor) -> list[tuple[str, int]]:
    s: Schedule = facts.collapse(create([y]), y.name)
    return [(loop.name, loop.count) for loop in s[y.name].loops]


def test_axes_collapse_where_memory_goes_on() -> None:
    x = te.placeholder((2, 3, 4), "float32", "x")
    b = te.placeholder((3,), "float32", "b")
    rows = te.placeholder((2, 3, 1), "float32", "rows")
    same = te.compute(x.shape, lambda i, j, k: x[i, j, k] + 1, "same")
    channels = te.compute(x.shape, lambda i, j, k: x[i, j, k] + b[j], "channels")
    by_rows = te.compute(x.shape, lambda i, j, k: x[i, j, k] + rows[i, j, 0], "by_rows")
    assert collapsed(same) == [("i.j.k", 24)]
    assert collapsed(channels) == [("i", 2), ("j", 3), ("k", 4)]
    assert collapsed(by_rows) == [("i.j", 6), ("k", 4)]


def test_axes_that_are_computed_with_stay() -> None:
    y = te.compute((M, N), lambda i, j: te.select(i < 3, X[i, j], 0.0), "y")
    assert collapsed(y) == [("i", M), ("j", N)]
    assert {var.name for var in facts.bare_variables(stage_of(y))} == {"i"}


def test_axes_an_index_is_read_at_stay() -> None:
    places = te.placeholder((M, N), "int64", "places")
    y = te.compute((M, N), lambda i, j: B[places[i, j]], "y")
    assert {var.name for var in facts.bare_variables(stage_of(y))} == {"i", "j"}


def test_transposed_axes_stay() -> None:
    y = te.compute((N, M), lambda i, j: X[j, i], "y")
    assert collapsed(y) == [("i", N), ("j", M)]
