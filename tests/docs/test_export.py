"""The program on the page about export runs, and what it asserts holds."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/export.md").read_text(encoding="utf-8")


def test_the_program_shown_does_what_the_page_says():
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(program, "export.md", "exec"), {})
