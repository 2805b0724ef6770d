"""Write `docs/architecture.md` and its picture from the import order that the tests hold.

    python docs/generate_architecture.py

An edge of the picture is an import that is there, but for those that follow from others.
"""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from typing import Any

from relay.viz.graph import Edge, Graph
from relay.viz.pictures import svg

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PAGE, PICTURE = DOCS / "architecture.md", DOCS / "architecture.svg"
HEAD = """# Architecture

A model comes in through a frontend, becomes Relay, is rewritten by passes, lowered to tensor
expressions, loops and code, and runs as one native call:

    frontends → Relay → passes → fused Relay → tensor expressions → loops → LLVM IR → machine code
                                      └──────────→ program (instructions) ──────────┘

The package is a list of parts. Each imports parts above it in this table and never below; a test
reads every import and compares. In the picture an arrow goes from a part to one that imports it;
imports that follow from others are left out.

![parts and their imports](architecture.svg)

"""


def order() -> Any:
    """The module of the test that holds the order."""
    path = ROOT / "tests" / "architecture" / "test_imports.py"
    spec = importlib.util.spec_from_file_location("test_imports", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def imports(test: Any) -> dict[str, set[str]]:
    """The parts that each part imports when it is imported itself."""
    found: dict[str, set[str]] = {layer: set() for layer in test.LAYERS}
    for path in test.FILES:
        here = test.part_of(f"relay.{test.name_of(path)}")
        if here in found:
            there = {test.part_of(module) for module, top in test.imports(path) if top}
            found[here] |= (there & found.keys()) - {here}
    return found


def direct(found: dict[str, set[str]]) -> dict[str, set[str]]:
    """Without imports that follow from others."""
    reached: dict[str, set[str]] = {}
    kept: dict[str, set[str]] = {}
    for layer, read in found.items():  # bottom-up
        beyond = {far for one in read for far in reached[one]}
        kept[layer] = read - beyond
        reached[layer] = read | beyond
    return kept


def graph(test: Any) -> Graph:
    """The parts as nodes, and what is imported directly as edges."""
    made = Graph()
    numbers = {layer: made.add(layer, "op").number for layer in test.LAYERS}
    for layer, read in direct(imports(test)).items():
        made.edges += [Edge(numbers[one], numbers[layer], "") for one in sorted(read)]
    return made


def purpose(layer: str) -> str:
    """The first sentence of a part's docstring."""
    path = ROOT / "relay" / layer.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    first = " ".join(text.split("\n\n")[0].split())
    return first.replace("|", "\\\\|").removesuffix(":")


def text(test: Any) -> str:
    """The page."""
    beside: dict[str, list[str]] = {}
    for part, layer in test.BESIDE.items():
        beside.setdefault(layer, []).append(f"`{part}`")
    rows = ["| part | what it is for |", "|---|---|"]
    for layer in test.LAYERS:
        name = ", ".join([f"`{layer}`", *beside.get(layer, [])])
        rows.append(f"| {name} | {purpose(layer)} |")
    late = [f"| `{a}` | `{b}` | {why} |" for (a, b), why in test.LATE.items()]
    tail = (
        "\nA few functions import, when they are called, what stands below their part:\n\n"
        "| part | imports | why |\n|---|---|---|\n"
    )
    return HEAD + "\n".join(rows) + "\n" + tail + "\n".join(late) + "\n"


def main() -> None:
    """Write both files."""
    test = order()
    PAGE.write_text(text(test), encoding="utf-8")
    PICTURE.write_text(svg(graph(test)), encoding="utf-8")


if __name__ == "__main__":
    main()
