"""Executables are called like the models of PyTorch they come from, and give what these give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch.export import Dim

import relay
from relay.errors import EvaluationError, RelayError


@dataclass
class Found:
    first: Any
    second: Any = None
    third: Any = None


torch.export.register_dataclass(Found)


class Nested(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x: Any, mask: Any = None, *rest: Any, scale: int = 3, **more: Any) -> Any:
        y = self.layer(x) * scale
        y = y if mask is None else y * mask
        inner = more["given"]["a"] if "given" in more else x
        return {
            "found": Found(y + sum(rest, 0.0), third=[inner, (x * 2,)]),
            "none": None,
            "rows": x.shape[0],
            5: (True, 2.5, "text"),
        }


def same(found: Any, expected: Any) -> None:
    flat, spec = torch.utils._pytree.tree_flatten(found)
    wanted, other = torch.utils._pytree.tree_flatten(expected)
    assert spec == other
    for one, two in zip(flat, wanted, strict=True):
        assert type(one) is type(two)
        if isinstance(one, torch.Tensor):
            torch.testing.assert_close(one, two)
        else:
            assert one == two


def test_arguments_and_results_are_nested_as_in_the_model() -> None:
    model, x = Nested().eval(), torch.randn(4, 3)
    with torch.no_grad():
        exe = relay.compile(model, (x,))
        given = torch.randn(3, 4).T
        same(exe(given), model(given))
        same(exe(given, None, scale=3), model(given))
        with pytest.raises(EvaluationError, match="`scale` is something else"):
            exe(x, scale=2)
        exe = relay.compile(model, (x, x, x), kwargs={"given": {"a": x}, "scale": 2})
        other = torch.randn(4, 3)
        named = {"scale": 2, "given": {"a": other}}
        same(exe(x, other, x, **named), model(x, other, x, **named))
        with pytest.raises(EvaluationError, match="no value for argument `given`"):
            exe(x, other, x, scale=2)
        with pytest.raises(EvaluationError, match="as when it was compiled"):
            exe(x, other, x, given={"a": other})
        loaded = relay.load(relay_bytes(exe))
        same(loaded(x, other, x, **named), model(x, other, x, **named))


def relay_bytes(exe: relay.Executable) -> bytes:
    from relay.executors.artifact import to_bytes

    return to_bytes(exe)


class Rows(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor | None = None) -> Any:
        return {"rows": x.shape[0], "twice": (2 * x.shape[0] + 1, x.shape[1])}, [x + x], y


def test_an_open_size_that_is_a_result_is_a_number() -> None:
    x = torch.randn(4, 3)
    exe = relay.compile(Rows(), (x,), dynamic_shapes=({0: Dim("rows")},))
    for rows in (2, 5, 40):
        given = torch.randn(rows, 3)
        same(exe(given), Rows()(given))


class Scripted(torch.nn.Module):
    def forward(
        self, x: torch.Tensor, pair: tuple[torch.Tensor, int], times: int = 2
    ) -> tuple[dict[str, torch.Tensor], list[torch.Tensor], int, torch.Tensor | None]:
        total = x * pair[1]
        for _ in range(times):
            total = total + pair[0]
        return {"total": total, "x": x}, [x, x + 1], x.size(0) * 2, None


def test_a_script_is_called_like_the_script() -> None:
    script, x = torch.jit.script(Scripted()), torch.randn(2, 3)
    exe = relay.compile(script, (x, (x, 3)))
    pair = (torch.randn(2, 3), 3)
    same(exe(x, pair), script(x, pair))
    same(exe(pair=pair, x=x, times=2), script(x, pair))
    with pytest.raises(EvaluationError, match=r"`pair\[1\]` is something else"):
        exe(x, (x, 4))  # an example that is a number is a constant
    infos = [("data", (2, 3))]
    named = relay.compile(torch.jit.trace(torch.nn.ReLU(), (x,)), input_infos=infos)
    same(named(data=x), torch.relu(x))


class Counter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        self.mean.mul_(0.5).add_(x, alpha=0.5)
        return x * self.steps + self.mean


def test_a_module_that_counts_its_calls_is_called_a_hundred_times() -> None:
    exe, model = relay.compile(Counter(), (torch.randn(3),)), Counter()
    for _ in range(100):
        x = torch.randn(3)
        torch.testing.assert_close(exe(x), model(x))
    assert exe.state["steps"].numpy() == 100
    np.testing.assert_allclose(exe.state["mean"].numpy(), model.mean.numpy(), rtol=1e-5)
    exe.reset()
    assert exe.state["steps"].numpy() == 0
    assert exe(torch.zeros(3)).sum() == 0


def test_what_can_be_compiled_is_an_exported_program_a_module_or_a_file(tmp_path: Any) -> None:
    model, x = torch.nn.Linear(3, 2).eval(), torch.randn(4, 3)
    exported = torch.export.export(model, (x,))
    with torch.no_grad():
        for exe in (relay.compile(exported), relay.compile(model, (x,)), relay.compile(model, [x])):
            torch.testing.assert_close(exe(x), model(x))
            torch.testing.assert_close(exe(input=x), model(x))
    for second in ({"weight": x}, {}):
        with pytest.raises(RelayError, match="a mapping is for the weights of other models"):
            relay.compile(model, second)
    with pytest.raises(RelayError, match="example inputs are a tuple"):
        relay.compile(model, 5)
    x_var = relay.var("x", shape=(2,))
    with pytest.raises(RelayError, match="`dynamic_shapes` is for models of PyTorch"):
        relay.compile(relay.Function([x_var], x_var), dynamic_shapes={})
