"""Values that decide shapes may be anything: every engine does what the interpreter does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.target.llvm.executable.hostile_values import names

ROOT = Path(__file__).parent.parent.parent


def run(mode, wanted):
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    # the interpreter is the oracle, which clamps indices: nothing reports them
    settings = {name: value for name, value in os.environ.items() if name != "RELAY_CHECKED"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.target.llvm.executable.hostile_values", mode, *wanted],
        env={**settings, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


def test_operators_take_any_value_that_decides_a_shape():
    assert {"arange", "dyn.tile", "dyn.broadcast_to", "dyn.nn.pad"} <= set(names())
    run("first", names())


@pytest.mark.full
@pytest.mark.parametrize("name", names())
def test_operators_take_any_value_in_any_place(name):
    run("all", [name])
