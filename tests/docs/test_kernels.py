"""The programs on the page about kernels run, and print what the page says they print."""

import contextlib
import io
import re
from pathlib import Path

from relay.te import schedule

PAGE = (Path(__file__).parents[2] / "docs/kernels.md").read_text(encoding="utf-8")


def test_the_programs_print_what_stands_below_them():
    names = {}
    printed = ""
    for kind, text in re.findall(r"```(python|text)\n(.*?)```", PAGE, re.DOTALL):
        if kind == "text":
            assert printed == text
            continue
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(text, "kernels.md", "exec"), names)
        printed = out.getvalue()


def test_every_primitive_is_on_the_page():
    primitives = [name for name in schedule.__all__ if name[0].islower()]
    others = {"create", "make_stage", "unused_name", "check", "tiles", "is_multiple"}
    for name in set(primitives) - others:
        assert f"`{name}`" in PAGE
