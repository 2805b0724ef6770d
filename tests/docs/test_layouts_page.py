"""The programs of the page on layouts run, and it shows what comes out."""

import re
from pathlib import Path

import relay
from relay.ir.compare import assert_structural_equal
from relay.op import temporary_operators
from relay.transform import AlterOpLayout, InferType

PAGE = (Path(__file__).parents[2] / "docs" / "layouts.md").read_text(encoding="utf-8")


def test_the_page_shows_what_comes_out():
    scope = {}
    with temporary_operators():
        for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
            exec(block, scope)
    (shown,) = re.findall(r"```\n(%0.*?)```", PAGE, re.DOTALL)
    (params,) = re.findall(r"def @main\((.*?)\) \{", PAGE, re.DOTALL)
    expected = relay.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {shown} }}')
    found = AlterOpLayout("llvm -level=avx512")(scope["mod"])
    assert_structural_equal(found, InferType()(expected))
