"""Activation functions agree with torch, at their corners and for NaN too."""

from __future__ import annotations

from math import inf, nan

import torch
from torch.nn import functional as f

from tests.frontend.pytorch.operators.layers import agree

POINTS = torch.tensor([-80, -50, -6, -3, -1, -0.5, -0.1, 0, 0.1, 0.5, 1, 3, 6, 30, 80, nan])
FUNCTIONS = [
    f.gelu,
    lambda x: f.gelu(x, approximate="tanh"),
    f.silu,
    f.mish,
    lambda x: f.elu(x, 0.7),
    lambda x: f.celu(x, 0.7),
    f.selu,
    f.leaky_relu,
    f.rrelu,
    lambda x: f.hardtanh(x, -0.3, 2),
    f.relu6,
    f.hardsigmoid,
    f.hardswish,
    lambda x: f.softplus(x, 2, 5),
    lambda x: f.threshold(x, 0.2, 7),
    f.logsigmoid,
    lambda x: f.glu(x, 0),
]


def test_activations_agree() -> None:
    agree(*((function, [POINTS]) for function in FUNCTIONS))
    agree((f.prelu, [torch.randn(2, 3, 4), torch.randn(3)]))
    halves = POINTS.half()
    agree(*((function, [halves]) for function in FUNCTIONS[:6]), rtol=2e-3, atol=1e-3)


def test_softmax_agrees_along_any_axis() -> None:
    x, integers = torch.randn(2, 3, 4), torch.arange(6).reshape(2, 3)
    hidden = torch.tensor([[0.5, -inf], [-inf, -inf]])
    agree(
        (lambda x: torch.softmax(x, 1), [x]),
        (lambda x: torch.log_softmax(x, -1), [x]),
        (lambda x: torch.softmax(x, 0), [torch.tensor(2.0)]),
        (lambda x: torch.softmax(x, 0, dtype=torch.float64), [integers]),
        (lambda x: torch.ops.aten._safe_softmax(x, -1), [hidden]),
        compiled=True,
    )
