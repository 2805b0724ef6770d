"""Random numbers of a graph, drawn by torch's generator, in its order, before compiled code runs.

    mask = bernoulli(empty_like(x), 0.9); return x * mask
    ->  in PyTorch: mask = bernoulli(…)      compiled: return x * mask, with mask as an argument

So numbers and seed are those of eager PyTorch. A call that depends on computed elements, as
`multinomial` of a softmax, stays where it is, and such a graph is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import torch
from torch.fx import GraphModule
from torch.fx import Node as Call

from relay.immutable import frozen

# Operators whose first argument counts for its sizes and element type only.
LIKE: Final = frozenset(
    {
        "bernoulli.p",
        "cauchy.default",
        "exponential.default",
        "geometric.default",
        "log_normal.default",
        "normal_functional.default",
        "rand_like.default",
        "randint_like.default",
        "randint_like.low_dtype",
        "randn_like.default",
        "uniform.default",
    }
)


@frozen
class Size:
    """A size computed from sizes; `symbols` are those that are arguments, by name."""

    expression: Any
    symbols: Mapping[str, int]

    def __call__(self, given: Sequence[Any]) -> int:
        free = self.expression.free_symbols
        return int(self.expression.xreplace({s: int(given[self.symbols[s.name]]) for s in free}))


@frozen
class Argument:
    """An argument of the graph."""

    number: int

    def __call__(self, given: Sequence[Any]) -> Any:
        return given[self.number]


@frozen
class Empty:
    """A tensor whose elements do not count."""

    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    dtype: torch.dtype

    def __call__(self, given: Sequence[Any]) -> torch.Tensor:
        shape, strides = _filled(self.shape, given), _filled(self.strides, given)
        return torch.empty_strided(shape, strides, dtype=self.dtype)


@frozen
class Draw:
    """A call that draws random numbers, with arguments that are known before the graph runs."""

    target: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def __call__(self, given: Sequence[Any]) -> torch.Tensor:
        named = {name: _filled(one, given) for name, one in self.kwargs.items()}
        with torch.no_grad():
            drawn: torch.Tensor = self.target(*_filled(self.args, given), **named)
        return drawn


def _filled(value: Any, given: Sequence[Any]) -> Any:
    if isinstance(value, Size | Argument | Empty):
        return value(given)
    if isinstance(value, list | tuple):
        return type(value)([_filled(one, given) for one in value])
    return value


def without_draws(graph: GraphModule) -> tuple[GraphModule, tuple[Draw, ...]]:
    """The graph with random numbers as further arguments, and how PyTorch draws them, in order."""
    known = _Known(graph)
    draws = {call: draw for call in graph.graph.nodes if (draw := known.draw(call)) is not None}
    if not draws:
        return graph, ()
    made = GraphModule(graph, torch.fx.Graph())
    names: dict[Call, Call] = {}
    for call in graph.graph.find_nodes(op="placeholder"):
        names[call] = made.graph.node_copy(call)
    for call in draws:
        names[call] = made.graph.placeholder(call.name)
    for call in graph.graph.nodes:
        if call not in names:
            names[call] = made.graph.node_copy(call, names.__getitem__)
    for old, new in names.items():
        new.meta = dict(old.meta)
    made.graph.eliminate_dead_code()
    made.recompile()
    return made, tuple(draws.values())


class _Known:
    """What is known before a graph runs: its arguments, and sizes computed from them."""

    def __init__(self, graph: GraphModule) -> None:
        self.places: dict[Call, int] = {}
        self.symbols: dict[str, int] = {}
        for number, call in enumerate(graph.graph.find_nodes(op="placeholder")):
            self.places[call] = number
            value = call.meta.get("val")
            if isinstance(value, torch.SymInt) and value.node.expr.is_Symbol:
                self.symbols[value.node.expr.name] = number

    def draw(self, call: Call) -> Draw | None:
        """A call that draws random numbers; None if it is no such call, or its arguments are
        computed by the graph."""
        target: Any = call.target
        tags = getattr(target, "tags", ())
        if call.op != "call_function" or torch.Tag.nondeterministic_seeded not in tags:
            return None
        if not isinstance(call.meta.get("val"), torch.Tensor):
            return None
        args = list(call.args)
        is_like = str(target).removeprefix("aten.") in LIKE
        try:
            first = [self.empty(args.pop(0))] if is_like else []
            rest = [self.argument(one) for one in args]
            named = {name: self.argument(one) for name, one in call.kwargs.items()}
        except _NotKnown:
            return None
        return Draw(target, (*first, *rest), named)

    def empty(self, call: Any) -> Empty:
        value = call.meta["val"]
        shape, strides = (tuple(map(self.size, one)) for one in (value.shape, value.stride()))
        if value.device.type != "cpu":
            raise _NotKnown
        return Empty(shape, strides, value.dtype)

    def size(self, value: Any) -> Any:
        if not isinstance(value, torch.SymInt):
            return value
        expression = value.node.expr
        if any(symbol.name not in self.symbols for symbol in expression.free_symbols):
            raise _NotKnown
        return Size(expression, self.symbols)

    def argument(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(self.argument(one) for one in value)
        if not isinstance(value, Call):
            return value
        if value in self.places:
            return Argument(self.places[value])
        found = value.meta.get("val")
        if not isinstance(found, torch.SymInt):
            raise _NotKnown
        return self.size(found)


class _NotKnown(Exception):
    """An argument is computed by the graph."""


def native_dropout(data: torch.Tensor, p: float, train: bool | None) -> Any:
    """Dropout as a product with numbers that are drawn apart, in the order of the memory."""
    from torch._prims_common import compute_elementwise_output_logical_to_physical_perm as axes_of

    if train is False or p == 0:
        return data * 1, torch.ones_like(data, dtype=torch.bool)
    axes, _ = axes_of(data)
    places = [axes.index(axis) for axis in range(data.dim())]
    numbers = torch.bernoulli(torch.empty_like(data.permute(axes), dtype=torch.bool), 1 - p)
    kept = numbers.permute(places)
    return data * kept * (0.0 if p == 1 else 1 / (1 - p)), kept
