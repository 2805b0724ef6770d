"""The program on the page about tuning runs."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/tuning.md").read_text(encoding="utf-8")


def test_the_program_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("RELAY_CACHE_DIR", str(tmp_path / "cache"))
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names = {}
    exec(compile(program, "tuning.md", "exec"), names)
    assert names["found"].left + len(names["found"]) > 0
