"""Functions of tensors that must give what eager torch gives, many of them in one program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.export import Dim
from torch.utils import _pytree as pytree

import relay
from relay.interpreter.values import TupleValue
from tests.support.looping import naming

Tensors = Sequence[torch.Tensor]
# functions of the same tensors by name
Functions = Mapping[str, Callable[..., Any]]


class Together(torch.nn.Module):
    """A module that gives the results of all functions."""

    def __init__(self, functions: Functions) -> None:
        super().__init__()
        self.functions = dict(functions)

    def forward(self, *tensors: torch.Tensor) -> list[Any]:
        return [one(*tensors) for one in self.functions.values()]


def agree(
    functions: Functions,
    *inputs: torch.Tensor,
    others: Sequence[Tensors] = (),
    open_axes: Sequence[Mapping[int, str]] | None = None,
    native: bool = False,
    exact: bool = False,
) -> None:
    """Check all functions for inputs, and for `others`, whose sizes differ along `open_axes`."""
    model = Together(functions)
    shapes = None
    if open_axes is not None:
        names = sorted({name for one in open_axes for name in one.values()})
        sizes = {name: Dim(name, min=4, max=4096) for name in names}
        shapes = (tuple({axis: sizes[name] for axis, name in one.items()} for one in open_axes),)
    mod, params = relay.frontend.from_pytorch(model, inputs, dynamic_shapes=shapes)
    run = relay.compile(mod, params) if native else _interpreted(mod, params)
    for given in (inputs, *others):
        wanted = model(*given)
        found = _leaves(run(*given))
        for name, one in zip(functions, wanted, strict=True):
            leaves = [torch.as_tensor(each) for each in pytree.tree_leaves(one)]
            mine, found = found[: len(leaves)], found[len(leaves) :]
            with naming(name):
                for a, b in zip(mine, leaves, strict=True):
                    compare(a, b, exact=exact)
        assert not found


def _interpreted(mod: relay.IRModule, params: Mapping[str, Any]) -> Callable[..., Any]:
    evaluate = relay.create_executor("debug", mod).evaluate()
    return lambda *given: evaluate(*given, **params)


def compare(found: Any, wanted: torch.Tensor, *, exact: bool = False) -> None:
    """Check a result against that of torch."""
    tensor = found if isinstance(found, torch.Tensor) else torch.from_numpy(found.numpy().copy())
    if exact:
        torch.testing.assert_close(tensor, wanted, rtol=0, atol=0, equal_nan=True)
    else:
        torch.testing.assert_close(tensor, wanted, equal_nan=True)


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, list | tuple | TupleValue):
        return [leaf for one in value for leaf in _leaves(one)]
    return [value]
