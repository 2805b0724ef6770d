"""Types of changed functions without inference: the same as inference finds, or none."""

import numpy as np
import pytest

import relay
from relay import tree
from relay.check.forward import typed_forward
from relay.transform import InferType

HEADER = '#[version = "0.0.5"]\n'


def typed(source):
    return InferType()(relay.parse(HEADER + source))["main"]


def changed(function, old, new):
    """Every call of an operator becomes a call of another; parents are new and have no types."""

    def visit(before, after):
        if isinstance(before, relay.Call) and before.op is relay.op.get(old):
            return new(*after.args)
        return after

    return tree.transform(function, visit)


@pytest.mark.parametrize(
    "source",
    [
        "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(exp(%x)) }",
        "def @main[n: Shape](%x: Tensor[(n, 3), float32]) { (exp(%x), sum(exp(%x), axis=[1])).1 }",
        "def @main(%x: Tensor[(2, 3), float32]) { let %y = %x; nn.relu(exp(%y) + 1f) }",
    ],
)
def test_types_are_those_that_inference_finds(source):
    before = typed(source)
    after = typed_forward(changed(before, "exp", relay.tanh), before)
    assert after.ty is not None
    fresh = InferType()(relay.IRModule({"main": changed(before, "exp", relay.tanh)}))["main"]
    pairs = zip(tree.postorder(after), tree.postorder(fresh), strict=True)
    assert all(a.ty == b.ty for a, b in pairs if isinstance(a, relay.Expr))
    assert InferType()(relay.IRModule({"main": after}))["main"] is after


@pytest.mark.parametrize(
    ("source", "new"),
    [
        ("def @main(%x: Tensor[(?, 3), float32]) { nn.relu(exp(%x)) }", relay.tanh),
        (
            "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(exp(%x)) }",
            lambda x: relay.If(relay.const(True), x, x),
        ),
        (
            "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(exp(%x)) }",
            lambda x: relay.add(x, relay.const(np.ones(5, "float32"))),
        ),
        (
            "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(exp(%x)) }",
            lambda x: relay.cast(x, "int32"),
        ),
    ],
    ids=["an open size", "a branch", "what does not fit", "another result"],
)
def test_the_rest_is_left_to_inference(source, new):
    before = typed(source)
    after = changed(before, "exp", new)
    assert typed_forward(after, before) is after
    assert after.ty is None
