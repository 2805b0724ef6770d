"""Cells of gradients that are filled when they are read."""

from __future__ import annotations

import numpy as np
import pytest

import relay
from relay import tree
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import Call, Op
from relay.testing import assert_same_value
from relay.transform import DeadCodeElimination, LazyGradientInit, PartialEvaluate
from relay.transform.gradients.differentiate import gradient
from tests.support.looping import naming
from tests.transform.gradients.random_programs import random_program

HEAD = '#[version = "0.0.5"]\n'


def calls(module: relay.IRModule, name: str) -> int:
    nodes = [node for f in module.functions.values() for node in tree.postorder(f)]
    ops = [node.op.name for node in nodes if isinstance(node, Call) and isinstance(node.op, Op)]
    return ops.count(name)


def check(seeds: range) -> None:
    at = np.array(0.7), np.array(-0.4)
    for seed in seeds:
        with naming(f"seed {seed}"):
            module = relay.fromtext(random_program(seed))
            module["main"] = gradient(module["main"], module)
            wanted = relay.create_executor("debug", module).evaluate()(*at)
            after = LazyGradientInit()(module)
            found = relay.create_executor("debug", after).evaluate()(*at)
            assert_same_value(found, wanted, rtol=1e-12)


def test_gradients_of_random_programs_stay() -> None:
    check(range(2))


@pytest.mark.full
def test_gradients_of_many_random_programs_stay() -> None:
    check(range(100))


def test_a_gradient_may_be_added_to_itself() -> None:
    text = "def @main(%x: float64) { let %r = ref(%x); let %y = ref_read(%r); %y + %y }"
    module = relay.fromtext(HEAD + text)
    module["main"] = gradient(module["main"], module)
    _value, (slope,) = relay.create_executor("debug", LazyGradientInit()(module)).evaluate()(0.5)
    assert float(slope) == 2


def test_what_no_gradient_arrives_at_is_never_filled() -> None:
    text = """def @main(%x: Tensor[(3), float32], %c: bool) {
      let %y = if (%c) { exp(%x) } else { tanh(%x) };
      multiply(%y, %y)
    }"""
    module = relay.fromtext(HEAD + text)
    module["main"] = gradient(module["main"], module, wrt=[0])
    after = LazyGradientInit()(module)
    assert calls(module, "zeros_like") > 0
    assert calls(after, "zeros_like") == 0
    x = np.array([0.1, 0.2, 0.3], "float32")
    for kind in ("debug", "vm"):
        for c in (True, False):
            found, wanted = (
                relay.create_executor(kind, one).evaluate()(x, np.array(c))
                for one in (after, module)
            )
            assert_same_value(found, wanted)


def test_of_dataflow_code_partial_evaluation_leaves_no_zeros() -> None:
    module = relay.fromtext(HEAD + "def @main(%x: Tensor[(3), float32]) { tanh(%x * %x) }")
    module["main"] = gradient(module["main"], module)
    plain, lazy = (
        DeadCodeElimination()(PartialEvaluate()(one))
        for one in (module, LazyGradientInit()(module))
    )
    assert calls(plain, "zeros_like") > 0
    assert calls(lazy, "zeros_like") == calls(lazy, "zeros") == 0
    assert "ref" not in str(lazy["main"])
    x = np.linspace(-1, 1, 3, dtype="float32")
    found, wanted = (relay.create_executor("debug", one).evaluate()(x) for one in (lazy, plain))
    assert_same_value(found, wanted)


def test_programs_that_take_or_give_cells_stay() -> None:
    for text in (
        "def @main(%r: ref(float32)) { ref_write(%r, ref_read(%r) + 1f) }",
        "def @main(%x: float32) { ref(%x) }",
        """def @get[A](%r: ref(A)) -> A { ref_read(%r) }
        def @main(%x: float32) { @get(ref(%x)) }""",
        "def @main(%x: Tensor[(?), float32]) { let %r = ref(%x); ref_read(%r) }",
    ):
        module = relay.fromtext(HEAD + text)
        assert_structural_equal(LazyGradientInit()(module), relay.transform.InferType()(module))
