"""The programs on the page about partial evaluation print what the page says they print."""

import contextlib
import io
import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/partial_evaluation.md").read_text(encoding="utf-8")


def test_the_programs_print_what_stands_below_them():
    parts = re.findall(r"```(python|text)\n(.*?)```", PAGE, re.DOTALL)
    names = {}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        for kind, text in parts:
            if kind == "python":
                exec(compile(text, "partial_evaluation.md", "exec"), names)
    assert out.getvalue() == "".join(text for kind, text in parts if kind == "text")
