"""The programs on the page about looking at programs run, and print what it says."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "looking.md"


def test_every_program_on_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    assert (tmp_path / "mlp.svg").stat().st_size
    printed = capsys.readouterr().out
    assert "%n3 nn.dense <- %n2, %fc1_weight" in printed  # the parser here
    assert re.search(r"%n\d+ dense <- %n\d+, %n\d+", printed)  # and one's own
    assert "`log` made infinity in 3 of 3 elements, of finite inputs" in printed
    assert " main " in printed
