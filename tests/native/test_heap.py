"""The memory of objects: what is free is used again, limits hold, and all of it can go at once."""

import resource

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relay.native import heap, layout
from relay.native.call import ProgramContext, program_runtime
from relay.target.llvm import abi
from tests.native.object_programs import call


@pytest.fixture
def context():
    made = ProgramContext(1)
    yield made
    assert made.live == 0


@pytest.mark.parametrize("size", [4096, 4097, 5120, 5121, 1 << 20, (1 << 20) + 1, 1 << 40])
def test_the_class_of_a_block_is_the_smallest_that_it_fits(size):
    number = heap.block_class(size)
    row, quarter = divmod(number, 4)
    capacity = (quarter + 5) << (row + 9)
    before = (quarter + 4) << (row + 9)
    assert before < max(size, heap.SMALL) <= capacity
    assert number < layout.BLOCK_CLASSES


def test_what_is_freed_is_used_again(context):
    assert call(context, "pairs", 1000) == (0, [0])
    taken = context.heap_bytes
    assert call(context, "pairs", 100_000) == (0, [0])
    assert context.heap_bytes == taken < 100_000


@pytest.mark.parametrize("bytes", [0, 1, 64, 1000, 3968, 3969, 5000, 100_000, 1 << 22])
def test_tensors_of_any_size_come_and_go(context, bytes):
    assert call(context, "tensors", 100, bytes)[0] == 0
    assert context.live == context.leaked == 0
    assert context.heap_bytes <= heap.SLAB + 1024 + 2 * bytes


def test_very_large_blocks_go_back_at_once(context):
    assert call(context, "tensors", 3, heap.UNCACHED)[0] == 0
    assert context.heap_bytes < heap.UNCACHED


@pytest.mark.parametrize("name", ["lost", "lost_tensors"])
def test_what_a_failed_call_held_is_found(context, name):
    assert call(context, name, 1000, 5000)[0] == layout.FAILED
    assert context.live == 0
    taken = context.heap_bytes
    for _ in range(20):
        assert call(context, name, 1000, 5000)[0] == layout.FAILED
    assert context.heap_bytes == taken


def test_a_call_that_leaks_is_seen_and_leaves_nothing(context):
    assert call(context, "leak", 10)[0] == 0
    assert (context.leaked, context.live) == (10, 0)
    assert call(context, "pairs", 10)[0] == 0
    assert context.leaked == 0


@pytest.mark.parametrize("name", ["list", "lost", "lost_tensors"])
def test_past_the_limit_there_is_no_memory(name):
    context = ProgramContext(1, memory=1 << 20)
    assert call(context, name, 100_000, 5000)[0] == abi.OUT_OF_MEMORY
    assert context.heap_bytes <= 1 << 20
    assert context.live == 0
    assert call(context, "pairs", 100)[0] == 0  # and then there is some again


def test_free_blocks_make_room_before_there_is_no_memory():
    context = ProgramContext(1, memory=4 << 20)
    for bytes in (3 << 20, 2 << 20, 1 << 20, 3 << 20):
        assert call(context, "tensors", 2, bytes)[0] == 0


def test_sizes_that_cannot_be_are_out_of_memory(context):
    for bytes in (1 << 41, -1, -(1 << 62)):
        assert call(context, "tensors", 1, bytes)[0] == abi.OUT_OF_MEMORY


def test_much_memory_is_given_back_after_a_call(context):
    assert call(context, "list", 2_000_000)[0] == 0
    assert context.heap_bytes <= heap.KEPT


def test_closing_gives_everything_back_and_the_context_works_on(context):
    assert call(context, "lost_tensors", 100, 5000)[0] == layout.FAILED
    context.close()
    assert context.heap_bytes == 0
    assert call(context, "list", 100)[0] == 0


def test_ten_million_allocations_take_no_memory(context):
    call(context, "pairs", 10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert call(context, "pairs", 10_000_000)[0] == 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1000


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["pairs", "list", "lost", "leak", "tensors", "lost_tensors", "cells"]),
            st.integers(1, 300),
            st.sampled_from([0, 8, 500, 4000, 4100, 20_000, 300_000]),
        ),
        max_size=20,
    )
)
def test_any_order_of_calls_ends_clean(calls):
    context = ProgramContext(1)
    for name, count, bytes in calls:
        failing = name.startswith("lost")
        assert call(context, name, count, bytes)[0] == (layout.FAILED if failing else 0)
        assert context.live == 0
        assert context.leaked == (count if name == "leak" else 0)
    context.close()
    assert context.heap_bytes == 0


def test_functions_of_programs_are_those_the_runtime_has():
    assert all(program_runtime().symbols.values())
