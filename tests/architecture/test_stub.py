"""Type checkers see the names that Python resolves."""

import importlib.util
from pathlib import Path

import relay

TOOL = Path(__file__).parents[2] / "tools" / "stub.py"


def test_the_stub_is_up_to_date():
    spec = importlib.util.spec_from_file_location("stub", TOOL)
    stub = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stub)
    assert stub.STUB.read_text() == stub.text(), "run tools/stub.py"


def test_every_public_name_resolves():
    for name in dir(relay):
        assert getattr(relay, name) is not None
