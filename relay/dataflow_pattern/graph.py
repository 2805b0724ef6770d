"""A program as a graph with nodes numbered in post-order: users, heads and post-dominators.

Every node has a greater number than its parts, and the program itself has the greatest. Everything
beyond the numbering is computed on first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from relay import tree
from relay.analysis.forest import Forest
from relay.ir.expr import Call, Expr, Function, Op, Syntax, is_atom

# The attribute of functions made by `partition`, which are not matched again.
PARTITIONED = "PartitionedFromPattern"


class NumberedGraph:
    """The nodes of `root` and the edges between them."""

    def __init__(self, root: Expr) -> None:
        self.root = root
        self.nodes: list[Syntax] = []
        self.number: dict[int, int] = {}
        self.children: list[tuple[int, ...]] = []
        nodes, number = self.nodes, self.number
        stack: list[tuple[Syntax, Sequence[Syntax] | None]] = [(root, None)]
        while stack:
            node, below = stack.pop()
            if id(node) in number:
                continue
            if below is None:
                # nearly all nodes are calls
                below = (node.op, *node.args) if type(node) is Call else tree.children(node)
                if below:
                    stack.append((node, below))
                    stack.extend([(c, None) for c in reversed(below) if id(c) not in number])
                    continue
            number[id(node)] = len(nodes)
            nodes.append(node)
            self.children.append(tuple([number[id(child)] for child in below]))

    def number_of(self, node: Syntax) -> int:
        return self.number[id(node)]

    def __contains__(self, node: Syntax) -> bool:
        return id(node) in self.number

    @cached_property
    def users(self) -> list[list[int]]:
        """The users of every node, ascending, each as often as it uses the node."""
        users: list[list[int]] = [[] for _ in self.nodes]
        for user, children in enumerate(self.children):
            for child in children:
                users[child].append(user)
        return users

    # --- finding nodes

    @cached_property
    def _by_head(self) -> dict[str | type, list[int]]:
        found: dict[str | type, list[int]] = {}
        for i, node in enumerate(self.nodes):
            if type(node) is Call and isinstance(node.op, Op):
                found.setdefault(node.op.name, []).append(i)
            else:
                found.setdefault(type(node), []).append(i)
        return found

    def with_head(self, heads: Iterable[str | type] | None) -> list[int]:
        """The calls of the named operators and the nodes of the given classes (`Call`: all calls);
        None: all expressions."""
        if heads is None:
            return [i for i, node in enumerate(self.nodes) if isinstance(node, Expr)]
        wanted = set(heads)
        if Call in wanted:
            wanted.update(head for head in self._by_head if isinstance(head, str))
        lists = [self._by_head[head] for head in wanted if head in self._by_head]
        return lists[0] if len(lists) == 1 else sorted(i for found in lists for i in found)

    @cached_property
    def settled(self) -> frozenset[int]:
        """The functions made by `partition` and everything inside them."""
        found: set[int] = set()
        for i, node in enumerate(self.nodes):
            if type(node) is Function and PARTITIONED in node.attrs:
                found.update(self.below(i, found))
        return frozenset(found)

    def below(self, start: int, known: Iterable[int] = ()) -> set[int]:
        """`start` and everything below it, without entering what is `known`."""
        skip = known if isinstance(known, set | frozenset) else set(known)
        found: set[int] = set()
        stack = [start]
        while stack:
            current = stack.pop()
            if current not in found and current not in skip:
                found.add(current)
                stack.extend(self.children[current])
        return found

    # --- domination

    @cached_property
    def _post_dominators(self) -> Forest:
        # The tree node of graph node i is len(nodes) - 1 - i: users come before what they use.
        forest = Forest()
        last = len(self.nodes) - 1
        for i in range(last, -1, -1):
            forest.add(forest.meet_all(last - user for user in self.users[i]))
        return forest

    def dominates(self, end: int, node: int) -> bool:
        """Whether everything that depends on `node` reaches the program's result through `end`."""
        last = len(self.nodes) - 1
        return self._post_dominators.is_above(last - end, last - node)

    def is_atom(self, i: int) -> bool:
        return is_atom(self.nodes[i])
