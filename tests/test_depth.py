"""Programs nest without limit: every stage takes chains far deeper than Python's stack."""

import sys

import numpy as np
import pytest

import relay
from tests.support.sampling import deep

DEPTHS = [deep(20_000), pytest.param(deep(100_000), marks=pytest.mark.full)]


def call_chain(size):
    x = relay.var("x", shape=(4,))
    body = x
    for _ in range(size):
        body = relay.nn.relu(body)
    return relay.Function([x], body)


def let_chain(size):
    x = relay.var("x", shape=(4,))
    names = [relay.var(f"v{i}") for i in range(size)]
    body = names[-1]
    for i in reversed(range(size)):
        body = relay.Let(names[i], relay.nn.relu(names[i - 1] if i else x), body)
    return relay.Function([x], body)


def graph_chain(size):
    x = relay.var("x", shape=(4,))
    body = x
    for i in range(size):
        body = relay.maximum(body, body) if i % 2 else relay.nn.relu(body)
    return relay.Function([x], body)


class CountOperators(relay.ExprVisitor):
    def __init__(self):
        super().__init__()
        self.count = 0

    def visit_call(self, call):
        self.count += 1
        super().visit_call(call)


class ReluToLeakyRelu(relay.ExprMutator):
    def visit_call(self, call):
        call = super().visit_call(call)
        if call.op == relay.op.get("nn.relu"):
            return relay.nn.leaky_relu(call.args[0], alpha=0.1)
        return call


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("make", [call_chain, let_chain, graph_chain])
def test_a_deep_chain_goes_through_every_stage(make, depth):
    limit = sys.getrecursionlimit()
    mod = relay.transform.InferType()(relay.IRModule.from_expr(make(depth)))
    parsed = relay.parse(mod.astext())
    assert relay.ir.structural_equal(mod, parsed)
    assert relay.ir.structural_hash(mod) == relay.ir.structural_hash(parsed)
    loaded = relay.load_json(relay.save_json(mod))
    assert relay.ir.structural_equal(mod, loaded)
    counter = CountOperators()
    counter.visit(parsed["main"])
    assert counter.count == depth
    parsed["main"] = ReluToLeakyRelu().visit(parsed["main"])
    counts = relay.analysis.list_op_freqs(parsed)
    assert counts["nn.leaky_relu"] == depth - counts.get("maximum", 0)
    run = relay.create_executor("debug", mod=mod).evaluate()
    np.testing.assert_array_equal(run(np.ones(4, "float32")).numpy(), np.ones(4))
    assert sys.getrecursionlimit() == limit
