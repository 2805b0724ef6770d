"""Gradients of programs written in Python, against PyTorch."""

import numpy as np
import pytest
import torch

import relay
from relay import Tensor
from relay.errors import GradientError, RelayError

RANDOM = np.random.default_rng(4)


@relay.data
class Layer:
    weight: Tensor[(2, 3), "float64"]
    units: int
    bias: Tensor[(2,), "float64"]


@relay.data
class Tree:
    value: Tensor[(1, 3), "float64"]
    children: list["Tree"]


@relay.function
def loss(layer: Layer, x: Tensor[(4, 3), "float64"], labels: Tensor[(4,), "int32"]):
    scores = relay.nn.log_softmax(relay.nn.dense(x, layer.weight) + layer.bias)
    return relay.mean(scores * relay.one_hot(labels, 1.0, 0.0, 2, dtype="float64"))


@relay.function
def root(a: Tensor[(), "float64"]) -> Tensor[(), "float64"]:
    """The square root, by Newton's method, as a loop."""
    x = a
    while relay.abs(x * x - a) > 1e-12:
        x = (x + a / x) / 2.0
    return x


@relay.function
def folded(tree: Tree, weight: Tensor[(3, 3), "float64"]) -> Tensor[(1, 3), "float64"]:
    total = tree.value
    for child in tree.children:
        total = total * relay.tanh(folded(child, weight))
    return relay.nn.dense(total, weight)


def draw(*shape: int) -> np.ndarray:
    return RANDOM.uniform(-1, 1, shape)


def leaf(array: np.ndarray) -> torch.Tensor:
    return torch.tensor(array, requires_grad=True)


def test_the_gradient_of_a_class_is_an_object_of_it() -> None:
    weight, bias, x, labels = draw(2, 3), draw(2), draw(4, 3), np.array([0, 1, 1, 0], "int32")
    value, slope = relay.value_and_grad(loss, wrt="layer")(Layer(weight, 2, bias), x, labels)
    w, b = leaf(weight), leaf(bias)
    one_hot = torch.nn.functional.one_hot(torch.tensor(labels).long(), 2)
    wanted = (torch.log_softmax(torch.tensor(x) @ w.T + b, -1) * one_hot).mean()
    wanted.backward()
    assert isinstance(slope, Layer)
    np.testing.assert_allclose(np.asarray(value), wanted.item(), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(slope.weight), w.grad, rtol=1e-9)
    np.testing.assert_allclose(np.asarray(slope.bias), b.grad, rtol=1e-9)
    assert int(slope.units) == 0


def test_loops_are_differentiated_through_their_rounds() -> None:
    slope = relay.grad(root, wrt=0)
    np.testing.assert_allclose(np.asarray(slope(np.array(9.0))), 1 / 6, rtol=1e-9)
    again = relay.grad(relay.grad(root, wrt="a"), wrt="a")
    np.testing.assert_allclose(np.asarray(again(np.array(9.0))), -1 / 108, rtol=1e-6)


def test_recursion_over_trees_is_differentiated() -> None:
    values, weight = [draw(1, 3) for _ in range(4)], draw(3, 3)
    tree = Tree(values[0], [Tree(values[1], [Tree(values[2], [])]), Tree(values[3], [])])
    by_tree, by_weight = relay.grad(folded)(tree, weight)
    v, w = list(map(leaf, values)), leaf(weight)

    def of(value: torch.Tensor, *children: torch.Tensor) -> torch.Tensor:
        for child in children:
            value = value * torch.tanh(child)
        return value @ w.T

    of(v[0], of(v[1], of(v[2])), of(v[3])).sum().backward()
    np.testing.assert_allclose(np.asarray(by_weight), w.grad, rtol=1e-9)
    assert isinstance(by_tree, Tree)
    np.testing.assert_allclose(np.asarray(by_tree.value), v[0].grad, rtol=1e-9)
    first, second = by_tree.children
    np.testing.assert_allclose(np.asarray(second.value), v[3].grad, rtol=1e-9)
    np.testing.assert_allclose(np.asarray(first.children[0].value), v[2].grad, rtol=1e-9)


@pytest.mark.full
def test_gradients_are_compiled() -> None:
    weight = draw(3, 3)
    tree = Tree(draw(1, 3), [Tree(draw(1, 3), []), Tree(draw(1, 3), [])])
    slope = relay.grad(folded, wrt="weight")
    found = relay.compile(slope)(tree, weight)
    np.testing.assert_allclose(np.asarray(found), np.asarray(slope(tree, weight)), rtol=1e-12)


def test_errors_name_the_parameter() -> None:
    with pytest.raises(GradientError, match="no parameter `wieght`") as raised:
        relay.grad(folded, wrt="wieght").module  # noqa: B018
    assert "weight" in str(raised.value)
    with pytest.raises(GradientError, match="parameter `labels` has no gradient"):
        relay.grad(loss, wrt="labels").module  # noqa: B018
    with pytest.raises(RelayError, match="found function"):
        relay.grad(lambda x: x)
