"""Graphs of MXNet in JSON: nodes in the order in which they run, with graphs of loops inside.

Attributes are texts: "(3, 3)", "True", "64".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from relay.errors import FrontendError
from relay.immutable import frozen

DEEPEST = 8  # graphs inside of graphs
MOST_NODES = 1 << 18
LARGEST = 1 << 27  # bytes of JSON


@frozen
class NodeInfo:
    """A node: its operator, its name, and what it reads: results of nodes before it."""

    operator: str
    name: str
    attributes: Mapping[str, str]
    inputs: Sequence[tuple[int, int]]
    subgraphs: Sequence[GraphInfo] = ()

    @property
    def is_variable(self) -> bool:
        return self.operator == "null"


@frozen
class GraphInfo:
    """A graph: nodes, and the results that are its outputs."""

    nodes: Sequence[NodeInfo]
    heads: Sequence[tuple[int, int]]
    arguments: Sequence[int]  # its variables, in their order

    def all_nodes(self) -> Iterator[NodeInfo]:
        """The nodes of this graph and of those inside."""
        left: list[GraphInfo] = [self]
        while left:
            graph = left.pop()
            for node in graph.nodes:
                yield node
                left += node.subgraphs


def broken(message: str, found: object = None) -> FrontendError:
    shown = None if found is None else repr(found)[:80]
    return FrontendError.of(f"the symbol is broken: {message}", found=shown)


def read(text: str | bytes) -> GraphInfo:
    """A graph from JSON."""
    if len(text) > LARGEST:
        raise broken("it is too large")
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise broken("it is no JSON", str(error)) from None
    return _graph(given, 0)


def _graph(given: Any, depth: int) -> GraphInfo:
    if depth > DEEPEST:
        raise broken("graphs nest too deeply")
    if not isinstance(given, dict) or not isinstance(given.get("nodes"), list):
        raise broken("it has no list of nodes")
    if len(given["nodes"]) > MOST_NODES:
        raise broken(f"it has more than {MOST_NODES} nodes")
    nodes: list[NodeInfo] = []
    for one in given["nodes"]:
        nodes.append(_node(one, len(nodes), depth))
    heads = _places(given.get("heads"), len(nodes))
    arguments = given.get("arg_nodes", [])
    if not isinstance(arguments, list) or not all(
        type(one) is int and 0 <= one < len(nodes) for one in arguments
    ):
        raise broken("its arguments are no nodes", arguments)
    return GraphInfo(tuple(nodes), heads, tuple(arguments))


def _node(given: Any, place: int, depth: int) -> NodeInfo:
    if not isinstance(given, dict):
        raise broken("a node is none", given)
    operator, name = given.get("op"), given.get("name")
    if not isinstance(operator, str) or not isinstance(name, str):
        raise broken("a node has no operator or no name", given.get("name"))
    attributes = given.get("attrs", given.get("param", given.get("attr", {})))
    if not isinstance(attributes, dict):
        raise broken("the attributes of a node are none", name)
    inputs = _places(given.get("inputs", []), place)  # of nodes before it: there are no cycles
    graphs = given.get("subgraphs", [])
    if not isinstance(graphs, list):
        raise broken("the graphs inside of a node are no list", name)
    return NodeInfo(
        operator,
        name,
        {str(key): str(value) for key, value in attributes.items()},
        inputs,
        tuple(_graph(one, depth + 1) for one in graphs),
    )


def _places(given: Any, count: int) -> tuple[tuple[int, int], ...]:
    """Results of nodes: `[node, result, version]`."""
    if not isinstance(given, list):
        raise broken("its inputs or outputs are no list", given)
    found = []
    for one in given:
        pair = one[:2] if isinstance(one, list) else [one, 0]
        fits = len(pair) == 2 and all(type(part) is int for part in pair)
        if not fits or not 0 <= pair[0] < count or pair[1] < 0:
            raise broken("a node reads what is not before it", one)
        found.append((pair[0], pair[1]))
    return tuple(found)
