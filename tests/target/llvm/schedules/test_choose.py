"""Which stages are computed where; and whatever is chosen, the same numbers come out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay import dtypes, te
from relay.lower.lower import Options
from relay.target.llvm import function
from relay.target.llvm.schedules import choose as choosing
from relay.target.llvm.schedules import contraction, elementwise, rows
from relay.target.llvm.schedules.choose import choose
from relay.target.target import Target
from relay.te.evaluate import evaluate
from relay.te.execute import run
from relay.te.lower import lower
from relay.te.tidy import tidy
from tests.support.kernels import Batch, Memory
from tests.target.llvm.kernels import LEVELS, scheduled
from tests.target.llvm.schedules.graphs import Graph, graphs
from tests.target.llvm.schedules.outline import outlines, text, unindented

# --- what is computed where it is read


def test_what_is_cheap_is_computed_where_it_is_read() -> None:
    (main,) = text("(%x: Tensor[(64), float32]) { nn.relu(add(%x, multiply(%x, %x))) }")
    assert main == "for 4\n  vector 16: compute2"


def test_what_is_dear_and_read_often_is_kept() -> None:
    x = te.placeholder((64,), "float32", "x")
    costly = te.compute((64,), lambda i: te.call("exp", x[i]), "costly")
    (once,) = outlines([te.compute((64,), lambda i: costly[i] + 1, "y")], [x])
    assert "costly" not in once
    (often,) = outlines([te.compute((64, 64), lambda i, j: costly[i] + costly[j], "y")], [x])
    assert often == unindented("""
        workspace costly[64]
        for 4
          vector 16: costly
        for 64
          for 4
            vector 16: y
    """)


GELU = """(%x: Tensor[(128, 256), float32], %w: Tensor[(512, 256), float32],
           %b: Tensor[(512), float32]) {{ {} }}"""


@pytest.mark.parametrize(
    "body",
    [
        "%0 = add(nn.dense(%x, %w), %b); "
        "multiply(multiply(%0, 0.5f), add(1f, erf(divide(%0, 1.4142135f))))",
        "%0 = nn.bias_add(nn.dense(%x, %w), %b); "
        "multiply(%0, add(0.5f, multiply(erf(multiply(%0, 0.70710677f)), 0.5f)))",
        "%0 = add(nn.dense(%x, %w), %b); %1 = multiply(%0, multiply(%0, %0)); "
        "%2 = tanh(multiply(0.7978846f, add(%0, multiply(0.044715f, %1)))); "
        "multiply(multiply(0.5f, %0), add(1f, %2))",
        # an expensive value that is read twice
        "%0 = tanh(add(nn.dense(%x, %w), %b)); multiply(%0, subtract(1f, %0))",
        "%0 = sigmoid(nn.dense(%x, %w)); multiply(tanh(%0), exp(%0))",
    ],
)
def test_behind_a_product_all_paths_of_a_diamond_are_computed_in_registers(body: str) -> None:
    _, main = text(GELU.format(body), 1)
    lines = main.splitlines()
    assert lines[:3] == ["for 8", "  for 32", "    register dense[4, 64]"]
    # the tile, once; then what is made of it
    assert [line for line in lines if line.startswith("    ") and "for" in line] == ["    for 64"]
    assert lines[-1].startswith("    vector 16: compute")
    assert "workspace" not in main


@pytest.mark.parametrize(
    "body",
    [
        "add(nn.dense(%x, %w), floor(divide(1f, take(%b, 3))))",
        "multiply(nn.dense(%x, %w), tanh(%b))",
        "%0 = exp(%b); nn.relu(add(multiply(nn.dense(%x, %w), %0), rsqrt(%0)))",
    ],
)
def test_what_is_dear_and_meets_a_product_is_computed_before_its_tiles(body: str) -> None:
    _, main = text(GELU.format(body), 1)
    assert "workspace" in main
    tiles = main[main.index("for 8\n  for 32\n    register dense[4, 64]") :].splitlines()
    assert tiles[-1].startswith("    vector 16: compute")


def test_a_padded_image_is_kept_and_a_transposed_one_is_not() -> None:
    x, w = te.placeholder((16, 30), "float32", "x"), te.placeholder((32, 16), "float32", "w")
    turned = te.compute((30, 16), lambda i, j: x[j, i], "turned")
    k = te.axis(16, "k")
    y = te.compute((30, 32), lambda i, j: te.sum(turned[i, k] * w[j, k], k), "y")
    assert "turned" not in outlines([y], [x, w])[0]
    padded = te.compute((16, 32), lambda i, j: te.select(j < 30, x[i, j], 0.0), "padded")
    y = te.compute((32, 32), lambda i, j: te.sum(padded[k, i] * w[j, k], k), "y")
    assert "workspace padded[16, 32]" in outlines([y], [x, w])[0]


def test_what_an_output_is_computed_from_may_be_an_output_as_well() -> None:
    x = te.placeholder((64,), "float32", "x")
    first = te.compute((64,), lambda i: x[i] + 1, "first")
    second = te.compute((64,), lambda i: first[i] * 2, "second")
    assert outlines([first, second], [x]) == ["for 4\n  vector 16: first, second"]


# --- outputs together


def test_outputs_of_one_shape_share_their_loops() -> None:
    (main,) = text("(%x: Tensor[(4, 16), float32]) { (nn.relu(%x), negative(%x), abs(%x)) }")
    assert main == "for 4\n  vector 16: compute, compute1, compute2"


def test_outputs_of_other_shapes_have_their_own() -> None:
    (main,) = text("(%x: Tensor[(4, 16), float32]) { (nn.relu(%x), transpose(%x)) }")
    assert main == "for 4\n  vector 16: compute\nfor 4\n  vector 16: compute1"


def test_an_output_that_waits_for_another_is_not_joined_with_it() -> None:
    x = te.placeholder((64,), "float32", "x")
    k = te.axis(64, "k")
    total = te.compute((), lambda: te.sum(x[k], k), "total")
    plus = te.compute((64,), lambda i: x[i] + 1, "plus")
    less = te.compute((64,), lambda i: x[i] - total[()], "less")
    (main,) = outlines([plus, less], [x])
    assert main.endswith("for 4\n  vector 16: plus, less")
    table = te.placeholder((64, 64), "float32", "table")
    over = te.axis(64, "over")
    sums = te.compute((64,), lambda i: te.sum(table[i, over], over), "sums")
    turned = te.compute((64,), lambda i: sums[63 - i], "turned")
    (main,) = outlines([sums, turned], [table])
    assert main.endswith("  sums\nfor 4\n  vector 16: turned")


def test_reductions_of_one_row_are_made_in_one_pass() -> None:
    (main,) = text("(%x: Tensor[(64, 256), float32]) { (mean(%x, axis=[1]), max(%x, axis=[1])) }")
    assert [line for line in main.splitlines() if not line.startswith(" ")] == ["for 64"]


# --- procedures


def test_a_procedure_keeps_its_loops_and_what_it_reads_is_computed_before() -> None:
    (main,) = text("(%x: Tensor[(4, 96), float32]) { negative(cumsum(nn.relu(%x), axis=1)) }")
    assert main == unindented("""
        workspace compute[4, 96]
        for 24
          vector 16: compute
        workspace scan[4, 96]
        for 4
          stack total[]
          total
          for 96
            scan
            total
        for 24
          vector 16: compute1
    """)


@pytest.mark.parametrize(("rows", "first"), [(4, "for 4"), (128, "parallel 128")])
def test_a_procedure_uses_threads_where_there_is_enough_to_do(rows: int, first: str) -> None:
    (main,) = text(f"(%x: Tensor[({rows}, 96), float32]) {{ cumsum(%x, axis=1) }}", threads=True)
    assert main.splitlines()[0] == first


# --- numbers


@contextmanager
def small_limits(small: bool) -> Iterator[None]:
    """Threads, workspaces and stores past the caches for tensors of any size."""
    with ExitStack() as stack:
        if small:
            for user in (contraction, elementwise, function, rows):
                stack.enter_context(patch.object(user, "PARALLEL_WORK", 200))
            stack.enter_context(patch.object(choosing, "PARALLEL_ELEMENTS", 20))
            stack.enter_context(patch.object(function, "_STACK_BYTES", 512))
            stack.enter_context(patch.object(elementwise, "_STREAMED", 2000))
        yield


def expected(graph: Graph) -> list[np.ndarray]:
    return evaluate(graph.outputs, dict(zip(graph.inputs, graph.arrays, strict=True)))


def assert_native(graph: Graph, target: Target, options: Options | None = None) -> None:
    """The kernels give the same bits as the definition, for any number of threads."""
    batch = Batch([scheduled(graph.outputs, graph.inputs, target, graph.constant, options)], target)
    wanted = expected(graph)
    memories = (Memory(), Memory("before", aligned=False), Memory(in_place=True))
    for threads, memory in enumerate(memories, 1):
        outcome = batch.run(0, graph.arrays, threads=threads, memory=memory)
        assert outcome.status == 0, outcome.problem
        for found, right in zip(outcome.results, wanted, strict=True):
            np.testing.assert_array_equal(found, right)


def assert_loops(graph: Graph, target: Target) -> None:
    """The loops, run one scalar after the other: every index is in range."""
    constants = [x for x, known in zip(graph.inputs, graph.constant, strict=True) if known]
    chosen = choose(graph.outputs, graph.inputs, target, constants)
    arrays = dict(zip(map(id, graph.inputs), graph.arrays, strict=True))
    for schedule in (*chosen.prepare, chosen.main):
        loops = lower(schedule)
        made = [np.zeros(t.extents, dtypes.to_numpy(t.dtype)) for t in schedule.outputs]
        given = [arrays[id(tensor)] for tensor in schedule.inputs]
        run(tidy(loops.body), dict(zip((*loops.inputs, *loops.outputs), given + made, strict=True)))
        arrays.update(zip(map(id, schedule.outputs), made, strict=True))
    for tensor, right in zip(graph.outputs, expected(graph), strict=True):
        np.testing.assert_array_equal(arrays[id(tensor)], right)


levels = st.sampled_from(LEVELS)


@given(graphs(), levels, st.booleans())
def test_kernels_give_the_same_bits_for_any_number_of_threads(
    graph: Graph, target: Target, small: bool
) -> None:
    with small_limits(small):
        assert_native(graph, target)


@settings(max_examples=15)
@given(graphs(), levels, st.booleans())
def test_checked_kernels_find_nothing_out_of_range(
    graph: Graph, target: Target, small: bool
) -> None:
    with small_limits(small):
        assert_native(graph, target, Options(checked=True))


@settings(max_examples=25)
@given(graphs(), levels, st.booleans())
def test_loops_stay_in_range_one_scalar_after_the_other(
    graph: Graph, target: Target, small: bool
) -> None:
    with small_limits(small):
        assert_loops(graph, target)


def test_what_windows_are_made_of_is_not_hidden_in_the_loops_of_another_reader() -> None:
    x, w = te.placeholder((4, 9), "float32", "x"), te.placeholder((4, 2), "float32", "w")
    down = te.axis(4, "k")
    top = te.compute((9,), lambda j: te.max(x[down, j], down), "top")
    rest = te.compute((9,), lambda j: te.sum(x[down, j] - top[j], down), "rest")
    apart = te.compute((4, 9), lambda i, j: te.maximum(x[i, j] - top[j], rest[j]), "apart")
    window = te.axis(2, "r")
    y = te.compute((4, 8), lambda i, j: te.sum(apart[i, j + window] * w[i, window], window))
    chance = np.random.default_rng(0)
    arrays = tuple(chance.integers(-9, 9, one.extents).astype("float32") for one in (x, w))
    for target in LEVELS:
        assert_native(Graph((x, w), (y,), arrays, (False, False)), target)


@pytest.mark.full
@settings(max_examples=2000)
@given(graphs(9), levels, st.booleans())
def test_long_chains_give_the_same_bits(graph: Graph, target: Target, small: bool) -> None:
    with small_limits(small):
        assert_native(graph, target)
