"""What the page about fusion says is what happens."""

from pathlib import Path

import relay
from relay.transform import explain_fusion
from relay.transform.fusion import fusion_cost

PAGE = (Path(__file__).parents[2] / "docs" / "fusion.md").read_text()
HEADER = '#[version = "0.0.5"]\n'


def reasons(params, body):
    return [
        str(g) for g in explain_fusion(relay.parse(f"{HEADER}def @main({params}) {{ {body} }}"))
    ]


def test_the_reasons_are_those_that_are_given():
    found = reasons(
        "%x: Tensor[(4, 4), float32], %w: Tensor[(4, 4), float32], %b: Tensor[(4), float32]",
        "argsort(nn.relu(add(nn.dense(exp(%x), %w), %b)))",
    )
    found += reasons(
        "%x: Tensor[(16, 1000000), float32]", "divide(%x, sum(%x, axis=[1], keepdims=True))"
    )
    shown = [line for line in PAGE.splitlines() if line.startswith("@main: ")]
    assert len(shown) == 3
    assert set(shown) <= set(found)


def test_the_numbers_are_those_of_the_formula():
    assert f"CALL = {fusion_cost.CALL}, BYTE = {fusion_cost.BYTE}" in PAGE
    assert f"at most {fusion_cost.CACHE // 1024} kB" in PAGE
    assert f"{fusion_cost.TILE} rows at a time" in PAGE
    assert f"fewer than {fusion_cost.FEW_ROWS} rows" in PAGE
    assert fusion_cost.SERIAL == 2**18


def test_softmax_by_hand_is_the_kernel_that_is_shown():
    body = PAGE.partition("%0 = exp(subtract(")[2].splitlines()
    text = "%0 = exp(subtract(" + " ".join(line.split("    ")[0] for line in body[:2])
    (found,) = reasons("%x: Tensor[(8, 16), float32]", text)
    assert "max subtract exp sum divide" in found
    assert "max subtract exp sum divide" in PAGE
