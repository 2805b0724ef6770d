"""Programs of Relay are functions of PyTorch with gradients."""

from __future__ import annotations

import pytest
import torch

import relay
from relay.errors import GradientError
from relay.frontend.pytorch import differentiable


@relay.function
def layer(x: relay.Tensor[4, 3], weight: relay.Tensor[2, 3], bias: relay.Tensor[2]):
    return relay.tanh(relay.nn.dense(x, weight) + bias)


@relay.function
def power(x: relay.Tensor[3], n: int) -> relay.Tensor[3]:
    result = relay.ones((3,), "float32")
    for _ in range(n):
        result *= relay.sin(x)
    return result


def check(run, expected, *arguments: torch.Tensor) -> None:
    """The gradients of some function of the results, beside and behind operators of PyTorch."""
    found = []
    for function in (run, expected):
        given = [
            one.clone().requires_grad_() if one.is_floating_point() else one for one in arguments
        ]
        result = function(*[one * 2 if one.is_floating_point() else one for one in given])
        (result.exp().sum() + result.square().mean()).backward()
        found.append([result.detach(), *(one.grad for one in given if one.requires_grad)])
    torch.testing.assert_close(*found)


def test_gradients_flow_through_a_program_between_operators_of_pytorch() -> None:
    torch.manual_seed(0)
    expected = lambda x, w, b: torch.tanh(torch.nn.functional.linear(x, w, b))  # noqa: E731
    check(differentiable(layer), expected, torch.randn(4, 3), torch.randn(2, 3), torch.randn(2))


def test_loops_have_gradients_too() -> None:
    run = differentiable(power)
    check(
        run, lambda x, n: torch.sin(x) ** n, torch.rand(3) + 0.2, torch.tensor(4, dtype=torch.int32)
    )


def test_constants_are_no_arguments_and_integers_get_no_gradient() -> None:
    weight = torch.randn(2, 3)
    run = differentiable(layer, {"weight": weight, "bias": torch.zeros(2)})
    x = torch.randn(4, 3, requires_grad=True)
    run(x).sum().backward()
    slope = torch.autograd.grad(torch.tanh(x @ weight.T).sum(), x)[0]
    torch.testing.assert_close(x.grad, slope)


def test_several_results_may_have_gradients_or_none() -> None:
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(4), float32]) { (sin(%x), argmax(%x, axis=[0]), exp(%x)) }"""
    x = torch.randn(4, requires_grad=True)
    sine, where, power = differentiable(relay.fromtext(text))(x)
    assert not where.requires_grad
    (sine.sum() + 3 * power[0]).backward()
    wanted = torch.cos(x.detach())
    wanted[0] += 3 * x.detach()[0].exp()
    torch.testing.assert_close(x.grad, wanted)


def test_an_optimizer_of_pytorch_trains_a_program() -> None:
    torch.manual_seed(1)
    run = differentiable(layer)
    x, wanted = torch.randn(4, 3), torch.rand(4, 2) - 0.5
    weights = [torch.zeros(2, 3, requires_grad=True), torch.zeros(2, requires_grad=True)]
    optimizer = torch.optim.Adam(weights, 0.1)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = (run(x, *weights) - wanted).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 10


def test_what_is_no_tensor_is_refused() -> None:
    text = """#[version = "0.0.5"]
    def @main(%p: (float32, float32)) { %p.0 }"""
    with pytest.raises(GradientError, match="`p` is no tensor of PyTorch"):
        differentiable(relay.fromtext(text))
