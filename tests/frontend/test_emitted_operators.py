"""The packages `relay.op.image` and `relay.op.vision` say which operators a frontend emits."""

import ast
import importlib
import re
from pathlib import Path

import pytest

import relay.frontend

FRONTENDS = Path(relay.frontend.__file__).parent


def emitted(family: str) -> set[str]:
    """The names X of `op.<family>.X` in the frontends' sources."""
    found = set()
    for path in FRONTENDS.rglob("*.py"):
        source = path.read_text()
        if f"op.{family}." not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == f"op.{family}":
                found.add(node.attr)
    return found


@pytest.mark.parametrize("family", ["image", "vision"])
def test_a_family_lists_the_operators_that_frontends_emit(family):
    package = importlib.import_module(f"relay.op.{family}")
    listed, others = package.__doc__.split("Emitted by frontends:")[1].split("Only")
    assert set(re.findall(r"`(\w+)`", listed)) == emitted(family)
    assert set(re.findall(r"`(\w+)`", others)) == set(package.__all__) - emitted(family)
