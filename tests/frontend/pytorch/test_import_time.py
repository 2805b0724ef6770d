"""Importing takes time in proportion to the size of a model: steps are counted, not measured."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import torch

import relay
from relay.frontend.pytorch.exported import from_exported


class Deep(torch.nn.Module):
    """`count` operators one after another."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(8, 8) for _ in range(count // 5)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.sigmoid(torch.relu(layer(x)) * 0.5 + x)
        return x


def calls_of(count: int) -> int:
    """The calls of functions of Relay that an import takes."""
    rows = {0: torch.export.Dim("rows", min=2, max=100)}
    program = torch.export.export(
        Deep(count).eval(), (torch.randn(4, 8),), dynamic_shapes=(rows,)
    ).run_decompositions({})
    found = 0
    folder = relay.__path__[0]

    def counting(frame: FrameType, event: str, _: Any) -> None:
        nonlocal found
        if event == "call" and frame.f_code.co_filename.startswith(folder):
            found += 1

    sys.setprofile(counting)
    try:
        from_exported(program)
    finally:
        sys.setprofile(None)
    return found


def test_the_steps_of_an_import_are_proportional_to_the_operators() -> None:
    calls_of(20)  # tables are made
    small, middle, large = (calls_of(count) for count in (25, 50, 100))
    assert middle - small < 2.2 * small
    assert large - middle < 2.2 * (middle - small)
    # an import of 500 operators takes as many steps as a processor makes in well below 3 s
    assert large / 100 < 20_000
