"""Programs exported by torch agree with torch, for all sizes that they are exported for."""

from __future__ import annotations

import pytest
import torch
from torch.export import Dim

import relay
from relay.errors import FrontendError, RelayError


class Layers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.second = torch.nn.Linear(16, 4)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.second(torch.relu(self.first(x))) * 2 + y + x.shape[0], torch.tanh(y)


def exported() -> tuple[torch.nn.Module, relay.IRModule, dict[str, relay.nd.NDArray]]:
    model = Layers().eval()
    rows = {0: Dim("rows", min=2, max=100)}
    inputs = (torch.randn(3, 8), torch.randn(3, 4))
    return model, *relay.frontend.from_pytorch(model, inputs, dynamic_shapes=(rows, rows))


def test_a_size_that_is_left_open_is_any_size_in_its_range() -> None:
    model, mod, params = exported()
    assert set(params) == set(dict(model.named_parameters()))
    exe = relay.compile(mod, params)
    for rows in (2, 3, 50):
        x, y = torch.randn(rows, 8), torch.randn(rows, 4)
        torch.testing.assert_close(exe(x, y), model(x, y))


def test_other_sizes_are_refused_with_the_range() -> None:
    _, mod, params = exported()
    exe = relay.compile(mod, params)
    with pytest.raises(RelayError, match="input `x`: the model was exported for other sizes"):
        exe(torch.randn(1, 8), torch.randn(1, 4))


def test_weights_are_copies() -> None:
    model, mod, params = exported()
    x, y = torch.randn(3, 8), torch.randn(3, 4)
    before = model(x, y)
    with torch.no_grad():
        model.get_parameter("first.weight").zero_()
    torch.testing.assert_close(relay.compile(mod, params)(x, y), before)


def test_all_unsupported_operators_are_named_at_once() -> None:
    class Odd(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.linalg.eigvals(x).abs() + torch.linalg.svdvals(x)

    with pytest.raises(FrontendError, match=r"linalg_eig[^\n]*, 1 time[^\n]*\n[^\n]*svd"):
        relay.frontend.from_pytorch(Odd(), (torch.randn(3, 3),))
