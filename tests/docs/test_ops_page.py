"""The page of operators says what the records say."""

import importlib.util
from pathlib import Path

import pytest

from relay.ir.expr import op_names

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("generate_ops", ROOT / "docs/generate_ops.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(script):
    assert script.PAGE.read_text(encoding="utf-8") == script.text(), "run docs/generate_ops.py"


def test_every_operator_is_on_the_page_once(script):
    found = [op.name for parts in script.groups().values() for _, ops in parts for op in ops]
    assert sorted(found) == sorted(op_names())


def test_python_functions_are_named_where_people_find_them(script):
    names = set(script.python_names().values())
    assert {"relay.add", "relay.nn.conv2d", "relay.qnn.op.add", "relay.op.vm.shape_of"} <= names
    assert {"relay.annotation.on_device", "relay.image.resize2d"} <= names
