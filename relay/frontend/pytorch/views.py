"""Results of a graph that share memory: views, which PyTorch makes of what compiled code computes.

    total = x * 2; return total, total.view(-1)
    ->  compiled: total      then in PyTorch: total, total.view(-1)

A graph of AOTAutograd gives views of its own values; whoever writes one of them must see it in the
others.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule
from torch.fx import Node as Call

from relay.errors import FrontendError
from relay.frontend.pytorch.spans import span_of
from relay.immutable import frozen


@frozen
class Step:
    """A view of the value before it; `sizes` are arguments of the graph, by the place of the
    argument that they are."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    sizes: dict[int, int]

    def __call__(self, value: Any, given: Sequence[Any]) -> Any:
        args = [given[self.sizes[n]] if n in self.sizes else one for n, one in enumerate(self.args)]
        return self.function(value, *args, **self.kwargs)


@frozen
class Result:
    """A result of a graph: one that is compiled, and the views that lead from it."""

    compiled: int
    steps: tuple[Step, ...] = ()


def without_views(graph: GraphModule) -> tuple[GraphModule, tuple[Result, ...]]:
    """The graph with results that do not share memory, and the results it had."""
    found = graph.graph.output_node().args[0]
    given = list(found) if isinstance(found, list | tuple) else [found]
    storages = Counter(_storage(one) for one in dict.fromkeys(given))
    wanted: list[Any] = []
    results: list[Result] = []
    for one in given:
        root: Any = one
        steps: list[Step] = []
        if isinstance(one, Call) and storages[_storage(one)] > 1:
            root, steps = _root(graph, one)
        same = [n for n, other in enumerate(wanted) if isinstance(root, Call) and other is root]
        if not same:
            wanted.append(root)
        results.append(Result(same[0] if same else len(wanted) - 1, tuple(steps)))
    if len(wanted) == len(given) and all(a is b for a, b in zip(wanted, given, strict=True)):
        return graph, tuple(results)
    made = GraphModule(graph, torch.fx.Graph())
    names: dict[Call, Call] = {}
    made.graph.graph_copy(graph.graph, names)
    made.graph.output([names[one] if isinstance(one, Call) else one for one in wanted])
    for old, new in names.items():
        new.meta = dict(old.meta)
    made.graph.eliminate_dead_code()
    made.recompile()
    return made, tuple(results)


def _storage(one: Any) -> Any:
    """What is the same for values that share memory."""
    value = one.meta.get("val") if isinstance(one, Call) else None
    if not isinstance(value, torch.Tensor):
        return id(one)
    return value.untyped_storage()._cdata


def _root(graph: GraphModule, call: Call) -> tuple[Call, list[Step]]:
    """The value that a value is a view of, and how."""
    places = [one for one in graph.graph.nodes if one.op == "placeholder"]
    steps: list[Step] = []
    while call.op == "call_function" and _is_view(call):
        of, *rest = call.args
        sizes = {}
        for number, one in enumerate(rest):
            if isinstance(one, Call) and one in places:
                sizes[number] = places.index(one)
            elif _has_calls(one):
                raise FrontendError.of(
                    "results share memory, and how depends on computed sizes", span_of(call)
                )
        if _has_calls(list(call.kwargs.values())):
            raise FrontendError.of(
                "results share memory, and how depends on computed values", span_of(call)
            )
        steps.append(Step(call.target, tuple(rest), dict(call.kwargs), sizes))
        assert isinstance(of, Call)
        call = of
    return call, steps[::-1]


def _has_calls(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(isinstance(one, Call) for one in value)
    return isinstance(value, Call)


def _is_view(call: Call) -> bool:
    target: Any = call.target
    if target is operator.getitem:
        of = call.args[0]
        return isinstance(of, Call) and of.op == "call_function" and _is_view(of)
    if not isinstance(target, torch._ops.OpOverload):
        return False
    alias = [one.alias_info for one in target._schema.arguments[:1]]
    return bool(alias) and alias[0] is not None and not alias[0].is_write
