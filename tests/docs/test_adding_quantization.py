"""The programs of the page on adding schemes and rules run."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "adding" / "quantization.md"


def test_the_programs_run() -> None:
    text = PAGE.read_text(encoding="utf-8")
    known: dict[str, object] = {}
    exec("".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)), known)


def test_all_rules_are_on_the_page() -> None:
    from relay.op.quantization import Kind

    text = PAGE.read_text(encoding="utf-8")
    assert all(f"`{kind.name}`" in text for kind in Kind if kind is not Kind.PRODUCT)
