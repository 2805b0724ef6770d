"""The programs on the page about Python functions run, and print what the page says they print."""

import contextlib
import importlib.util
import io
import re
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/python.md").read_text(encoding="utf-8")


def test_the_programs_print_what_stands_below_them(tmp_path, monkeypatch):
    blocks = re.findall(r"```(python|text)\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "page.py"  # a function is read from its file
    path.write_text("\n\n".join(text for kind, text in blocks if kind == "python"))
    spec = importlib.util.spec_from_file_location("page", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "page", module)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        spec.loader.exec_module(module)
    assert out.getvalue() == "".join(text for kind, text in blocks if kind == "text")
