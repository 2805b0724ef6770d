"""The programs on the page about ONNX do what they assert; its error is the real one."""

import re
from collections import Counter
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

import relay
from tools.onnx_suite import KINDS, cases, excluded

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/onnx.md").read_text(encoding="utf-8")


def test_the_programs_shown_do_what_the_page_says():
    names = {}
    for program in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(program, "onnx.md", "exec"), names)


def test_the_error_shown_is_the_one_that_comes():
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [
            helper.make_node("StringNormalizer", ["s"], ["t"], name="lower"),
            helper.make_node("StringNormalizer", ["t"], ["u"], name="upper"),
            helper.make_node("RegexFullMatch", ["u"], ["q"], name="fits", pattern="a*"),
        ],
        "words",
        [value("s", TensorProto.STRING, ["n"])],
        [value("u", TensorProto.STRING, ["n"]), value("q", TensorProto.BOOL, ["n"])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    assert isinstance(model, onnx.ModelProto)
    with pytest.raises(relay.RelayError) as found:
        relay.frontend.from_onnx(model)
    shown = re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)[1]
    assert str(found.value).startswith(shown.rstrip())


def test_the_numbers_of_the_suite_are_those_of_what_is_excluded():
    of = Counter(kind for kind, _ in cases())
    passing = Counter(kind for kind, name in cases() if excluded(name) is None)
    shown = re.findall(r"^\| [^|]+ \| (\d+) \| (\d+) \|$", PAGE, re.MULTILINE)
    assert shown == [(str(passing[kind]), str(of[kind])) for kind in KINDS]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    models = passing.total() - passing["node"], of.total() - of["node"]
    share = round(100 * passing["node"] / of["node"])
    assert f"{share} % of the {of['node']:,} tests" in readme
    assert "{} of its {} models".format(*models) in readme
