"""The index lists every page and every example, and its links lead somewhere."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INDEX = (DOCS / "README.md").read_text(encoding="utf-8")


def test_every_page_is_listed_once():
    pages = [str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md") if p.name != "README.md"]
    assert sorted(re.findall(r"\]\((.*?)\)", INDEX)) == sorted(pages)


def test_every_example_is_listed_in_order():
    examples = sorted(path.name for path in (ROOT / "examples").glob("*.py"))
    assert re.findall(r"^\| `(\d.*?)`", INDEX, re.MULTILINE) == examples


def test_files_named_in_the_readme_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in re.findall(r"`((?:relay|docs|examples|benchmarks)/[\w/.]*)`", text):
        assert (ROOT / name).exists(), name
