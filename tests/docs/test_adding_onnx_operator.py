"""The program on the page about operators of ONNX runs, and what it asserts holds."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/adding/onnx_operator.md").read_text(encoding="utf-8")


def test_the_operator_shown_computes_what_the_page_says():
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert "assert " in program
    exec(compile(program, "onnx_operator.md", "exec"), {})
