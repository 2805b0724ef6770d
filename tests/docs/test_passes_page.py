"""The page of passes: its table says what the files say, its programs print what it shows."""

import contextlib
import importlib.util
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location(
        "generate_passes", ROOT / "docs/generate_passes.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(script):
    assert script.PAGE.read_text(encoding="utf-8") == script.text(), "run docs/generate_passes.py"


def test_every_pass_is_on_the_page_once(script):
    found = re.findall(r"^\| `(\w+)\(", script.PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(found) == sorted(script.passes())


def test_the_programs_print_what_stands_below_them(script):
    names = {}
    printed = ""
    page = script.PAGE.read_text(encoding="utf-8")
    for kind, text in re.findall(r"```(python|text)\n(.*?)```", page, re.DOTALL):
        if kind == "text":
            assert printed == text
            continue
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(text, "passes.md", "exec"), names)
        printed = out.getvalue()
