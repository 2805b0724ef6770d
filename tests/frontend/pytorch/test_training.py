"""`torch.compile(backend="relay")` trains like eager PyTorch: forward and backward are compiled."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from relay.frontend.pytorch import dynamo
from relay.frontend.pytorch.dynamo import backend

STEPS, CLASSES = 20, 5


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Without the graphs of other tests, and with layers that repeat."""
    torch._dynamo.reset()
    with warnings.catch_warnings(), torch._dynamo.config.patch(allow_rnn=True):
        # torch's own, about its own modules
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", message=".*(isinstance|torch.jit|graph break).*")
        yield


def reasons(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if "in PyTorch" in one.getMessage()]


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True)
        self.scores = nn.Linear(16, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scores(self.layer(x).mean(1))


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.scores = nn.Embedding(20, 8), nn.Linear(8, CLASSES)
        self.layer = nn.LSTM(8, 8, batch_first=True)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return self.scores(self.layer(self.table(words))[0][:, -1])


def perceptron() -> nn.Module:
    return nn.Sequential(
        nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 5)
    )


def convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 12, 3, stride=2),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(12, CLASSES),
    )


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[], torch.Tensor]]] = {
    "perceptron": (perceptron, lambda: torch.randn(16, 12)),
    "convolutions": (convolutions, lambda: torch.randn(8, 3, 12, 12)),
    "attention": (Attention, lambda: torch.randn(4, 6, 16)),
    "words": (Words, lambda: torch.randint(0, 20, (6, 4))),
}


def losses(model: nn.Module, run: Callable[..., Any], x: torch.Tensor) -> list[float]:
    """The losses of some steps with momentum."""
    wanted = torch.arange(x.shape[0]) % CLASSES
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    found = []
    for step in range(STEPS):
        torch.manual_seed(step)  # dropout
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(run(x), wanted)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.rotate(4)
@pytest.mark.parametrize("name", MODELS)
def test_losses_and_buffers_of_training_are_those_of_eager(name: str, caplog: Any) -> None:
    torch.manual_seed(0)
    make, example = MODELS[name]
    eager, x = make(), example()
    model = copy.deepcopy(eager)
    found = losses(model, torch.compile(model, backend=backend), x)
    expected = losses(eager, eager, x)
    assert found == pytest.approx(expected, rel=1e-3)
    assert found[-1] < found[0]
    for one, two in zip(model.state_dict().values(), eager.state_dict().values(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-3)
    assert not reasons(caplog)


def test_the_size_of_a_batch_may_change(caplog: Any) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Dropout(0.5), nn.Linear(4, 2))
    compiled = torch.compile(model, backend=backend, dynamic=True)
    for rows in (2, 5, 7):
        x = torch.randn(rows, 3, requires_grad=True)
        gradients = []
        for run in (compiled, model):
            torch.manual_seed(rows)
            model.zero_grad()
            x.grad = None
            run(x).square().sum().backward()
            gradients.append([x.grad, *(one.grad for one in model.parameters())])
        torch.testing.assert_close(*gradients)
    assert not reasons(caplog)


def test_a_backward_graph_that_is_refused_runs_in_pytorch_with_one_reason(
    caplog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse = dynamo.from_graph

    def only_forward(graph: Any) -> Any:
        if any("tangents" in call.name for call in graph.graph.find_nodes(op="placeholder")):
            raise dynamo.RelayError("no backward graphs today")
        return refuse(graph)

    monkeypatch.setattr(dynamo, "from_graph", only_forward)
    model = nn.Linear(3, 2)
    compiled, x = torch.compile(model, backend=backend), torch.randn(4, 3)
    for _ in range(2):
        model.zero_grad()
        compiled(x).square().sum().backward()
        found = [one.grad.clone() for one in model.parameters() if one.grad is not None]
        model.zero_grad()
        model(x).square().sum().backward()
        torch.testing.assert_close(found, [one.grad for one in model.parameters()])
    assert len(reasons(caplog)) == 1
    assert "a backward graph runs in PyTorch: no backward graphs today" in reasons(caplog)[0]


def test_gradients_that_are_not_wanted_are_not_computed() -> None:
    first, second = nn.Linear(3, 3), nn.Linear(3, 2)
    for parameter in first.parameters():
        parameter.requires_grad_(False)
    model = nn.Sequential(first, nn.ReLU(), second)
    compiled, x = torch.compile(model, backend=backend), torch.randn(4, 3)
    compiled(x).sum().backward()
    assert first.weight.grad is None
    found = second.weight.grad
    second.zero_grad()
    model(x).sum().backward()
    torch.testing.assert_close(found, second.weight.grad)
