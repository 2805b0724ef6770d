"""Recurrent layers agree with torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.frontend.pytorch.operators.layers import agree

ATEN = torch.ops.aten


def parameters(gates: int, *, inputs: int, hidden: int, projected: int = 0) -> list[torch.Tensor]:
    rows, state = gates * hidden, projected or hidden
    found = [
        torch.randn(rows, inputs),
        torch.randn(rows, state),
        torch.randn(rows),
        torch.randn(rows),
    ]
    return [*found, torch.randn(projected, hidden)] if projected else found


def layers(name: str, states: int, **more: Any) -> Any:
    """A function of the data, the states and the parameters."""
    options = {"num_layers": 1, "bidirectional": False, "batch_first": False} | more

    def run(data: torch.Tensor, *rest: torch.Tensor) -> Any:
        hx = [*rest[:states]] if states > 1 else rest[0]
        options_of = options["num_layers"], 0.0, False, options["bidirectional"]
        operator = getattr(ATEN, name).input
        return operator(data, hx, [*rest[states:]], True, *options_of, options["batch_first"])

    return run


def test_layers_agree() -> None:
    state = torch.randn(4, 3, 5)
    two = [parameters(4, inputs=size, hidden=5) for size in (4, 4, 10, 10)]
    both = {"num_layers": 2, "bidirectional": True, "batch_first": True}
    gru, plain = parameters(3, inputs=4, hidden=5), parameters(1, inputs=4, hidden=5)
    projected = parameters(4, inputs=4, hidden=5, projected=2)
    data = torch.randn(3, 6, 4)
    cases = [
        (layers("lstm", 2, **both), [data, state, state, *(one for part in two for one in part)]),
        (layers("lstm", 2), [data, torch.randn(1, 6, 2), torch.randn(1, 6, 5), *projected]),
        (layers("gru", 1, batch_first=True), [data, state[:1], *gru]),
        (layers("rnn_tanh", 1), [data, torch.randn(1, 6, 5), *plain]),
        (layers("rnn_relu", 1), [data, torch.randn(1, 6, 5), *plain]),
    ]
    agree(*cases)


def test_cells_agree() -> None:
    x, h = torch.randn(3, 4), torch.randn(3, 5)
    agree(
        (
            lambda x, h, *w: ATEN.lstm_cell(x, [h, h], *w),
            [x, h, *parameters(4, inputs=4, hidden=5)],
        ),
        (ATEN.gru_cell, [x, h, *parameters(3, inputs=4, hidden=5)]),
        (ATEN.rnn_relu_cell, [x, h, *parameters(1, inputs=4, hidden=5)]),
    )


@pytest.mark.full
def test_layers_agree_as_native_code() -> None:
    data, state = torch.randn(3, 6, 4), torch.randn(1, 3, 5)
    gru = parameters(3, inputs=4, hidden=5)
    agree((layers("gru", 1, batch_first=True), [data, state, *gru]), compiled=True)
