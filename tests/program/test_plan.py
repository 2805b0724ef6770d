"""Where registers lie: nothing alive is overwritten, and memory is shared where it can be."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.errors import RelayError
from relay.program.plan import (
    ALIGNMENT,
    Arena,
    InConstant,
    Input,
    Output,
    Storage,
    assign,
    in_order_of_birth,
    in_order_of_size,
    plan,
)
from relay.program.text import parse

KERNELS = """\
relay program 1
kernel @conv(float32[64]) -> (float32[64]) workspace=100 worker_workspace=10
kernel @relu(float32[64]) -> (float32[64]) in_place=((0, 0),)
kernel @add(float32[64], float32[64]) -> (float32[64]) in_place=((0, 0), (0, 1))
kernel @outer(float32[64], float32[64]) -> (float32[64]) in_place=((0, 0),)
kernel @split(float32[64]) -> (float32[64], float32[64]) in_place=((0, 0), (1, 0))
constant "c": float32[64]
"""


def planned(body, inputs=1, threads=1):
    """The plan of a function whose lines are `body`; outputs of kernels are allocated for it."""
    lines, known = [], inputs
    for line in body.strip().splitlines():
        for _ in range(line.partition("->")[2].count("%")):
            lines.append(f"%{known}: float32[64] = alloc")
            known += 1
        if line.strip().startswith("%"):
            known += 1
        lines.append(line)
    params = ", ".join(f'"x{i}" = %{i}: float32[64]' for i in range(inputs))
    program = parse(KERNELS + f"function @main({params}) {{\n" + "\n".join(lines) + "\n}")
    return plan(program["main"], program.kernel_table, threads)


def test_inputs_constants_and_results_lie_where_they_are():
    found = planned('%1: float32[64] = constant "c"\ninvoke @add(%0, %1) -> (%2)\nreturn %2')
    assert found.places == {0: Input(0), 1: InConstant("c"), 2: Output(0)}
    assert found.arena == 0


def test_a_last_use_is_overwritten():
    found = planned(
        """
        invoke @conv(%0) -> (%1)
        invoke @relu(%1) -> (%2)
        invoke @conv(%2) -> (%3)
        return %3
        """
    )
    assert found.places[1] == found.places[2] == Arena(0)
    assert found.in_place == 1


def test_a_chain_that_ends_in_a_result_is_computed_there():
    found = planned("invoke @conv(%0) -> (%1)\ninvoke @relu(%1) -> (%2)\nreturn %2")
    assert found.places[1] == found.places[2] == Output(0)


def test_the_caller_and_constants_are_never_written():
    found = planned(
        """
        %1: float32[64] = constant "c"
        invoke @relu(%0) -> (%2)
        invoke @relu(%1) -> (%3)
        invoke @add(%2, %3) -> (%4)
        invoke @conv(%4) -> (%5)
        return %5
        """
    )
    assert isinstance(found.places[2], Arena)
    assert isinstance(found.places[3], Arena)
    assert found.in_place == 1


def test_what_is_read_later_is_not_overwritten():
    found = planned(
        """
        invoke @conv(%0) -> (%1)
        invoke @relu(%1) -> (%2)
        invoke @add(%1, %2) -> (%3)
        invoke @conv(%3) -> (%4)
        return %4
        """
    )
    assert found.places[1] != found.places[2]
    assert found.places[3] == found.places[1]


def test_a_result_is_not_overwritten():
    found = planned("invoke @conv(%0) -> (%1)\ninvoke @relu(%1) -> (%2)\nreturn (%1, %2)")
    assert found.places[1] == Output(0)
    assert found.places[2] == Output(1)


def test_an_input_read_twice_is_overwritten_only_where_both_readings_allow_it():
    both = (
        "invoke @conv(%0) -> (%1)\ninvoke @{}(%1, %1) -> (%2)\ninvoke @conv(%2) -> (%3)\nreturn %3"
    )
    assert planned(both.format("add")).in_place == 1
    assert planned(both.format("outer")).in_place == 0


def test_one_input_is_overwritten_by_one_output():
    found = planned(
        """
        invoke @conv(%0) -> (%1)
        invoke @split(%1) -> (%2, %3)
        invoke @add(%2, %3) -> (%4)
        invoke @conv(%4) -> (%5)
        return %5
        """
    )
    assert found.places[2] == found.places[1]
    assert found.places[3] != found.places[2]


def test_a_view_keeps_its_source_alive():
    found = planned(
        """
        invoke @conv(%0) -> (%1)
        %2: float32[64] = view %1
        invoke @relu(%1) -> (%3)
        invoke @add(%2, %3) -> (%4)
        invoke @conv(%4) -> (%5)
        return %5
        """
    )
    assert found.places[2] == found.places[1]
    assert found.places[3] != found.places[1]


def test_a_workspace_lives_during_its_call_and_grows_with_the_threads():
    body = "invoke @conv(%0) -> (%1)\ninvoke @conv(%1) -> (%2)\nreturn %2"
    assert planned(body).arena == 256 + 128
    assert planned(body, threads=10).arena == 256 + 256
    assert set(planned(body).workspaces) == {1, 3}
    assert all(offset % ALIGNMENT == 0 for offset in planned(body).workspaces.values())


def test_what_is_not_memory_of_its_own_cannot_be_returned():
    with pytest.raises(RelayError, match="not memory of its own"):
        planned("return %0")


storages = st.lists(
    st.builds(
        lambda size, first, length: Storage(size, first, first + length),
        st.integers(0, 1000),
        st.integers(0, 30),
        st.integers(0, 10),
    ),
    max_size=40,
)


@pytest.mark.parametrize("assign", [assign, in_order_of_birth, in_order_of_size])
@given(given=storages)
def test_storages_alive_together_do_not_overlap(assign, given):
    offsets, size = assign(given)
    for i, (a, at) in enumerate(zip(given, offsets, strict=True)):
        assert at % ALIGNMENT == 0
        assert at + a.size <= size
        for b, there in zip(given[:i], offsets, strict=False):
            if a.first <= b.last and b.first <= a.last and a.size and b.size:
                assert at + a.size <= there or there + b.size <= at


def test_the_better_way_is_taken():
    chain = [Storage(100, 0, 2), Storage(1000, 1, 1), Storage(1500, 2, 3), Storage(60, 3, 4)]
    for case in (chain, [Storage(64 * (i % 7), i, i + i % 5) for i in range(60)]):
        best = min(in_order_of_birth(case)[1], in_order_of_size(case)[1])
        assert assign(case)[1] == best


def test_a_long_program_is_laid_out_in_no_time():
    chance = random.Random(0)
    many = [Storage(chance.randrange(10_000), i, i + chance.randrange(8)) for i in range(30_000)]
    _, size = assign(many)
    assert size < 200_000
    crowd = [Storage(100, i, 20_000 + i) for i in range(20_000)]
    assert in_order_of_size(crowd) is None
    assert assign(crowd)[1] == 128 * 20_000
