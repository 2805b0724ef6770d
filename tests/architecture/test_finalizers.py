"""What Python drops: exceptions of signal handlers inside a `__del__`."""

import re
from pathlib import Path

import relay


def test_no_finalizer_is_a_python_function():
    files = Path(relay.__file__).parent.rglob("*.py")
    found = [str(file) for file in files if re.search(r"def __del__", file.read_text("utf-8"))]
    assert not found, "use relay.native.finalizer"
