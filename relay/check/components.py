"""Strongly connected components of a graph, callees before callers (Tarjan, without recursion)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def strongly_connected(graph: Mapping[K, Iterable[K]]) -> list[list[K]]:
    """Groups of mutually reachable nodes; a group comes after every group it points to.

    Edges to nodes that are not keys of `graph` are ignored.
    """
    index: dict[K, int] = {}
    low: dict[K, int] = {}
    on_path: set[K] = set()
    path: list[K] = []
    groups: list[list[K]] = []
    for root in graph:
        if root in index:
            continue
        stack: list[tuple[K, Iterator[K]]] = []

        def enter(node: K, stack: list[tuple[K, Iterator[K]]] = stack) -> None:
            index[node] = low[node] = len(index)
            path.append(node)
            on_path.add(node)
            stack.append((node, iter(graph[node])))

        enter(root)
        while stack:
            node, successors = stack[-1]
            for successor in successors:
                if successor not in graph:
                    continue
                if successor not in index:
                    enter(successor)
                    break
                if successor in on_path:
                    low[node] = min(low[node], index[successor])
            else:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[node])
                if low[node] == index[node]:
                    start = _position(path, node)
                    group = path[start:]
                    del path[start:]
                    on_path.difference_update(group)
                    groups.append(group)
    return groups


def _position(path: list[K], node: K) -> int:
    """Where `node` is, looked for from the end: the group being closed is there."""
    position = len(path) - 1
    while path[position] != node:
        position -= 1
    return position
