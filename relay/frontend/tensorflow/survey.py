"""The report of all operators of a model that are not supported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relay.frontend.common.converters import Converters
from relay.frontend.common.naming import quoted
from relay.frontend.common.unsupported import unsupported
from relay.frontend.tensorflow.converters import find
from relay.frontend.tensorflow.messages import Functions, GraphInfo, NodeInfo, Reference

# nodes that are not run, and what only they need: messages, checks of values, summaries
LEFT_OUT = frozenset(
    {"Assert", "Print", "PrintV2", "StringFormat", "ScalarSummary", "HistogramSummary"}
)
_CALLED = ("f", "cond", "body", "then_branch", "else_branch")  # attributes that are functions


def survey(
    graph: GraphInfo,
    functions: Functions,
    tables: Sequence[Converters],
    results: Sequence[Reference],
    inputs: Sequence[Reference],
) -> None:
    """Refuse a model with unsupported operators among what its results need: all are named, with
    how often and where."""
    found: dict[str, list[str]] = {}
    given = {name for name, _ in inputs}
    todo = [(graph, [name for name, _ in results])]
    seen = {graph.name}
    while todo:
        one, names = todo.pop()
        for node in _reached(one, names):
            is_given = node.name in one.arguments or (one is graph and node.name in given)
            if not is_given and find(tables, node.op) is None:
                found.setdefault(f"operator {quoted(node.op)}", []).append(node.name)
            for called in _functions(node):
                if called not in seen and called in functions.messages:
                    seen.add(called)
                    inner = functions.find(called)
                    names_of = [*inner.effects, *(name for name, _ in inner.results)]
                    todo.append((inner, names_of))
    if found:
        hint = "operators of your own: from_tensorflow(model, operators=[table])"
        raise unsupported(found, hint)


def _reached(graph: GraphInfo, names: Sequence[str]) -> Iterator[NodeInfo]:
    """The nodes that results depend on."""
    todo, seen = list(names), set(names)
    while todo:
        node = graph.node(todo.pop())
        if node.op in LEFT_OUT:
            continue
        yield node
        for name in (*node.controls, *(one for one, _ in node.inputs)):
            if name not in seen:
                seen.add(name)
                todo.append(name)


def _functions(node: NodeInfo) -> Iterator[str]:
    for name in _CALLED:
        found = node.attribute(name) if name in node.attributes else None
        if isinstance(found, str):
            yield found
    for found in node.attribute("branches", []) if "branches" in node.attributes else []:
        if isinstance(found, str):
            yield found
