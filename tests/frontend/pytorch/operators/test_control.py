"""Control flow of exported programs agrees with eager torch, which runs it as Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from functorch.experimental.control_flow import map as map_of_torch
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch.export import Dim

import relay
from relay.executors import create_executor
from relay.interpreter.values import TupleValue


class Called(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(self.linear, *inputs)


def agree(
    function: Callable[..., Any],
    *several: Sequence[torch.Tensor],
    dynamic: Any = None,
    compiled: bool = False,
) -> None:
    """The function agrees on several lists of inputs, exported with the first of them."""
    model = Called(function).eval()
    shapes = None if dynamic is None else (dynamic,)
    with torch.no_grad():
        program = torch.export.export(model, tuple(several[0]), dynamic_shapes=shapes)
    mod, params = relay.frontend.from_pytorch(program)
    runs = [create_executor("debug", mod, params=params).evaluate()]
    if compiled:
        runs.append(relay.compile(mod, params))
    for inputs in several:
        with torch.no_grad():
            wanted = model(*inputs)
        for run in runs:
            found = run(*inputs)
            mine = list(found) if isinstance(found, TupleValue | tuple) else [found]
            theirs = [wanted] if isinstance(wanted, torch.Tensor) else wanted
            assert len(mine) == len(theirs)
            for one, other in zip(mine, theirs, strict=True):
                tensor = one if isinstance(one, torch.Tensor) else torch.from_numpy(one.numpy())
                torch.testing.assert_close(tensor, other)


ROWS = {0: Dim("rows", min=2, max=50)}


def branches(linear: Any, x: torch.Tensor) -> Any:
    return torch.cond(x.sum() > 0, lambda x: linear(x) * 2, lambda x: torch.tanh(x), (x,))


def nested(linear: Any, x: torch.Tensor) -> Any:
    def positive(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        inner = torch.cond(x.sum() > 100, lambda x: x - 1, lambda x: linear(x), (x,))
        return inner, x + x.shape[0]

    return torch.cond(x.sum() > 0, positive, lambda x: (x * 3, x + 2), (x,))


def doubled(linear: Any, x: torch.Tensor) -> Any:
    def body(turn: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return turn + 1, linear(x)

    return while_loop(lambda turn, x: turn < 5, body, (torch.tensor(0), x))


def until_large(linear: Any, x: torch.Tensor, step: torch.Tensor) -> Any:
    return while_loop(lambda x: x.sum() < 1000, lambda x: (x + step * step,), (x,))


def summed(linear: Any, first: torch.Tensor, rows: torch.Tensor) -> Any:
    return scan(lambda carry, row: (carry + linear(row), carry * row), first, rows, dim=0)


def backwards(linear: Any, first: torch.Tensor, rows: torch.Tensor) -> Any:
    return scan(lambda c, row: (c + row, c * row), first, rows, dim=1, reverse=True)


def mapped(linear: Any, rows: torch.Tensor, other: torch.Tensor) -> Any:
    return map_of_torch(lambda row, other: linear(row) + other, rows, other)


def in_pairs(linear: Any, rows: torch.Tensor) -> Any:
    return associative_scan(lambda a, b: a * b + a, rows, dim=0, combine_mode="generic")


def test_branches_agree() -> None:
    positive, negative = torch.rand(3, 4), -torch.rand(3, 4)
    agree(branches, [positive], [negative], compiled=True)
    agree(branches, [positive], [-torch.rand(7, 4)], dynamic=(ROWS,))
    agree(nested, [positive], [negative], [positive * 100], [torch.rand(9, 4)], dynamic=(ROWS,))


def test_while_loops_agree() -> None:
    agree(doubled, [torch.randn(3, 4)], compiled=True)
    agree(doubled, [torch.randn(3, 4)], [torch.randn(8, 4)], dynamic=(ROWS,))
    agree(until_large, [torch.zeros(3, 4), torch.ones(3, 4)], [torch.full((3, 4), 500.0)] * 2)


def test_scans_agree() -> None:
    agree(summed, [torch.randn(4), torch.randn(5, 4)], compiled=True)
    agree(backwards, [torch.randn(4), torch.randn(4, 5)])
    sizes = [[torch.randn(4), torch.randn(rows, 4)] for rows in (5, 2, 40)]
    agree(summed, *sizes, dynamic=(None, ROWS))


def test_maps_agree() -> None:
    sizes = [[torch.randn(rows, 4), torch.randn(4)] for rows in (5, 2, 40)]
    agree(mapped, sizes[0], compiled=True)
    agree(mapped, *sizes, dynamic=(ROWS, None))


def test_associative_scans_agree() -> None:
    for rows in (1, 2, 7):
        agree(in_pairs, [torch.randn(rows, 4)])


def test_branches_of_different_types_are_refused_by_torch_or_by_us() -> None:
    def function(linear: Any, x: torch.Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x, lambda x: x.double(), (x,))

    with pytest.raises(Exception, match=r"(?i)dtype|types|metadata|same"):
        agree(function, [torch.rand(3, 4)])
