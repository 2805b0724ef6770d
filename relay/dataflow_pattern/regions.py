"""The region of a match: the expressions between its root and its inputs.

    root       the expression that matches the whole pattern
    inside     the root and everything the pattern describes below it
    inputs     what its wildcards and variables are bound to

A match is used only if it can be extracted: users of what is inside must themselves lead to the
root only (`x * sigmoid(x)` is fine), and two matches must not overlap.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from relay.dataflow_pattern.dominator import DominatorStep
from relay.dataflow_pattern.graph import NumberedGraph
from relay.dataflow_pattern.matcher import Bindings, Matcher
from relay.ir.expr import Call, Expr, Function, Op, Syntax, Tuple, TupleGetItem, Var, is_atom
from relay.ir.variables import binders


@dataclass(slots=True)
class Region:
    """A match and its region; nodes are numbers of the graph it was found in."""

    root: int
    bindings: Bindings
    covered: list[Expr]  # the expressions that the pattern describes
    inside: Collection[int]
    read: Collection[int]  # inside functions that the pattern describes: read, not extracted


def region_of(graph: NumberedGraph, root: int, bindings: Bindings) -> Region:
    """The region of a match at `root`."""
    covered = [expr for step, expr in bindings if step.descends]
    for step, _ in bindings:
        if isinstance(step, DominatorStep):
            # a wildcard at the beginning of a region, or on the path, is part of it
            ends = (step.parent, step.path)
            covered += [e for other, e in bindings if other in ends and not is_atom(e)]
    if len(covered) < 2:
        return Region(root, bindings, covered, (root,), ())
    numbers = {graph.number[id(expr)] for expr in covered}
    # a function is a value that others may use as well
    read: set[int] = set()
    for i in numbers:
        if type(graph.nodes[i]) is Function:
            read |= graph.below(i, read)
    read.discard(root)
    return Region(root, bindings, covered, (numbers | {root}) - read, read)


class Claims:
    """The nodes that already belong to a match."""

    def __init__(self, graph: NumberedGraph) -> None:
        self._graph = graph
        self._taken: set[int] = set()
        self._read: set[int] = set()

    def is_free(self, root: int) -> bool:
        """Whether a match may begin at `root`."""
        return root not in self._taken and root not in self._read

    def claim(self, region: Region, keep_shared: bool = False) -> bool:
        """Take `region`, if it is free and nothing inside has users outside.

        With `keep_shared` it may have: then it stays in the program for them.
        """
        inside, read = region.inside, region.read
        if not (self._taken.isdisjoint(inside) and self._read.isdisjoint(inside)):
            return False
        if read and not self._taken.isdisjoint(read):
            return False
        if len(inside) > 1 and not keep_shared and self._escapes(region):
            return False
        self._taken.update(inside)
        self._read.update(read)
        return True

    def _escapes(self, region: Region) -> bool:
        """Whether something inside has a user that does not lead to the root only.

        A node with another user outside is computed again for it, so it must be repeatable.
        """
        graph, users = self._graph, self._graph.users
        used_outside = False
        for node in region.inside:
            if node == region.root:
                continue
            for user in users[node]:
                if user in region.inside or user in region.read:
                    continue
                if not graph.dominates(region.root, user):
                    return True
                used_outside = True
        return used_outside and not all(_is_repeatable(graph.nodes[i]) for i in region.inside)


def _is_repeatable(node: Syntax) -> bool:
    """Whether computing it twice is the same as computing it once."""
    if isinstance(node, Call):
        return isinstance(node.op, Op) and not getattr(node.op, "stateful", False)
    return isinstance(node, Tuple | TupleGetItem)


def _is_computed(graph: NumberedGraph, node: int) -> bool:
    """Whether `node` is used as a value: a variable that is only bound is not."""
    found = graph.nodes[node]
    if not isinstance(found, Var) or not graph.users[node]:
        return True
    users = graph.users[node]
    return len(users) > sum(found in binders(graph.nodes[user]) for user in set(users))


def find_regions(graph: NumberedGraph, matcher: Matcher, claims: Claims) -> Iterator[Region]:
    """The matches in a program, outermost first, for the caller to claim.

    None begins inside a claimed one, or inside a function made by `partition`.
    """
    settled = graph.settled
    for root in reversed(graph.with_head(matcher.prepared.root.heads)):
        if claims.is_free(root) and root not in settled and _is_computed(graph, root):
            bindings = matcher.match(graph.nodes[root])  # type: ignore[arg-type]
            if bindings is not None:
                yield region_of(graph, root, bindings)
