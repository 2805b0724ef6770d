"""The programs on the pages about compiled programs run."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import relay

DOCS = Path(__file__).parents[2] / "docs"


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def run(name, **names):
    """Run the Python on a page, with names it takes for granted."""
    names["relay"] = relay
    for program in re.findall(r"```python\n(.*?)```", page(name), re.DOTALL):
        exec(compile(program, name, "exec"), names)
    return names


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_a_compiled_model_is_called_saved_and_exported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run("compile.md", x=np.ones((1, 1, 28, 28), "float32"))
    assert found["y"].shape == (1, 10)
    assert {"net.relayx", "net.o", "net.h", "libnet.so", "net.weights"} <= {
        path.name for path in tmp_path.iterdir()
    }


def test_the_virtual_machine_runs_the_program_that_is_shown():
    shown = re.search(r"^    type Bag.*?^    }$", page("vm.md"), re.DOTALL | re.MULTILINE)[0]
    main = "def @main(%x: Tensor[(3), float32]) { @total(More(%x, Empty), %x) }"
    mod = relay.parse(f'#[version = "0.0.5"]\n{shown}\n{main}')
    x = np.arange(3, dtype="float32")
    found = run("vm.md", mod=mod, params={}, x=x, text=relay.vm.compile(mod).bytecode)
    assert (found["y"].numpy() == 3 * x).all()
    assert "switch %0 { More: 1, Empty: 2 }" in page("vm.md")
    assert "switch %0 { More: 1, Empty: 2 }" in str(found["program"])
    exe = run("whole_programs.md", mod=mod, params={})["exe"]
    assert (exe(x) == 3 * x).all()


def test_a_result_is_compared_with_the_interpreter():
    assert run("debugging.md")["found"].agrees
