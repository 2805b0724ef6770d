"""What the page about TensorFlow shows is what happens."""

import re
from pathlib import Path

import relay

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tensorflow.md").read_text(encoding="utf-8")


def shown(mark):
    return re.search(rf"<!-- {mark} -->\n```\n(.*?)```", PAGE, re.DOTALL)[1]


def plain(text):
    """A text without types behind calls, and names of kernels without their digests."""
    text = re.sub(r" /\* ty=.*? \*/", "", text)
    return [line.rstrip() for line in re.sub(r"_[0-9a-f]{16}\b", "", text).splitlines()]


def test_the_loop_becomes_what_the_page_shows(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    names = {"relay": relay}
    for program in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[1:]:
        exec(compile(program, "tensorflow.md", "exec"), names)
    printed = "\n".join(plain(capsys.readouterr().out))
    assert "\n".join(plain(shown("relay"))) in printed
    assert "\n".join(plain(shown("program"))) in printed
