"""`torch.compile(backend="relay")` does what eager PyTorch does, and says what it leaves to it."""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from relay.frontend.pytorch.dynamo import backend

Fast = Callable[..., Any]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Without the graphs of other tests."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        # torch's own, about its own modules
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", message=".*(isinstance|torch.jit|graph break).*")
        yield


def fast(function: Fast, **options: Any) -> Fast:
    return torch.compile(function, backend=backend, **options)


def reasons(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Why something runs in PyTorch."""
    return [one.getMessage() for one in caplog.records if "in PyTorch" in one.getMessage()]


def same(found: Any, expected: Any, **tolerance: float) -> None:
    torch.testing.assert_close(found, expected, **tolerance)


def test_torch_finds_the_backend_by_its_name() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    place = project["project"]["entry-points"]["torch_dynamo_backends"]["relay"]
    module, _, name = place.partition(":")
    assert getattr(import_module(module), name) is backend


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(4)), nn.Parameter(torch.randn(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * self.weight + self.bias)


@torch.no_grad()
def test_changes_of_parameters_are_seen_however_they_are_written(caplog: Any) -> None:
    model = Scaled()
    compiled, x = fast(model), torch.randn(3, 4)
    changes: list[Callable[[torch.Tensor], Any]] = [
        lambda weight: weight.mul_(2),
        lambda weight: weight.data.add_(1),
        lambda weight: weight.numpy().fill(0.5),
        lambda weight: setattr(model, "weight", nn.Parameter(torch.ones(4))),
    ]
    same(compiled(x), model(x))
    for change in changes:
        change(model.weight)
        same(compiled(x), model(x))
    assert not reasons(caplog)


@torch.no_grad()
def test_frozen_parameters_are_laid_out_once_and_again_when_torch_writes_them(caplog: Any) -> None:
    model = Scaled()
    compiled, x = fast(model, options={"freezing": True}), torch.randn(3, 4)
    same(compiled(x), model(x))
    model.weight.mul_(2)
    same(compiled(x), model(x))
    model.weight = nn.Parameter(torch.ones(4))
    same(compiled(x), model(x))
    assert not reasons(caplog)


@torch.no_grad()
def test_sizes_may_change(caplog: Any) -> None:
    def function(x: torch.Tensor) -> Any:
        return torch.relu(x) * x.shape[0] + 1, x.shape[0] * 2

    compiled = fast(function, dynamic=True)
    for rows in (2, 3, 30):
        x = torch.randn(rows, 4)
        same(compiled(x), function(x))
    assert not reasons(caplog)


@torch.no_grad()
def test_inputs_are_written_and_shared_as_in_pytorch() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> Any:
        x.add_(y)
        y[0].zero_()
        total = x * 2
        return x, y.view(-1), None, 5, total, total.view(-1), "text"

    compiled = fast(function)
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    other, same_y = x.clone(), y.clone()
    found, expected = compiled(x, y), function(other, same_y)
    assert found[0] is x
    assert found[2:4] == (None, 5)
    for one, two in zip(
        (x, y, *found[:2], *found[4:6]), (other, same_y, *expected[:2], *expected[4:6]), strict=True
    ):
        same(one, two)
    found[1].fill_(7)  # a view
    assert (y == 7).all()
    found[5].fill_(8)
    assert (found[4] == 8).all()


@torch.no_grad()
def test_numbers_may_be_arguments() -> None:
    def function(x: torch.Tensor, k: int) -> Any:
        return x * k + torch.relu(x), k + 1, None

    compiled = fast(function)
    for k in (2, 3, 7, 40):
        x = torch.randn(3)
        same(compiled(x, k)[0], function(x, k)[0])
        assert compiled(x, k)[1:] == (k + 1, None)


@torch.no_grad()
def test_python_between_graphs_runs_as_it_is(caplog: Any) -> None:
    seen = []

    def function(x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x) + 1
        seen.append(float(y.sum()))  # a graph break
        if y.sum() > 1:
            return y * 2
        return y - 1

    compiled = fast(function)
    for x in (torch.ones(3), -torch.ones(3) * 9, torch.zeros(3)):
        same(compiled(x), function(x))
    assert len(seen) == 6


@torch.no_grad()
def test_results_have_the_strides_of_pytorch() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) + 1

    compiled = fast(function)
    for x in (
        torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        torch.randn(4, 5).T,
        torch.randn(6, 8)[::2, 1:3],
    ):
        found, expected = compiled(x), function(x)
        same(found, expected)
        assert found.stride() == expected.stride()


@torch.no_grad()
def test_mixed_precision_is_that_of_pytorch() -> None:
    model, x = nn.Linear(4, 3).eval(), torch.randn(5, 4)
    compiled = fast(model)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found, expected = compiled(x), model(x)
    assert found.dtype == torch.bfloat16
    same(found, expected, rtol=2e-2, atol=2e-2)
    same(compiled(x), model(x))


@torch.no_grad()
def test_random_numbers_are_those_of_torchs_generator(caplog: Any) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        dropped = nn.functional.dropout(x.transpose(0, 1), 0.3)
        noise = torch.randn_like(x) + torch.rand(x.shape[0] * 2, 4).mean()
        return dropped.T + noise * torch.randint(0, 9, x.shape)

    compiled = fast(function)
    for rows in (3, 5, 6):  # sizes are open from the second on
        x = torch.randn(rows, 4)
        torch.manual_seed(rows)
        found = compiled(x)
        torch.manual_seed(rows)
        same(found, function(x))
    assert not reasons(caplog)


@torch.no_grad()
def test_draws_from_what_is_computed_run_in_pytorch_with_one_reason(caplog: Any) -> None:
    compiled, x = fast(lambda x: torch.multinomial(torch.softmax(x, -1), 1)), torch.randn(3, 4)
    for _ in range(2):
        assert compiled(x).shape == (3, 1)
    assert len(reasons(caplog)) == 1
    assert "random numbers" in reasons(caplog)[0]


@torch.no_grad()
def test_what_lies_elsewhere_stays_there(caplog: Any) -> None:
    compiled = fast(lambda x: torch.relu(x) + 1)
    assert compiled(torch.ones(3, device="meta")).device.type == "meta"
    assert len(reasons(caplog)) == 1
    assert "memory of the CPU" in reasons(caplog)[0]


@torch.no_grad()
def test_unknown_operators_run_in_pytorch_with_one_reason(caplog: Any) -> None:
    compiled, x = fast(torch.linalg.eigvals), torch.randn(3, 3)
    for _ in range(2):
        same(compiled(x), torch.linalg.eigvals(x))
    assert len(reasons(caplog)) == 1
    assert "linalg_eig" in reasons(caplog)[0]


@torch.no_grad()
def test_errors_of_a_call_are_those_of_pytorch() -> None:
    table = torch.randn(4, 2)
    compiled = fast(lambda i: nn.functional.embedding(i, table) + 1)
    same(compiled(torch.tensor([1, 3])), table[[1, 3]] + 1)


@torch.no_grad()
def test_options_are_those_of_relay_compile(caplog: Any) -> None:
    x = torch.randn(3)
    for mode in ("default", "reduce-overhead", "max-autotune"):
        torch._dynamo.reset()
        same(fast(torch.relu, mode=mode)(x), torch.relu(x))
    torch._dynamo.reset()
    options = {"threads": 1, "level": 2, "exact": True, "freezing": False}
    same(fast(torch.relu, options=options)(x), torch.relu(x))
    assert not reasons(caplog)
    torch._dynamo.reset()
    with pytest.raises(Exception, match="did you mean `threads`"):
        fast(torch.relu, options={"thread": 1})(x)


# --- models --------------------------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(16, 48)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.project(x).unflatten(-1, (3, 4, 4)).permute(2, 0, 3, 1, 4)
        found = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        return found.transpose(1, 2).flatten(-2)


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(self.first(x)) + x)


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.rest = nn.Embedding(20, 8), nn.Linear(8, 3)

    def forward(self, words: torch.Tensor) -> dict[str, torch.Tensor]:
        found = self.table(words)
        return {"scores": self.rest(found.mean(1)).log_softmax(-1), "table": found}


class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(3, 8, 3, stride=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.glu(self.first(x), 1).amax(-1)


def images(count: int) -> torch.Tensor:
    return torch.randn(count, 4, 8, 8)


def rows(count: int) -> torch.Tensor:
    return torch.randn(count, 16)


def sequences(count: int) -> torch.Tensor:
    return torch.randn(count, 5, 16)


MODELS: dict[str, tuple[Callable[[], nn.Module], Callable[[int], torch.Tensor]]] = {
    "perceptron": (lambda: nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4)), rows),
    "residual": (lambda: nn.Sequential(Residual(), Residual(), nn.AvgPool2d(2)), images),
    "depthwise": (
        lambda: nn.Sequential(
            nn.Conv2d(4, 4, 3, groups=4),
            nn.Hardswish(),
            nn.Conv2d(4, 8, 1),
            nn.AdaptiveAvgPool2d(1),
        ),
        images,
    ),
    "pooled": (
        lambda: nn.Sequential(nn.Conv2d(4, 6, 3), nn.SiLU(), nn.MaxPool2d(2), nn.Flatten()),
        images,
    ),
    "attention": (Attention, sequences),
    "normalized": (
        lambda: nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 16), nn.Softmax(-1)),
        sequences,
    ),
    "groups": (lambda: nn.Sequential(nn.GroupNorm(2, 4), nn.LeakyReLU(0.1)), images),
    "words": (Words, lambda count: torch.randint(0, 20, (count, 5))),
    "gated": (Gated, lambda count: torch.randn(count, 3, 17)),
    "upsampled": (
        lambda: nn.Sequential(nn.Upsample(scale_factor=2.0), nn.Conv2d(4, 2, 1), nn.Sigmoid()),
        images,
    ),
}


@pytest.mark.rotate(5)
@pytest.mark.parametrize("name", MODELS)
def test_models_agree_at_two_sizes_with_an_update_in_between(name: str, caplog: Any) -> None:
    make, example = MODELS[name]
    model = make().eval()
    compiled = fast(model)
    with torch.no_grad():
        for size in (2, 3):
            x = example(size)
            same(compiled(x), model(x), rtol=1e-4, atol=1e-5)
            for parameter in model.parameters():
                parameter.mul_(0.9)
            same(compiled(x), model(x), rtol=1e-4, atol=1e-5)
    assert not reasons(caplog)
