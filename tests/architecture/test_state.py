"""Global mutable state: CONTRIBUTING.md names every file that has some."""

import ast
import re
from pathlib import Path

import relay

ROOT = Path(relay.__file__).parent.parent
CHANGES = {"add", "append", "clear", "extend", "insert", "pop", "remove", "setdefault", "update"}


def has_state(source: ast.Module) -> bool:
    """Whether a file has a context variable, a `global`, a collection that its functions change, or
    an object of a class of its own that has state."""
    made = {}
    for statement in source.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            if isinstance(target, ast.Name):
                made[target.id] = statement.value
    collections = {n for n, v in made.items() if isinstance(v, ast.Dict | ast.List | ast.Set)}
    stateful = {
        node.name
        for node in source.body
        if isinstance(node, ast.ClassDef) and not node.decorator_list and _writes_itself(node)
    }
    calls = [ast.unparse(v.func) for v in made.values() if isinstance(v, ast.Call)]
    inside = [n for f in ast.walk(source) if isinstance(f, ast.FunctionDef) for n in ast.walk(f)]
    return (
        any(call == "ContextVar" or call in stateful for call in calls)
        or any(isinstance(node, ast.Global) for node in inside)
        or any(_changed(node) in collections for node in inside)
    )


def _writes_itself(cls: ast.ClassDef) -> bool:
    """Whether a method other than `__init__` sets an attribute."""
    return any(
        isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        for method in cls.body
        if isinstance(method, ast.FunctionDef) and method.name != "__init__"
        for node in ast.walk(method)
    )


def _changed(node: ast.AST) -> str | None:
    """The name of a collection that a node changes."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        return ast.unparse(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return ast.unparse(node.func.value) if node.func.attr in CHANGES else None
    return None


def test_the_places_with_global_state_are_named():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    sentence = re.search(r"- Mutable global state\.(.*?)\n- ", page, re.DOTALL)[1]
    named = set(re.findall(r"`(relay/[\w/]+\.py)`", sentence))
    files = (ROOT / "relay").rglob("*.py")
    found = {str(p.relative_to(ROOT)) for p in files if has_state(ast.parse(p.read_text()))}
    assert found == named
