"""The index lists every page and every example, and its links lead somewhere."""

import importlib
import re
from pathlib import Path

import pytest

import relay
from relay.transform.context import OPTIONS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
INDEX = (DOCS / "README.md").read_text(encoding="utf-8")


def test_every_page_is_listed_once():
    pages = [str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md") if p.name != "README.md"]
    assert sorted(re.findall(r"\]\((.*?)\)", INDEX)) == sorted(pages)


def test_every_example_is_listed_in_order():
    examples = sorted(path.name for path in (ROOT / "examples").glob("*.py"))
    assert re.findall(r"^\| `(\d.*?)`", INDEX, re.MULTILINE) == examples


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_exists(page):
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#]+)\)", prose)
    assert not [link for link in links if "://" not in link and not (page.parent / link).exists()]
    files = re.findall(r"`((?:relay|docs|examples|benchmarks|tests|tools)/[\w/.]*)`", text)
    assert not [name for name in files if not (ROOT / name).exists()]
    names = re.findall(r"`(relay(?:\.\w+)+)", text)
    assert not [name for name in names if name not in OPTIONS and not is_found(name)]


def is_found(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one."""
    found = relay
    for index, part in enumerate(parts := name.split("."), start=1):
        if index > 1 and not hasattr(found, part):
            try:
                found = importlib.import_module(".".join(parts[:index]))
            except ModuleNotFoundError:
                return False
        elif index > 1:
            found = getattr(found, part)
    return True
