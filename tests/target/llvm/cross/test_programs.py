"""The programs of `tests/programs` under emulators: exported, and called by programs in C that are
the same on every machine. This machine, where other tests compare them with plain Python, says what
is right."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import relay
from relay.errors import RelayError
from relay.target.llvm.c.program_library import ProgramLibrary
from relay.target.target import Target
from relay.testing import char_rnn
from tests.programs.arguments import PROGRAMS, WITHOUT_MAIN, arguments, load
from tests.support.c_programs import program
from tests.support.emulators import MACHINES, needs

CALLABLE = sorted(PROGRAMS.keys() - WITHOUT_MAIN)
FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wno-unused"]


def library(exe):
    constants = {name: tensor.array for name, tensor in exe.constants.items()}
    return ProgramLibrary(exe.program, exe.code.target, constants, "net", 1)


def same_text(found, expected):
    """The same words; floats as close as ten roundings."""
    one, other = found.split(), expected.split()
    assert len(one) == len(other), (found, expected)
    for left, right in zip(one, other, strict=True):
        if re.fullmatch(r"-?\d\.\d+e[+-]\d+", right):
            np.testing.assert_allclose(float(left), float(right), rtol=2e-5, atol=1e-6)
        else:
            assert left == right, (found, expected)


def check(name, module, params, calls, folder):
    """Here and there, the same program prints the same."""
    machine, here = needs(name), relay.compile(module, params)
    if here.code.program is None:
        pytest.skip("straight-line code")
    try:
        text = program("net", library(here).types, calls)
    except RelayError as error:
        pytest.skip(str(error))  # functions go in or come out
    (folder / "main.c").write_text(text)
    here.export(folder / "net.o")
    command = ["cc", *FLAGS, "-o", "here", "main.c", "net.o", "-pthread", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    expected = subprocess.run(["./here"], cwd=folder, capture_output=True, text=True, check=True)
    relay.compile(module, params, target=machine.target).export(folder / "net.o")
    command = [f"{machine.prefix}gcc", *FLAGS, "-o", "there", "main.c", "net.o", "-pthread", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    found = machine.run([folder / "there"])
    assert found.returncode == 0, found.stderr
    same_text(found.stdout, expected.stdout)


here_is_linux = pytest.mark.skipif(
    shutil.which("cc") is None or Target.host().system != "linux", reason="there is no C compiler"
)


@here_is_linux
@pytest.mark.rotate(60)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", CALLABLE)
def test_some_programs_give_what_they_give_here(name, machine, tmp_path):
    module = load(name)
    check(machine, module, None, arguments(name, module), tmp_path)


@here_is_linux
@pytest.mark.rotate(len(MACHINES))
@pytest.mark.parametrize("machine", MACHINES)
def test_a_generator_of_characters(machine, tmp_path):
    module, params = char_rnn.get_workload()
    noise = np.random.default_rng(4).gumbel(size=(20, char_rnn.SYMBOLS)).astype("float32")
    calls = [
        [relay.interpreter.values.to_value(one) for one in (np.int32(first), np.int32(3), noise)]
        for first in (26, 30)
    ]
    check(machine, module, params, calls, tmp_path)
