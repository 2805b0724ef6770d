"""No size and no number given to an operator ends the process or reads what is not its own.

`tests.op.hostile_run` tries every operator, in processes with little memory. A process that ends is
started again behind the case that ended it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.operator_uses import computed_names

NAMES = computed_names()
PART = 500  # one case in so many, every day the same


def problems(names: list[str], part: int, seed: str = "0") -> list[str]:
    """What went wrong, with the case it went wrong in."""
    found: list[str] = []
    after: str | None = None
    while True:
        start = [] if after is None else ["--after", after]
        command = [sys.executable, "-m", "tests.op.hostile_run", seed, str(part), *start, *names]
        case, ended = follow(command, found)
        if ended is None:
            return found
        found.append(f"{case}: the process {ended}")
        if case is None:
            return found
        after = case


def follow(command: list[str], found: list[str]) -> tuple[str | None, str | None]:
    """Run it to its end: the last case it began, and how it ended, if not well."""
    case = None
    # the interpreter is the oracle, which clamps indices: nothing reports them
    env = {name: value for name, value in os.environ.items() if name != "RELAY_CHECKED"}
    env["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's buffers for more threads do not fit into the limit
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=env) as process:
        assert process.stdout is not None and process.stderr is not None
        for line in process.stdout:
            said = json.loads(line)
            case = said.get("case", case)
            if "problem" in said:
                found.append(f"{case}: {said['problem']}")
        errors = process.stderr.read()
    code = process.returncode
    return case, None if code == 0 else f"ended with {code}: {errors[-500:]}"


def test_some_hostile_sizes_and_numbers_are_computed_or_refused() -> None:
    assert not problems(NAMES[::10], PART)


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_hostile_sizes_and_numbers_are_computed_or_refused(name: str) -> None:
    assert not problems([name], 1)
