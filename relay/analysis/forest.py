"""Incremental forest with lowest common ancestors in logarithmic time.

The immediate dominator of a node is the lowest common ancestor of its predecessors in the dominator
tree, so that tree is built node by node.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce


class Forest:
    """Nodes are 0, 1, 2, … in the order they are added, each below an earlier one or a root."""

    __slots__ = ("_jump", "depth", "parent")

    def __init__(self) -> None:
        self.parent: list[int | None] = []
        self.depth: list[int] = []
        # a pointer far up, spaced so that ancestors are found in logarithmic time (Myers 1983)
        self._jump: list[int] = []

    def add(self, parent: int | None) -> int:
        """A new node below `parent`, or a new root."""
        node = len(self.parent)
        self.parent.append(parent)
        if parent is None:
            self.depth.append(0)
            self._jump.append(node)
            return node
        jump, depth = self._jump, self.depth
        near = jump[parent]
        far = jump[near]
        self.depth.append(depth[parent] + 1)
        same_stride = depth[parent] - depth[near] == depth[near] - depth[far]
        jump.append(far if same_stride else parent)
        return node

    def ancestor(self, node: int, depth: int) -> int:
        """The ancestor of `node` (or itself) at that depth, which must not be greater."""
        depths, jump, parent = self.depth, self._jump, self.parent
        while depths[node] > depth:
            higher = jump[node]
            node = higher if depths[higher] >= depth else parent[node]  # type: ignore[assignment]
        return node

    def is_above(self, ancestor: int, node: int) -> bool:
        """Whether `ancestor` is `node` or lies above it."""
        depth = self.depth[ancestor]
        return self.depth[node] >= depth and self.ancestor(node, depth) == ancestor

    def meet_all(self, nodes: Iterable[int | None]) -> int | None:
        """The lowest common ancestor of several nodes; None when there is none, or no node."""
        found = list(nodes)
        return reduce(self.meet, found) if found else None

    def meet(self, a: int | None, b: int | None) -> int | None:
        """The lowest common ancestor (or equal); None when the nodes lie in different trees."""
        if a is None or b is None:
            return None
        if a == b:
            return a
        depth, jump = self.depth, self._jump
        if depth[a] > depth[b]:
            a = self.ancestor(a, depth[b])
        elif depth[b] > depth[a]:
            b = self.ancestor(b, depth[a])
        while a != b:
            above, beside = self.parent[a], self.parent[b]
            if above is None or beside is None:
                return None
            if jump[a] != jump[b]:
                above, beside = jump[a], jump[b]
            a, b = above, beside
        return a
