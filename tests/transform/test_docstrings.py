"""The before -> after that a pass shows in its docstring is what it does."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import relay
from relay.transform import Pass, catalogue
from tests.transform.docstring_examples import examples, matches, run

ROOT = Path(relay.__file__).parent
# passes without an example that could be run, and why
NOT_SHOWN = {
    "AnnotateSpans": "adds spans, which are no part of the text",
    "CapturePostDfsIndexInSpans": "adds spans, which are no part of the text",
    "InferType": "adds types, which the examples leave out",
    "Legalize": "calls functions that others attach to operators",
    "PrintIR": "changes nothing",
    "QnnLegalize": "calls functions that others attach to operators",
    "Sequential": "runs other passes",
    "SpanCheck": "changes nothing",
}


def passes() -> list[str]:
    found = ((name, getattr(relay.transform, name)) for name in catalogue.exports())
    return sorted(
        name
        for name, offered in found
        if inspect.isclass(offered) and issubclass(offered, Pass) and name not in ABSTRACT
    )


ABSTRACT = {"FunctionPass", "ModulePass", "Pass"}
SHOWN = [name for name in passes() if name not in NOT_SHOWN]


def docstring(name: str) -> str:
    path = ROOT.joinpath(*catalogue.files()[catalogue.exports()[name]].split(".")[1:])
    return ast.get_docstring(ast.parse(path.with_suffix(".py").read_text())) or ""


@pytest.mark.parametrize("name", SHOWN)
def test_a_pass_does_what_its_docstring_shows(name):
    found = list(examples(docstring(name), name))
    assert found, "there is no before -> after"
    for example in found:
        result = run(example)
        assert matches(example, result), f"{example.before}\n->\n{result}\nnot\n{example.after}"


def test_every_pass_without_an_example_is_one():
    assert set(NOT_SHOWN) <= set(passes())


@pytest.mark.parametrize(
    "after",
    [
        "add(%x, 5f)",
        "add(6f, %x)",
        "multiply(%x, 6f)",
        "add(%x, 6f, …, 7f)",
        "%0 = add(%x, 6f); (%0, %0)",
        "let %y = 6f; add(%x, %y)",
        "def @main(%x: Tensor[(3, 2), float32]) { add(%x, 6f) }",
        "def @main(%x) { add(%x, 6f) }  def @other() { 1 }",
    ],
)
def test_another_result_is_noticed(after):
    (example,) = examples(f"add(%x, multiply(2f, 3f))\n->\n{after}", "FoldConstant")
    assert not matches(example, run(example))


@pytest.mark.parametrize(
    "after",
    [
        "add(%y, 6f)",
        "add(…)",
        "add(%x, 6f, …)",
        "%0 = add(%x, 6f); %0",
        "fn (%x) { add(%x, 6f) }",
        "def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { … }",
    ],
)
def test_names_and_what_is_omitted_do_not_matter(after):
    (example,) = examples(f"add(%x, multiply(2f, 3f))\n->\n{after}", "FoldConstant")
    assert matches(example, run(example))
