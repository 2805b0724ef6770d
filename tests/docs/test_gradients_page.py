"""The programs on the page about gradients run, and print what the page says they print."""

import contextlib
import importlib.util
import io
import re
from pathlib import Path

from relay.op.opdef import records

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/gradients.md").read_text(encoding="utf-8")


def test_the_programs_print_what_stands_below_them(tmp_path):
    parts = re.findall(r"```(python|text)\n(.*?)```", PAGE, re.DOTALL)
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
