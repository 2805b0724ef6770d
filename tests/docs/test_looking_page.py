"""The programs on the pages about looking at programs run, and print what these say."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def run(page):
    names = {}
    for block in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL):
        exec(compile(block, page, "exec"), names)


def test_a_page_is_made_in_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("viewer.md")
    assert "<title>mlp" in (tmp_path / "mlp.html").read_text()


def test_pictures_values_and_times_are_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run("looking.md")
    assert (tmp_path / "mlp.svg").stat().st_size
    printed = capsys.readouterr().out
    assert "%n3 nn.dense <- %n2, %fc1_weight" in printed  # the parser here
    assert re.search(r"%n\d+ dense <- %n\d+, %n\d+", printed)  # and one's own
    assert "`log` made infinity in 3 of 3 elements, of finite inputs" in printed
    assert " main " in printed
