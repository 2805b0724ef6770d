"""The programs on the page about PyTorch do what they assert."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/pytorch.md").read_text(encoding="utf-8")


def test_the_programs_shown_do_what_the_page_says():
    names = {"__name__": "pytorch_page"}
    for program in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(program, "pytorch.md", "exec"), names)
