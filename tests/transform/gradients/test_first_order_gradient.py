"""Gradients of dataflow code, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import relay
from relay import tree
from relay.errors import GradientError
from relay.op.opdef import get
from relay.transform.gradients.first_order_gradient import first_order

NEGATIVE = get("negative")
RANDOM = np.random.default_rng(11)


def floats(*shape: int) -> np.ndarray:
    return RANDOM.uniform(0.2, 1.5, shape)


def evaluate(function: Any, *args: Any) -> Any:
    module = relay.IRModule.from_expr(function)
    return relay.create_executor("debug", module).evaluate()(*args)


def parsed(text: str) -> Any:
    """The first-order gradient of `main` of a program."""
    module = relay.fromtext(f'#[version = "0.0.5"]\n{text}')
    return relay.transform.FirstOrderGradient()(module)["main"]


def agree(text: str, function: Any, *arrays: np.ndarray) -> None:
    tensors = [torch.tensor(one, requires_grad=True) for one in arrays]
    value = function(*tensors)
    value.sum().backward()
    found = evaluate(parsed(text), *arrays)
    np.testing.assert_allclose(found[0].numpy(), value.detach().numpy(), rtol=1e-12)
    for gradient, tensor in zip(found[1], tensors, strict=True):
        wanted = np.zeros(tensor.shape) if tensor.grad is None else tensor.grad.numpy()
        np.testing.assert_allclose(gradient.numpy(), wanted, rtol=1e-11, atol=1e-14)


def test_gradients_flow_through_lets_tuples_and_sharing() -> None:
    agree(
        """def @main(%x: Tensor[(2, 3), float64], %y: Tensor[(3), float64]) {
          let %a = multiply(%x, %y);
          let %b = (%a, exp(%a), %y);
          %0 = %b.1;
          let %c = (%0, add(%0, %b.0));
          multiply(%c.0, %c.1)
        }""",
        lambda x, y: (x * y).exp() * ((x * y).exp() + x * y),
        floats(2, 3),
        floats(3),
    )


def test_tuples_are_arguments_and_results_of_operators() -> None:
    agree(
        """def @main(%x: Tensor[(4, 3), float64], %y: Tensor[(2, 3), float64]) {
          %0 = concatenate((%x, %y, %x));
          %1 = split(%0, indices_or_sections=5);
          multiply(%1.0, %1.3)
        }""",
        lambda x, y: torch.cat((x, y, x))[:2] * torch.cat((x, y, x))[6:8],
        floats(4, 3),
        floats(2, 3),
    )


def test_the_gradient_of_a_network_is_that_of_pytorch() -> None:
    agree(
        """def @main(
          %x: Tensor[(2, 3, 8, 8), float64],
          %w: Tensor[(4, 3, 3, 3), float64],
          %d: Tensor[(5, 64), float64],
        ) {
          %0 = nn.conv2d(%x, %w, padding=[1, 1], strides=[1, 1]);
          %1 = nn.max_pool2d(nn.relu(%0), pool_size=[2, 2], strides=[2, 2]);
          nn.log_softmax(nn.dense(nn.batch_flatten(%1), %d))
        }""",
        lambda x, w, d: (
            torch.log_softmax(
                torch.nn.functional.max_pool2d(torch.conv2d(x, w, padding=1).relu(), 2).flatten(1)
                @ d.T,
                -1,
            )
            * 1.0
        ),
        floats(2, 3, 8, 8),
        floats(4, 3, 3, 3) - 0.8,
        floats(5, 64),
    )


def test_extents_may_be_unknown() -> None:
    text = """def @main(%x: Tensor[(?, 3), float64], %y: Tensor[(?, 1), float64]) {
      sum(tanh(add(%x, %y)), axis=[1])
    }"""
    for rows in (1, 4):
        agree(text, lambda x, y: torch.tanh(x + y).sum(1), floats(4, 3), floats(rows, 1))


def test_integers_get_zeros_and_stop_gradients() -> None:
    gradient = parsed(
        """def @main(%x: Tensor[(3), float64], %i: Tensor[(2), int64]) {
          %0 = take(%x, %i, axis=0);
          multiply(%0, stop_gradient(%0))
        }"""
    )
    found = evaluate(gradient, np.array([2.0, 3.0, 5.0]), np.array([2, 2]))
    np.testing.assert_array_equal(found[1][0].numpy(), [0, 0, 10])
    np.testing.assert_array_equal(found[1][1].numpy(), [0, 0])


def test_the_gradient_can_be_differentiated_again() -> None:
    x = relay.var("x", shape=(3,), dtype="float64")
    inner = relay.transform.InferType()(
        relay.IRModule.from_expr(relay.Function([x], relay.sum(relay.exp(x) * x)))
    )
    once = first_order(inner["main"])
    slope = relay.Function(once.params, relay.TupleGetItem(relay.TupleGetItem(once.body, 1), 0))
    typed = relay.transform.InferType()(relay.IRModule.from_expr(slope))["main"]
    at = floats(3)
    found = evaluate(first_order(typed), at)
    np.testing.assert_allclose(found[0].numpy(), np.exp(at) * (at + 1))
    np.testing.assert_allclose(found[1][0].numpy(), np.exp(at) * (at + 2))


def chain(length: int) -> Any:
    """A typed function that applies an operator `length` times."""
    x = relay.var("x", shape=(), dtype="float64")
    made: Any = x
    for _ in range(length):
        made = relay.Call(NEGATIVE, (made,))
    return relay.transform.InferType()(relay.IRModule.from_expr(relay.Function([x], made)))["main"]


def size(function: Any) -> int:
    return sum(1 for _ in tree.postorder(function))


def test_the_size_of_a_gradient_is_linear() -> None:
    small, large = (size(first_order(chain(length))) for length in (500, 2_500))
    per_call = (large - small) / 2_000
    assert per_call == size(first_order(chain(2_501))) - large


@pytest.mark.full
def test_chains_of_any_length_are_differentiated() -> None:
    assert size(first_order(chain(100_000))) > 200_000


def test_errors_say_where() -> None:
    with pytest.raises(GradientError, match=r"no dataflow code(.|\n)*higher_order"):
        parsed("def @main(%x: float64, %c: bool) { if (%c) { %x } else { exp(%x) } }")
    with pytest.raises(GradientError, match=r"`reinterpret` has no gradient") as raised:
        parsed("""def @main(%x: Tensor[(4), float64]) { reinterpret(%x, dtype="float64") }""")
    assert raised.value.diagnostics[0].span is not None
