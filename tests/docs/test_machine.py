"""The programs on the page about machines run, and its table of settings is complete."""

import re
from pathlib import Path

from relay import settings

PAGE = (Path(__file__).parents[2] / "docs/machine.md").read_text(encoding="utf-8")


def test_the_programs_run():
    names = {}
    for program in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(program, "machine.md", "exec"), names)


def test_every_setting_is_on_the_page():
    for setting in settings.ALL:
        assert f"| `{setting.name}` |" in PAGE
