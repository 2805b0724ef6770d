"""The programs of the pages on other machines (arm.md, wasm.md, microcontrollers.md) run."""

import re
import shutil
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {"arm.md": "net/net.o", "wasm.md": "net/net.wasm", "microcontrollers.md": "net/net.o"}


@pytest.mark.parametrize("page", PAGES)
def test_the_program_of_a_page_makes_what_it_says(page, tmp_path, monkeypatch):
    if page == "wasm.md" and shutil.which("wasm-ld") is None:
        pytest.skip("not installed: wasm-ld of Debian's lld")
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text(encoding="utf-8")
    for program in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(program, page, "exec"), {})
    assert (tmp_path / PAGES[page]).stat().st_size > 1000
    named = set(re.findall(r"^\| `(\w+\.\w+)`", text, re.MULTILINE)) & {"net.js", "main.c"}
    assert all((tmp_path / "net" / name).exists() for name in named)
