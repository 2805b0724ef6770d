"""What the README shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

import relay

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
FIRST = ROOT / "examples" / "01_first_program.py"


def test_the_program_of_the_first_command_is_shown():
    shown = re.search(r"<!-- first command -->\n```python\n(.*?)```", README, re.DOTALL)[1]
    command = re.search(r"```\n(python3 .*examples/.*)\n```", README)[1]
    assert command.endswith(str(FIRST.relative_to(ROOT)))
    assert shown in FIRST.read_text()


def test_the_first_command_prints_what_the_readme_shows():
    """But for what is measured, and for names that depend on the machine."""
    shown = re.search(r"```\n(<Relay executable.*?)```", README, re.DOTALL)[1]
    run = subprocess.run([sys.executable, FIRST], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    printed = [without_numbers(line) for line in run.stdout.splitlines()]
    for line in shown.splitlines():
        if line != "…":
            assert without_numbers(line) in printed


def without_numbers(line):
    """The words of a line; units go with their numbers."""
    line = re.sub(r"_[0-9a-f]{16}\b", "", line)
    units = r"B|KiB|MiB|GiB|k|M|G|ns|µs|ms|s"
    return re.sub(rf"\d+(\.\d+)?(e-\d+)?( ({units})\b)?", "#", line).split()


def test_the_first_program_prints_what_the_readme_shows(capsys):
    program, shown = re.search(
        r"<!-- first program -->\n```python\n(.*?)```\n\n```\n(.*?)```", README, re.DOTALL
    ).groups()
    exec(compile(program, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip() == shown.strip()


def test_the_python_program_is_that_of_the_example():
    shown = re.search(r"<!-- python program -->\n```python\n(.*?)```", README, re.DOTALL)[1]
    assert shown in (ROOT / "examples" / "09_python_functions.py").read_text()


def test_the_error_shown_is_the_error_given():
    shown = re.search(r"```\n(type mismatch.*?)```", README, re.DOTALL)[1]
    wrong = """#[version = "0.0.5"]
def @main(%x: Tensor[(8, 32), float32], %y: Tensor[(8, 64), float32]) {
  %0 = nn.relu(%x);
  add(%0, %y)
}
"""
    try:
        relay.parse(wrong, "model.relay")
    except relay.TypeCheckError as error:
        assert str(error).strip() == shown.strip()
    else:
        raise AssertionError("the program was accepted")
