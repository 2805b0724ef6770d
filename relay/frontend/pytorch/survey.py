"""The report of all operators of a model that are not supported."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.fx import GraphModule
from torch.fx import Node as Call

from relay.frontend.common import converters as common
from relay.frontend.common.naming import quoted
from relay.frontend.common.unsupported import unsupported
from relay.frontend.pytorch.converters import COMPLEX, find, parts_of


def survey(graph: GraphModule, tables: Sequence[common.Converters]) -> None:
    """Refuse a model with unsupported operators: all are named, with how often and where."""
    found: dict[str, list[str]] = {}
    for one in graphs_of(graph):
        for call in one.graph.nodes:
            if call.op == "call_function" and not is_supported(call, tables):
                found.setdefault(f"operator {quoted(str(call.target))}", []).append(call.name)
    if found:
        hint = "operators of your own: from_pytorch(model, inputs, operators=[table])"
        raise unsupported(found, hint)


def graphs_of(graph: GraphModule) -> Iterator[GraphModule]:
    """A graph, and those inside it."""
    waiting = [graph]
    while waiting:
        one = waiting.pop()
        waiting += [child for child in one.children() if isinstance(child, GraphModule)]
        yield one


def is_supported(call: Call, tables: Sequence[common.Converters]) -> bool:
    """Whether there is a converter of what is called."""
    if call.target is operator.getitem or isinstance(call.meta.get("val"), torch.SymInt):
        return True
    target: Any = call.target
    namespace, name, overload = parts_of(target)
    domains = (namespace, f"{COMPLEX}{namespace}")
    return any(find(tables, one, name, overload) is not None for one in domains)
