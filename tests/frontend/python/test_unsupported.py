"""One error for each part of Python that has no meaning in a program, as `docs/python.md` lists
them."""

import importlib.util
import re
from pathlib import Path

import pytest

import relay
from relay.frontend.python.unsupported import MAX_REPORTS, constructs

PAGE = (Path(__file__).parents[3] / "docs/python.md").read_text(encoding="utf-8")
CONSTRUCTS = {construct.name: construct for construct in constructs()}

# How each of them is written; where two lines are alike, the error points at the one marked.
SAMPLES = {
    "try statement": """
        try:  # here
            x = x + 1
        except ValueError:
            pass
    """,
    "try statement with exception groups": """
        try:  # here
            x = x + 1
        except* ValueError:
            pass
    """,
    "raise statement": "raise ValueError(x)",
    "assert statement": "assert x > 0",
    "with statement": "with x: pass",
    "async with statement": """
        async def g():
            async with x:  # here
                pass
    """,
    "async for loop": """
        async def g():
            async for y in x:  # here
                pass
    """,
    "async function": "async def g(): return 1",
    "await": """
        async def g():
            y = await x  # here
    """,
    "yield": """
        def g():
            yield x  # here
    """,
    "yield from": """
        def g():
            yield from x  # here
    """,
    "global statement": "global SOMETHING",
    "nonlocal statement": """
        def g():
            nonlocal x  # here
    """,
    "del statement": "del x",
    "import statement": "import math",
    "from-import statement": "from math import sqrt",
    "class definition": "class C: pass",
    "set comprehension": "y = {a for a in x}",
    "dictionary comprehension": "y = {a: a for a in x}",
    "generator expression": "y = sum(a for a in x)",
    "set": "y = {x, x}",
    "dictionary": "y = {1: x}",
    "f-string": 'y = f"{x}"',
    "t-string": 'y = t"{x}"',
    "assignment expression": "y = (z := x)",
    "type statement": "type T = int",
    "pattern of a mapping": """
        match x:
            case {"a": y}:  # here
                pass
    """,
    "else of a loop": """
        while x < 3:
            x += 1
        else:
            x = 5  # here
    """,
    "assignment to an item": "x[0] = 1",
    "assignment to an attribute": "x.a = 1",
    "starred assignment": "y, *z = x",
    "double-star argument": "y = g(**x)",
    "star parameter": "def g(*ys): return 1",
    "double-star parameter": "def g(**ys): return 1",
    "decorator of a nested function": """
        @staticmethod  # here
        def g(): return 1
    """,
    "complex number": "y = x + 1j",
    "bytes": 'y = b"abc"',
}


def defined(text, path):
    """The function `f` of a file with that text."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def in_function(body):
    lines = [line for line in body.splitlines() if line.strip()]
    indent = min(len(line) - len(line.lstrip()) for line in lines)
    return "def f(x: int):\n" + "".join(f"    {line[indent:]}\n" for line in lines)


def test_every_construct_has_a_sample_and_stands_on_the_page():
    table = re.search(r"## What is refused\n(.*?)\n## ", PAGE, re.DOTALL)[1]
    rows = re.findall(r"^\| (.*?) \| `+ ?(.*?) ?`+ \| (.*?) \|$", table, re.MULTILINE)
    written = {name: (looks, instead) for name, looks, instead in rows}
    assert written == {c.name: (c.looks, c.instead) for c in constructs()}
    assert SAMPLES.keys() == CONSTRUCTS.keys()
    assert len(CONSTRUCTS) == len(constructs()), "two constructs have the same name"


@pytest.mark.parametrize("name", SAMPLES)
def test_it_is_refused_where_it_stands(name, tmp_path):
    text = in_function(SAMPLES[name])
    try:
        f = defined(text, tmp_path / "sample.py")
    except SyntaxError:
        pytest.skip("this version of Python does not have it")
    with pytest.raises(relay.FrontendError) as raised:
        relay.function(f)
    [error] = [e for e in raised.value.diagnostics if e.message == f"{name} in a Relay function"]
    assert error.hint == CONSTRUCTS[name].instead
    assert error.found == CONSTRUCTS[name].looks
    lines = text.splitlines()
    marked = [number for number, line in enumerate(lines, 1) if "# here" in line]
    assert error.span.line == (marked[0] if marked else 2)
    shown = str(raised.value)
    assert f"sample.py:{error.span.line}:{error.span.column}" in shown
    assert lines[error.span.line - 1] in shown
    assert "^" in shown


def test_all_of_them_are_reported_at_once(tmp_path):
    f = defined("def f(x: int):\n    assert x\n    y = {x}\n    del y\n", tmp_path / "several.py")
    with pytest.raises(relay.FrontendError) as raised:
        relay.function(f)
    messages = [error.message for error in raised.value.diagnostics]
    assert [m.removesuffix(" in a Relay function") for m in messages] == [
        "assert statement",
        "set",
        "del statement",
    ]


def test_a_function_full_of_them_reports_the_first_ones(tmp_path):
    f = defined("def f(x: int):\n" + "    assert x\n" * 50, tmp_path / "many.py")
    with pytest.raises(relay.FrontendError) as raised:
        relay.function(f)
    assert [e.span.line for e in raised.value.diagnostics] == list(range(2, 2 + MAX_REPORTS))


@pytest.mark.parametrize(
    ("text", "found"), [("async def f(x): pass", "async def"), ("f = lambda x: x", "lambda")]
)
def test_only_functions_written_with_def_are_translated(text, found, tmp_path):
    f = defined(text + "\n", tmp_path / "other.py")
    with pytest.raises(relay.FrontendError, match="written with `def`") as raised:
        relay.function(f)
    assert found in str(raised.value)
