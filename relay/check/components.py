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
    path: list[K] = []
    position: dict[K, int] = {}  # of the nodes on the path
    groups: list[list[K]] = []
    for root in graph:
        if root in index:
            continue
        stack: list[tuple[K, Iterator[K]]] = []
        entered: K | None = root
        while entered is not None or stack:
            if entered is not None:
                index[entered] = low[entered] = len(index)
                path.append(entered)
                position[entered] = len(path) - 1
                stack.append((entered, iter(graph[entered])))
                entered = None
            node, successors = stack[-1]
            for successor in successors:
                if successor not in graph:
                    continue
                if successor not in index:
                    entered = successor
                    break
                if successor in position:
                    low[node] = min(low[node], index[successor])
            else:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[node])
                if low[node] == index[node]:
                    group = path[position[node] :]
                    del path[position[node] :]
                    for member in group:
                        del position[member]
                    groups.append(group)
    return groups
