"""The programs on the pages about gradients and training print what the pages say."""

import contextlib
import importlib.util
import io
import re
from pathlib import Path

import pytest

from relay.op.opdef import records

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/gradients.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["gradients.md", "training.md"])
def test_the_programs_print_what_stands_below_them(name, tmp_path):
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    parts = re.findall(r"```(python|text)\n(.*?)```", page, re.DOTALL)
    # functions are read from their file
    file = tmp_path / "page.py"
    file.write_text("".join(text for kind, text in parts if kind == "python"), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("gradients_page", file)
    module = importlib.util.module_from_spec(spec)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        spec.loader.exec_module(module)
    assert out.getvalue() == "".join(text for kind, text in parts if kind == "text")


def test_the_number_of_rules_is_the_one_on_the_page():
    all_records = records()
    covered = [op for op in all_records if not isinstance(op.gradient, str | None)]
    assert f"{len(covered)} of {len(all_records)} operators have a gradient" in PAGE
