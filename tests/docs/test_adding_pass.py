"""The pass on the page about passes runs in a Sequential, and what the page asserts holds."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/adding/pass.md").read_text(encoding="utf-8")


def test_the_pass_shown_runs_by_its_level_after_what_it_requires():
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert program.count("assert ") == 3
    exec(compile(program, "pass.md", "exec"), {"__name__": "page"})
