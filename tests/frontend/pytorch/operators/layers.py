"""Functions of tensors as models: many of them become one program, whose results are those of eager
torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree as pytree

import relay

# a function, and the tensors it is called with
Case = tuple[Callable[..., Any], Sequence[torch.Tensor]]


class Together(torch.nn.Module):
    """The results of all functions."""

    def __init__(self, cases: Sequence[Case]) -> None:
        super().__init__()
        self.cases = cases

    def forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        waiting, found = [*tensors], []
        for function, given in self.cases:
            own = [waiting.pop(0) for _ in given]
            results = pytree.tree_leaves(function(*own))
            found += [one for one in results if isinstance(one, torch.Tensor)]
        return found


def agree(
    *cases: Case,
    compiled: bool = False,
    rtol: float = 1e-4,
    atol: float = 1e-5,
    dynamic_shapes: Any = None,
    others: Sequence[Sequence[torch.Tensor]] = (),
) -> None:
    """Check that the interpreter, or native code, gives what torch does; `others` are further
    inputs, of a model with dynamic shapes."""
    model = Together(cases).eval()
    tensors = tuple(one for _, given in cases for one in given)
    shapes = None if dynamic_shapes is None else (dynamic_shapes,)
    mod, params = relay.frontend.from_pytorch(model, tensors, dynamic_shapes=shapes)
    run = relay.compile(mod, params) if compiled else _interpreted(mod, params)
    for given in (tensors, *others):
        expected = model(*given)
        found = run(*given)
        results = [*found] if isinstance(found, list | tuple) else [found]
        assert len(results) == len(expected)
        for place, (one, wanted) in enumerate(zip(results, expected, strict=True)):
            one, wanted = map(_pairs, (one, wanted))
            torch.testing.assert_close(
                one,
                wanted,
                rtol=rtol,
                atol=atol,
                equal_nan=True,
                msg=lambda text, place=place: f"result {place}: {text}",
            )


def _pairs(tensor: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def _interpreted(mod: relay.IRModule, params: Any) -> Callable[..., list[torch.Tensor]]:
    function = relay.create_executor("debug", mod).evaluate()

    def run(*tensors: torch.Tensor) -> list[torch.Tensor]:
        plain = [torch.view_as_real(one) if one.is_complex() else one for one in tensors]
        found = function(*(relay.nd.from_torch(one.contiguous()) for one in plain), **params)
        fields = found.fields if hasattr(found, "fields") else [found]
        return [torch.from_dlpack(one) if _is_plain(one) else _half(one) for one in fields]

    return run


def _is_plain(value: Any) -> bool:
    return value.array.dtype.kind in "fiub"


def _half(value: Any) -> torch.Tensor:
    """bfloat16, by way of its bits."""
    return torch.from_numpy(value.array.view(np.int16).copy()).view(torch.bfloat16)
