"""What both directions of folding scales do alike."""

from dataclasses import dataclass

import pytest

import relay
from relay.check.infer import infer_module
from relay.transform import BackwardFoldScaleAxis, ForwardFoldScaleAxis
from relay.transform.scales.scale_folding import Folding, FoldScales

TEXT = '#[version = "0.0.5"]\ndef @main(%x: float32, %y: float32) { multiply(exp(%x), %y) }'


class _Products(Folding):
    """Drops every product, and counts the rest."""

    def __init__(self, flow):
        self.dropped = {id(c): 0 for c in flow.calls if c.op.name == "multiply"}
        self.rest = []

    def changed(self, before, after):
        self.rest.append(before)
        return after


@dataclass(frozen=True)
class _WithoutProducts(FoldScales):
    folding = _Products


def test_of_what_is_dropped_an_argument_is_left():
    module = infer_module(relay.parse(TEXT))
    assert _WithoutProducts()(module)["main"].body is module["main"].body.args[0]
    again = _WithoutProducts()(_WithoutProducts()(module))
    assert again["main"].body.op.name == "exp"


@pytest.mark.parametrize("one_pass", [BackwardFoldScaleAxis(), ForwardFoldScaleAxis()])
def test_functions_that_write_to_tensors_are_left_alone(one_pass):
    text = TEXT.replace("multiply(exp(%x), %y)", "let %k = memory.kill(%x); multiply(exp(%x), 2f)")
    module = infer_module(relay.parse(text))
    assert one_pass(module)["main"] is module["main"]
    assert one_pass.info.opt_level == 3
