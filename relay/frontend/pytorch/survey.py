"""The report of all operators of a model that are not supported."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.fx import GraphModule
from torch.fx import Node as Call
from torch.utils._pytree import tree_leaves

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
                what = " of complex numbers" if takes_complex(call) else ""
                text = f"operator {quoted(str(call.target))}{what}"
                found.setdefault(text, []).append(call.name)
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
    domain = f"{COMPLEX}{namespace}" if takes_complex(call) else namespace
    return find(tables, domain, name, overload) is not None


def takes_complex(call: Call) -> bool:
    """Whether arguments are complex numbers."""
    return any(map(_is_complex, tree_leaves((call.args, call.kwargs))))


def _is_complex(argument: Any) -> bool:
    value = argument.meta.get("val") if isinstance(argument, Call) else argument
    if isinstance(value, list | tuple):
        return any(map(_is_complex, value))
    return isinstance(value, complex) or (isinstance(value, torch.Tensor) and value.is_complex())
