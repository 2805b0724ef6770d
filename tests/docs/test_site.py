"""The site has pages that are there; its pictures and its page of results are written from data."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def script(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_order_of_the_site_has_every_page_once():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"[\w/]+\.md", text)
    pages = [str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")]
    assert sorted(listed) == sorted(pages)


def test_links_of_pages_stay_within_the_site():
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)#]+)", text):
            place = (page.parent / link).resolve()
            assert "://" in link or place.is_relative_to(DOCS), f"{page.name}: {link}"


def test_the_picture_shows_imports_that_are_there():
    made = script("generate_architecture")
    test = made.order()
    found, kept = made.imports(test), made.direct(made.imports(test))
    assert all(kept[layer] <= read for layer, read in found.items())
    assert "ir" in found["op"] and "transform" in found["pipeline"]
    page = made.text(test)
    assert all(f"`{layer}`" in page for layer in test.LAYERS)
    assert made.svg(made.graph(test)).count("<rect") == len(test.LAYERS) + 1


def test_results_become_tables_and_plots(tmp_path):
    made = script("generate_benchmarks")
    record = {"name": "net<1>", "threads": 1, "relay_ms": 2.0, "error": 1e-7, "ratio": 1.5}
    path = tmp_path / "some_models.json"
    path.write_text(json.dumps([record | {"peers": {"torch": 3.0, "other": 0.5}}]))
    assert "| net<1> | 1 | 2 ms | 500 µs | 3 ms | **1.50** | 1e-07 |" in made.section(path)
    assert made.plot(path).count("<rect") == 4 and "net&lt;1&gt;" in made.plot(path)
    for path in made.files():
        assert made.section(path) in made.PAGE.read_text(encoding="utf-8")
        assert made.plot(path) == path.with_suffix(".svg").read_text(encoding="utf-8")


@pytest.mark.full
def test_the_site_is_built_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason='needs the packages of pip install ".[docs]"')
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", tmp_path / "site"]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "site" / "index.html").exists()
