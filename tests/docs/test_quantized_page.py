"""The page on quantized networks shows what comes out."""

import re
from pathlib import Path

import relay
from relay.analysis import list_op_freqs
from relay.ir.compare import assert_structural_equal
from relay.transform import FakeQuantizationToInteger, InferType, QnnCanonicalize

PAGE = (Path(__file__).parents[2] / "docs" / "quantized.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(python)?\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_shows_what_comes_out() -> None:
    program, between, canonical = (text for _, text in BLOCKS)
    (source,) = re.findall(r'"""(.*?)"""', program, re.DOTALL)
    params = source[source.index("(") + 1 : source.index(") {")]
    before = InferType()(relay.parse(source.strip()))
    integers = FakeQuantizationToInteger()(before)
    wanted = relay.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {between} }}')
    assert_structural_equal(integers["main"], InferType()(wanted)["main"])
    lines = [line.split(" = ")[1].rstrip(";") for line in canonical.splitlines()]
    found = list_op_freqs(QnnCanonicalize()(integers))
    for line in lines:
        for name in re.findall(r"([a-z_.0-9]+)\(", line):
            assert name in found
