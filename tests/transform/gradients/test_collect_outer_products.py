"""Gradients of weights in recursive functions: outer products that are added several at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import relay
from relay import tree
from relay.frontend.model import as_module
from relay.ir.compare import assert_structural_equal
from relay.ir.expr import Call, Constructor
from relay.testing import assert_same_value
from relay.transform import CollectOuterProducts, InferType

SIZE = 72  # of matrices that are large enough
HEAD = '#[version = "0.0.5"]\n'


@relay.data
class Weights:
    state: relay.Tensor[SIZE, SIZE]
    bias: relay.Tensor[SIZE]


@relay.function
def loss(net: Weights, x: relay.Tensor[1, SIZE], steps: int) -> float:
    """A recurrent network, whose weight is also used as a whole."""
    for _ in range(steps):
        x = relay.tanh(relay.nn.dense(x, net.state) + net.bias)
    return relay.mean(x * x) + relay.mean(net.state * net.state)


def loss_in_torch(state, bias, x, steps):
    for _ in range(steps):
        x = torch.tanh(torch.nn.functional.linear(x, state, bias))
    return x.square().mean() + state.square().mean()


def values() -> tuple[Weights, np.ndarray]:
    random = np.random.default_rng(0)
    made = (random.uniform(-0.2, 0.2, shape).astype("float32") for shape in ((SIZE, SIZE), SIZE))
    return Weights(*made), random.standard_normal((1, SIZE), "float32")


def products(module: relay.IRModule) -> int:
    """How often a product is kept for later."""
    return sum(
        isinstance(node, Call) and isinstance(node.op, Constructor) and node.op.name_hint == "Plus"
        for function in module.functions.values()
        for node in tree.postorder(function)
    )


def test_gradients_are_those_of_torch() -> None:
    slope = relay.grad(loss, wrt="net")
    module, _ = as_module(slope)
    assert products(CollectOuterProducts()(InferType()(module))) == 1
    exe = relay.compile(slope)
    net, x = values()
    for steps in (0, 1, 2, 7, 8, 9, 31):
        given = [torch.tensor(a).double().requires_grad_() for a in (net.state, net.bias)]
        loss_in_torch(*given, torch.tensor(x).double(), steps).backward()
        for mine, theirs in zip(exe(net, x, steps).fields, given, strict=True):
            wanted = np.zeros(theirs.shape) if theirs.grad is None else theirs.grad.numpy()
            np.testing.assert_allclose(mine, wanted, rtol=1e-4, atol=1e-6)


def text(function: str, matrix: str = "Tensor[(64, 64), float32]", row: int = 64) -> str:
    return f"""{HEAD}
    def @f(%n: int32, %c: ref({matrix}), %x: Tensor[(1, {row}), float32]) {{
      if (%n < 1) {{ () }} else {{ {function}; @f(%n - 1, %c, %x) }}
    }}
    def @main(%n: int32, %x: Tensor[(1, {row}), float32], %y: {matrix}) {{
      let %c = ref(%y);
      @f(%n, %c, %x);
      ref_read(%c)
    }}"""


ADDED = """let %total = add(ref_read(%c), nn.matmul(%x, %x, transpose_a=True));
  ref_write(%c, %total)"""


@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_other_reads_and_writes_see_the_sum(kind: str) -> None:
    other = f"""{ADDED};
      if (%n == 3) {{ ref_write(%c, multiply(ref_read(%c), 2f)) }} else {{ () }}"""
    module = relay.fromtext(text(other))
    after = CollectOuterProducts()(InferType()(module))
    assert products(after) == 1
    x = np.linspace(-1, 1, 64, dtype="float32")[None]
    y = np.ones((64, 64), "float32")
    for n in (0, 2, 5, 20):
        found = relay.create_executor(kind, after).evaluate()(n, x, y)
        wanted = relay.create_executor("debug", module).evaluate()(n, x, y)
        assert_same_value(found, wanted, rtol=1e-5)


def test_many_products_are_added_without_recursion() -> None:
    module = relay.fromtext(text(ADDED))
    x = np.ones((1, 64), "float32")
    found = relay.compile(module)(30_000, x, np.zeros((64, 64), "float32"))
    np.testing.assert_array_equal(found, np.full((64, 64), 30_000, "float32"))


@pytest.mark.parametrize(
    "source",
    [
        text(ADDED, "Tensor[(32, 32), float32]", 32),  # a small matrix
        text(ADDED.replace("%x, %x", "%x, negative(%x)").replace("add", "subtract")),
        text(
            ADDED.replace("ref_write(%c, %total)", "ref_write(%c, %total); ref_write(%c, %total)")
        ),
        text(ADDED).replace("@f(%n - 1, %c, %x) }", "() }"),  # no recursion
        text(ADDED).replace("ref_read(%c)\n    }", "%c }"),  # the caller gets the cell
    ],
    ids=["small", "subtract", "twice", "once", "given"],
)
def test_other_programs_stay(source: str) -> None:
    module = InferType()(relay.fromtext(source))
    assert_structural_equal(CollectOuterProducts()(module), module)
