"""Programs exported by torch agree with torch, for all sizes that they are exported for."""

from __future__ import annotations

import pytest
import torch
from torch.export import Dim

import relay
from relay.errors import FrontendError, RelayError
from relay.frontend.pytorch.exported import is_functional


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
            return torch.linalg.eigvals(x).abs() + torch.linalg.ldl_factor_ex(x)[0]

    with pytest.raises(FrontendError, match=r"linalg_eig[^\n]*, 1 time[^\n]*\n[^\n]*linalg_ldl"):
        relay.frontend.from_pytorch(Odd(), (torch.randn(3, 3),))


class Counter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        self.total += x
        return self.total * self.count


def test_buffers_that_the_model_writes_are_state() -> None:
    model = Counter()
    mod, params = relay.frontend.from_pytorch(model, (torch.randn(3),))
    exe = relay.compile(mod, params)
    for turn in range(100):
        x = torch.randn(3)
        torch.testing.assert_close(exe(x), model(x))
        assert exe.state["count"].numpy() == turn + 1
    exe.reset()
    assert not exe.state["total"].numpy().any()


def test_memory_that_is_not_read_row_by_row_is_refused() -> None:
    class Strided(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.as_strided(x.T, (2, 2), (1, 2))

    with pytest.raises(FrontendError, match="does not lie in memory row by row"):
        relay.frontend.from_pytorch(Strided(), (torch.randn(3, 4),))


def test_a_model_that_writes_its_input_is_refused() -> None:
    class Writes(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.add_(1) * 2

    with pytest.raises(FrontendError, match="the model writes its input `x`"):
        relay.frontend.from_pytorch(Writes(), (torch.randn(3),))


def test_what_torch_has_decomposed_is_taken_as_it_is() -> None:
    class Writing(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x * 2).add_(1)

    program = torch.export.export(Writing(), (torch.ones(3),))
    assert not is_functional(program)
    assert is_functional(program.run_decompositions({}))
    for one in (program, program.run_decompositions({})):
        assert relay.compile(one)(torch.ones(3)).tolist() == [3, 3, 3]
