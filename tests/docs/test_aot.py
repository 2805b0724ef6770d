"""The example of the page on whole programs for C runs, and says what Python says."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import relay
from relay.frontend.python.standard import Rose
from relay.testing import tree_lstm

PAGE = (Path(__file__).parents[2] / "docs" / "aot.md").read_text()


def block(language):
    """The first example in a language."""
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[1]


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_the_program_in_c_prints_what_python_computes(tmp_path):
    assert "tree_lstm.get_workload(input_size=3, hidden_size=2)" in block("python")
    exe = relay.compile(*tree_lstm.get_workload(input_size=3, hidden_size=2))
    header = exe.export(tmp_path / "tree.o").read_text()
    (tmp_path / "main.c").write_text(block("c"))
    command = re.search(r"^    (cc .*)$", PAGE, re.MULTILINE)[1].split()
    subprocess.run([*command, "-Wall", "-Werror"], cwd=tmp_path, check=True)
    done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=True)

    below = [Rose(np.array([row], "float32"), []) for row in ([1, 2, 3], [4, 5, 6])]
    state, _ = exe(Rose(np.array([[7, 8, 9]], "float32"), below))
    assert done.stdout.split() == [f"{number:.6f}" for number in state.flat]

    of_other_programs = {"tree_lstm", "tree_List_2", "tree_ref", "tree_ref_new"}
    named = set(re.findall(r"\btree_\w+", PAGE)) - of_other_programs
    assert named <= set(re.findall(r"\btree_\w+", header))
