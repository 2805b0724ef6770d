"""Modules of one operator of PyTorch, with PyTorch as oracle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from relay.debugging import reproducers
from relay.debugging.differences import Tolerance
from relay.immutable import frozen
from relay.interpreter.evaluate import call, evaluate
from relay.interpreter.values import TupleValue, Value, to_value
from relay.ir.expr import GlobalVar


def value(outputs: Any) -> Value:
    """The results of a model of PyTorch, flat."""
    import torch
    from torch.utils import _pytree

    found = [one for one in _pytree.tree_leaves(outputs) if isinstance(one, torch.Tensor)]
    return TupleValue([to_value(one.detach().numpy()) for one in found])


@frozen
class Part:
    """A module that calls one operator, and what PyTorch says it computes."""

    module: Any
    inputs: tuple[Any, ...]  # tensors
    text: str  # the call, of x0, x1, …
    expected: Value
    name: str
    where: str

    def translated(self) -> Value:
        """What the imported module computes, in the interpreter."""
        from relay.frontend import from_pytorch

        module, _ = from_pytorch(self.module, self.inputs)
        given = [to_value(one.detach().numpy()) for one in self.inputs]
        return call(evaluate(GlobalVar("main"), module), given)

    def script(self, tolerance: Tolerance) -> str:
        """The script that shows the difference."""
        arrays = [np.asarray(one.detach().numpy()) for one in self.inputs]
        return reproducers.of_torch(self.name, len(arrays), self.text, arrays, tolerance)


class Parts:
    """The operators of a model as modules of their own, with the values of one run."""

    def __init__(self, model: Any, inputs: Sequence[Any]) -> None:
        import torch

        self.inputs = [
            one if isinstance(one, torch.Tensor) else torch.tensor(one) for one in inputs
        ]
        exported = (
            model
            if isinstance(model, torch.export.ExportedProgram)
            else torch.export.export(model, tuple(self.inputs))
        )
        self.module = exported.run_decompositions({}).module()
        values: dict[Any, Any] = {}

        class Record(torch.fx.Interpreter):
            def run_node(self, n: Any) -> Any:
                values[n] = super().run_node(n)
                return values[n]

        with torch.no_grad():
            self.outputs = Record(self.module).run(*self.inputs)
        self.values = values

    def result(self) -> Value:
        """The result of the whole model in PyTorch."""
        return value(self.outputs)

    def __iter__(self) -> Iterator[Part]:
        import torch

        for node in self.module.graph.nodes:
            read = [one for one in node.all_input_nodes if torch.is_tensor(self.values[one])]
            if node.op != "call_function" or not read or len(read) < len(node.all_input_nodes):
                continue
            names = {one: f"x{number}" for number, one in enumerate(read)}
            yield Part(
                _alone(node, names),
                tuple(self.values[one] for one in read),
                _text(node, names),
                value(self.values[node]),
                str(node.target),
                (node.stack_trace or "").strip().rpartition("\n")[0].strip(),
            )


def _alone(node: Any, names: dict[Any, str]) -> Any:
    """A module that calls the operator of a node with its other arguments."""
    import torch
    from torch.fx.node import map_arg

    class Alone(torch.nn.Module):
        def forward(self, *tensors: Any) -> Any:
            given = dict(zip(names, tensors, strict=True))
            args, kwargs = map_arg((node.args, node.kwargs), lambda one: given[one])
            return node.target(*args, **kwargs)

    return Alone()


def _text(node: Any, names: dict[Any, str]) -> str:
    """The call of a node as Python text."""

    class Name:
        def __init__(self, one: Any) -> None:
            self.one = one

        def __repr__(self) -> str:
            return names[self.one]

    from torch.fx import node as fx

    shown: Any = fx.map_arg  # its result is for printing, not for a graph
    args, kwargs = shown((node.args, node.kwargs), Name)
    parts = [*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())]
    return f"torch.ops.{node.target}({', '.join(parts)})"
