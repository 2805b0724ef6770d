"""Networks of `relay.testing`, trained in native code, beside PyTorch in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import relay
from relay.ir.types import TensorType
from relay.optim import SGD, Adam, training_step
from relay.transform.gradients.differentiate import gradient
from tests.models.in_pytorch import Weights, oracle
from tests.models.test_zoo import SMALL, shallow  # noqa: F401

STEPS = 20
NETWORKS = [name for name in SMALL if name != "synthetic"]  # which has no weights
SOON = ("MLP", "LSTM")  # which are compiled soon
OPTIMIZERS: dict[str, tuple[Any, Callable[..., torch.optim.Optimizer]]] = {
    "SGD": (SGD(0.01, momentum=0.9), lambda w: torch.optim.SGD(w, 0.01, momentum=0.9)),
    "Adam": (Adam(1e-3), lambda w: torch.optim.Adam(w, 1e-3)),
}


class Trained:
    """A network with a loss, here and in PyTorch."""

    def __init__(self, name: str) -> None:
        model = SMALL[name]
        self.module, _ = workload = model.make()
        self.params, self.data, found = oracle(workload, model.network)
        target = np.random.default_rng(3).uniform(0, 1, found.shape)
        main = relay.transform.InferType()(self.module)["main"]
        self.data_name = next(p.name_hint for p in main.params if p.name_hint not in self.params)
        error = main.body - relay.const(target, "float32")
        self.module["main"] = relay.Function(main.params, relay.mean(error * error))
        # the statistics of what was seen are no weights
        self.names = [
            p.name_hint
            for p in main.params
            if p.name_hint in self.params
            and not p.name_hint.endswith(("moving_mean", "moving_var"))
        ]
        self.weights = self.in_pytorch(torch.float64)
        self._target = torch.from_numpy(target)
        self._network = model.network

    def in_pytorch(self, dtype: torch.dtype) -> Weights:
        weights = Weights(self.params)
        weights.of = {name: value.to(dtype) for name, value in weights.of.items()}
        for name in self.names:
            weights.of[name].requires_grad_()
        return weights

    def loss(self, weights: Weights, dtype: torch.dtype = torch.float64) -> torch.Tensor:
        found = self._network(weights, torch.from_numpy(self.data).to(dtype))
        return (found - self._target.to(dtype)).square().mean()

    def slopes(self, dtype: torch.dtype) -> list[np.ndarray]:
        """The gradients by PyTorch; a scale that a network does not use has none."""
        weights = self.in_pytorch(dtype)
        self.loss(weights, dtype).backward()
        peers = [weights.of[name] for name in self.names]
        return [np.zeros(p.shape) if p.grad is None else p.grad.double().numpy() for p in peers]

    def in_order(self) -> Iterator[Any]:
        for param in self.module["main"].params:
            name = param.name_hint
            assert isinstance(param.type_annotation, TensorType)
            yield self.data if name == self.data_name else self.params[name]


def check_gradients(name: str) -> None:
    network = Trained(name)
    main = network.module["main"]
    places = [i for i, p in enumerate(main.params) if p.name_hint in network.names]
    network.module["main"] = gradient(main, network.module, "higher_order", wrt=places)
    value, slopes = relay.compile(network.module)(*network.in_order())
    np.testing.assert_allclose(float(value), network.loss(network.weights).item(), rtol=1e-4)
    exact, narrow = network.slopes(torch.float64), network.slopes(torch.float32)
    for weight, found, wanted, peer in zip(network.names, slopes, exact, narrow, strict=True):
        # sums over whole images may cancel out: then as near as PyTorch in float32
        bound = max(1e-4 * abs(wanted).max(), 3 * abs(peer - wanted).max(), 1e-9)
        np.testing.assert_allclose(np.asarray(found), wanted, atol=bound, err_msg=weight)


def check_steps(name: str, optimizer: str) -> None:
    network = Trained(name)
    mine, peer_of = OPTIMIZERS[optimizer]
    still = [p for p in network.params if p not in network.names]
    step = relay.compile(
        *training_step(network.module, network.params, mine, frozen=still),
    )
    peer = peer_of([network.weights.of[name] for name in network.names])
    largest = network.loss(network.weights).item()
    for _ in range(STEPS):
        loss = network.loss(network.weights)
        # Adam divides small gradients by their size, with what float32 has rounded off
        bound = 1e-3 * loss.item() + 1e-4 * largest
        assert abs(float(step(network.data)) - loss.item()) <= bound
        peer.zero_grad()
        loss.backward()
        peer.step()


@pytest.mark.rotate(2)
@pytest.mark.parametrize("name", SOON)
def test_gradients_of_all_weights_are_those_of_pytorch(name: str) -> None:
    check_gradients(name)


@pytest.mark.rotate(4)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", SOON)
def test_losses_of_steps_are_those_of_pytorch(name: str, optimizer: str) -> None:
    check_steps(name, optimizer)


@pytest.mark.full
@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_of_every_network_are_those_of_pytorch(name: str) -> None:
    check_gradients(name)


@pytest.mark.full
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", NETWORKS)
def test_losses_of_every_network_are_those_of_pytorch(name: str, optimizer: str) -> None:
    check_steps(name, optimizer)
