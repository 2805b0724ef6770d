"""The programs on the page about operators run, and what they assert holds."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/adding/operator.md").read_text(encoding="utf-8")


def test_the_computes_shown_give_what_the_page_says():
    section = re.search(r"## The compute\n(.*?)\n## ", PAGE, re.DOTALL)[1]
    programs = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert len(programs) == 2 and all("assert " in program for program in programs)
    names = {}
    for program in programs:
        exec(compile(program, "operator.md", "exec"), names)
