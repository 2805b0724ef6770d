"""Which state is written over itself, and when."""

from relay.program import program as isa
from relay.program.text import parse
from relay.program.updates import updates, updates_last

KERNELS = """\
relay program 1
kernel @update(float32[4], float32[4]) -> (float32[4]) in_place=((0, 0), (0, 1))
kernel @mix(float32[4], float32[4]) -> (float32[4])%s
"""


def made(body, state=("w",), checks=""):
    """A function of an input %0 and the state, whose kernel calls and results are `body`."""
    lines, known = [], 1 + len(state)
    for line in body.strip().splitlines():
        if "->" in line:
            lines.append(f"%{known}: float32[4] = alloc")
            known += 1
        lines.append(line)
    params = ", ".join(f'"{n}" = %{i}: float32[4]' for i, n in enumerate(("x", *state)))
    names = ", ".join(f'"{name}"' for name in state)
    code = "\n".join(lines)
    text = KERNELS % checks + f"function @main({params}) state ({names}) {{\n{code}\n}}"
    program = parse(text)
    return updates_last(program["main"]), program.kernel_table


def calls(function):
    return [one.kernel for one in function.straight_line if isinstance(one, isa.InvokeKernel)]


def test_an_update_runs_behind_the_last_reader_of_the_old_value():
    function, kernels = made(
        """
        invoke @update(%1, %0) -> (%2)
        invoke @mix(%0, %1) -> (%3)
        invoke @mix(%0, %3) -> (%4)
        return (%4, %2)
        """
    )
    assert calls(function) == ["mix", "update", "mix"]
    assert updates(function, kernels) == {2}


def test_what_others_need_is_not_late_and_keeps_memory_of_its_own():
    function, kernels = made(
        """
        invoke @update(%1, %0) -> (%2)
        invoke @mix(%2, %1) -> (%3)
        return (%3, %2)
        """
    )
    assert calls(function) == ["update", "mix"]
    assert updates(function, kernels) == set()


def test_a_kernel_that_reads_other_elements_does_not_write_over_them():
    function, kernels = made(
        "invoke @mix(%1, %0) -> (%2)\ninvoke @mix(%0, %0) -> (%3)\nreturn (%3, %2)"
    )
    assert updates(function, kernels) == set()


def test_state_that_changes_places_keeps_memory_of_its_own():
    function, kernels = made(
        """
        invoke @update(%1, %0) -> (%3)
        invoke @update(%2, %0) -> (%4)
        invoke @mix(%0, %0) -> (%5)
        return (%5, %4, %3)
        """,
        ("w", "v"),
    )
    assert updates(function, kernels) == set()


def test_calls_that_may_fail_keep_the_old_values():
    body = "invoke @update(%1, %0) -> (%2)\ninvoke @mix(%0, %0) -> (%3)\nreturn (%3, %2)"
    assert updates(*made(body)) == {2}
    assert updates(*made(body, checks=' checks=("an index",)')) == set()


def test_a_function_without_state_stays_as_it_is():
    body = "%1: float32[4] = alloc\ninvoke @update(%0, %0) -> (%1)\nreturn %1"
    program = parse(KERNELS % "" + 'function @main("x" = %0: float32[4]) {\n' + body + "\n}")
    assert updates_last(program["main"]) is program["main"]
