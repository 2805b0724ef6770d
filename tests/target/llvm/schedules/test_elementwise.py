"""Every element by itself: which axes are one loop, how wide vectors are, what threads take."""

from __future__ import annotations

import numpy as np
import pytest

from relay import te
from relay.lower.lower import lower_static
from relay.target.llvm.schedules.elementwise import elementwise
from relay.target.target import Target
from relay.te.schedule import create
from tests.support.kernels import Batch, Memory
from tests.target.llvm.kernels import LEVEL_NAMES, LEVELS
from tests.target.llvm.schedules.outline import AVX512, function, outlines, text, unindented


def test_axes_that_walk_memory_as_one_are_one_loop() -> None:
    (main,) = text("(%x: Tensor[(4, 8, 10), float32]) { nn.relu(%x) }")
    assert main == unindented("""
        for 20
          vector 16: compute
    """)


def test_what_is_repeated_along_an_axis_keeps_it_apart() -> None:
    (main,) = text(
        """(%x: Tensor[(8, 64, 28, 28), float32], %b: Tensor[(64, 1, 1), float32]) {
          nn.relu(add(%x, %b))
        }"""
    )
    assert main == unindented("""
        for 8
          for 64
            for 49
              vector 16: compute1
    """)


def test_the_rest_of_a_row_is_a_vector_of_which_some_lanes_are_wanted() -> None:
    (main,) = text("(%x: Tensor[(64, 100), float32], %b: Tensor[(100), float32]) { add(%x, %b) }")
    assert main == unindented("""
        for 64
          for 6
            vector 16: compute
          vector 16, some lanes: compute
    """)


def test_an_axis_too_short_for_a_vector_takes_the_next_one_in() -> None:
    (main,) = text("(%x: Tensor[(5, 40, 3), float32]) { transpose(%x, axes=[1, 0, 2]) }")
    assert main == unindented("""
        for 40
          vector 16, some lanes: compute
    """)  # of 5 times 3 elements


@pytest.mark.parametrize(
    ("dtype", "lanes"),
    [("float32", 16), ("float64", 8), ("int8", 64), ("float16", 16), ("int64", 8), ("bool", 64)],
)
def test_vectors_are_as_wide_as_what_is_computed_in_them(dtype: str, lanes: int) -> None:
    x = te.placeholder((1024,), dtype, "x")
    body = (lambda i: ~x[i]) if dtype == "bool" else (lambda i: x[i] + x[i])
    (main,) = outlines([te.compute((1024,), body, "y")], [x])
    assert main == f"for {1024 // lanes}\n  vector {lanes}: y"


def test_tensors_smaller_than_a_vector_are_one_vector() -> None:
    for size, expected in ((1, "y"), (3, "vector 4, some lanes: y"), (8, "vector 8: y")):
        x = te.placeholder((size,), "float32", "x")
        (main,) = outlines([te.compute((size,), lambda i, x=x: x[i] + 1, "y")], [x])
        assert main == expected


def test_a_scalar_needs_no_loop() -> None:
    assert text("(%x: Tensor[(), float32]) { nn.relu(%x) }") == ["compute"]


# --- threads


def first_line(source: str) -> str:
    return text(source, threads=True)[0].splitlines()[0]


def test_little_work_is_not_worth_threads() -> None:
    assert first_line("(%x: Tensor[(64, 64), float32]) { nn.relu(%x) }") == "for 256"


def test_threads_take_whole_rows_where_there_are_enough() -> None:
    (main,) = text(
        "(%x: Tensor[(8, 64, 28, 28), float32], %b: Tensor[(64, 1, 1), float32]) { add(%x, %b) }",
        threads=True,
    )
    assert main == unindented("""
        parallel 512
          for 49
            vector 16: compute
    """)


def test_threads_take_chunks_of_a_long_row() -> None:
    (main,) = text("(%x: Tensor[(1048576), float32]) { nn.relu(%x) }", threads=True)
    assert main == unindented("""
        parallel 1024
          for 64
            vector 16: compute
    """)


def test_chunks_leave_no_rest_where_a_smaller_size_does() -> None:
    source = "(%x: Tensor[(3, 640000), float32], %b: Tensor[(3, 1), float32]) { add(%x, %b) }"
    (main,) = text(source, threads=True)
    assert main == unindented("""
        parallel 1875
          for 64
            vector 16: compute
    """)


def test_expensive_functions_are_worth_threads_sooner() -> None:
    assert first_line("(%x: Tensor[(64, 128), float32]) { tanh(%x) }").startswith("parallel")
    assert first_line("(%x: Tensor[(64, 128), float32]) { nn.relu(%x) }").startswith("for")


# --- bytes


def turned(shape: str, axes: str) -> str:
    return f"(%x: Tensor[{shape}, uint8]) {{ transpose(%x, axes={axes}) }}"


def test_bytes_that_are_far_apart_are_read_in_words() -> None:
    (main,) = text(turned("(1, 64, 28, 28)", "[0, 2, 3, 1]"))
    assert main == unindented("""
        for 196
          for 4
            vector 64: compute
    """)
    # four rows of the result come of the same words
    (main,) = text(turned("(1, 50, 28, 28)", "[0, 2, 3, 1]"))
    assert "vector 16: compute  x4" in main
    (main,) = text(turned("(1, 64, 7, 7)", "[0, 2, 3, 1]"))  # 49 places are no words
    assert main == "for 49\n  vector 64: compute"


@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_transposed_bytes_are_where_they_should_be(target: Target) -> None:
    random = np.random.default_rng(0)
    shapes = [((40, 36), (1, 0)), ((3, 8, 20), (1, 2, 0)), ((64, 12), (1, 0)), ((0, 8), (1, 0))]
    made = [
        lower_static(function(turned(str(a), str(list(b)))), [False], target) for a, b in shapes
    ]
    batch = Batch(made, target)
    for i, (shape, axes) in enumerate(shapes):
        x = random.integers(0, 256, shape).astype(np.uint8)
        for fence in ("after", "before"):
            (found,) = batch.run(i, [x], threads=2, memory=Memory(fence=fence)).results
            np.testing.assert_array_equal(found, x.transpose(axes))


# --- past the caches


@pytest.mark.parametrize(("rows", "streams"), [(8192, True), (64, False)])
def test_results_larger_than_caches_go_past_them(rows: int, streams: bool) -> None:
    x = te.placeholder((rows, 1024), "float32", "x")
    y = te.compute(x.shape, lambda i, j: x[i, j] + 1, "y")
    assert elementwise(create([y]), "y", AVX512)["y"].streaming == streams


def test_other_targets_have_other_vectors() -> None:
    x = te.placeholder((1024,), "float32", "x")
    y = te.compute(x.shape, lambda i: x[i] + 1, "y")
    assert outlines([y], [x], target=Target.x86("avx2")) == ["for 128\n  vector 8: y"]
    assert outlines([y], [x], target=Target.aarch64()) == ["for 256\n  vector 4: y"]
