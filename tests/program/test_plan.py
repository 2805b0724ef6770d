"""Where registers lie: nothing alive is overwritten, and memory is shared where it can be."""

import pytest

from relay.errors import RelayError
from relay.program.plan import ALIGNMENT, Arena, InConstant, Input, Output, plan
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
