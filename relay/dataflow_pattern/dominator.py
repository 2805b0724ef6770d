r"""Dominator patterns: a child over a region whose every path begins at one parent.

        conv2d            parent
        /    \
     relu    tanh         path: everything between
        \    /
         add              child

All paths up from the child must meet in the parent, over nodes that match `path`. Which nodes match
`path` does not depend on the rest of the pattern, so the dominator tree of these paths is built
once per program: the parent of a matching node is where the paths from all its inputs meet, a node
that does not match is a root. The candidates for the parent are then the ancestors of the child,
nearest first. In the other direction, the child must post-dominate the parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from relay.analysis.forest import Forest
from relay.dataflow_pattern.patterns import DFPattern
from relay.dataflow_pattern.steps import ENTER, FAIL, Goals, Step
from relay.ir.expr import Call, Expr, Op

if TYPE_CHECKING:
    from relay.dataflow_pattern.matcher import Matcher, Search


class DominatorStep(Step):
    """First the child, then a parent above it, then the paths between them."""

    __slots__ = ("child", "parent", "path")

    def __init__(self, pattern: DFPattern, parent: Step, path: Step, child: Step) -> None:
        super().__init__(pattern, child.heads)
        self.parent = parent
        self.path = path
        self.child = child

    def parts(self) -> Sequence[Step]:
        return (self.parent, self.path, self.child)

    @property
    def branches(self) -> bool:
        return True

    def enter(self, search: Search, expr: Expr, rest: Goals) -> Goals:
        return search.with_parts((self.child,), (expr,), (_Seek(self), expr, ENTER, rest))


class _Seek(Step):
    """Find a parent above the child; from the second attempt on, above the parent tried before."""

    __slots__ = ("above", "dominator")

    def __init__(self, dominator: DominatorStep, above: int | None = None) -> None:
        super().__init__(None, None)
        self.dominator = dominator
        self.above = above

    def enter(self, search: Search, expr: Expr, rest: Goals) -> Goals:
        graph = search.matcher.graph
        meetings = search.matcher.meetings(self.dominator)
        child = graph.number_of(expr)
        parent = meetings.first(child) if self.above is None else meetings.next(self.above)
        # if this parent has a use outside, so has every node above it
        if parent is None or not graph.dominates(child, parent):
            return FAIL
        search.choose_later((_Seek(self.dominator, parent), expr, ENTER, rest))
        found = graph.nodes[parent]
        assert isinstance(found, Expr)
        between = (_Between(self.dominator, child), found, ENTER, rest)
        return search.with_parts((self.dominator.parent,), (found,), between)


class _Between(Step):
    """Bind the paths between the child and the parent that was found."""

    __slots__ = ("child", "dominator")

    def __init__(self, dominator: DominatorStep, child: int) -> None:
        super().__init__(None, None)
        self.dominator = dominator
        self.child = child

    def enter(self, search: Search, expr: Expr, rest: Goals) -> Goals:
        graph = search.matcher.graph
        meetings = search.matcher.meetings(self.dominator)
        along = Along(self.dominator.path)
        for i in meetings.between(self.child, graph.number_of(expr)):
            search.several.append((along, graph.nodes[i]))  # type: ignore[arg-type]
        return rest


class Along(Step):
    """A node of the path, known to match; its bindings are found when the search is over.

    It is matched separately for every node of the path, so the rest cannot depend on its bindings.
    """

    __slots__ = ("path",)

    def __init__(self, path: Step) -> None:
        super().__init__(None, None)
        self.path = path


class PathTree:
    """The dominator tree of the paths of one dominator pattern, for a whole program."""

    def __init__(self, matcher: Matcher, dominator: DominatorStep) -> None:
        self._graph = graph = matcher.graph
        self._forest = forest = Forest()
        self._atoms: set[int] = set()
        # for every node: where all paths from its inputs meet, whether or not it matches itself
        self._meeting: list[int | None] = []
        # the node itself or the nearest ancestor that may be a parent
        self._candidate: list[int | None] = []
        heads = dominator.parent.heads
        for i, node in enumerate(graph.nodes):
            if graph.is_atom(i):
                # no path begins at an atom, unless the pattern wants one as the parent
                is_wanted = heads is not None and type(node) in heads
                if is_wanted and matcher.fits(dominator.parent, node):  # type: ignore[arg-type]
                    self._atoms.add(i)
                self._meeting.append(None)
                self._candidate.append(i)
                forest.add(None)
                continue
            parent = meeting = forest.meet_all(self._inputs(i))
            self._meeting.append(meeting)
            fits = isinstance(node, Expr) and meeting is not None
            if not fits or not matcher.fits(dominator.path, node):  # type: ignore[arg-type]
                parent = None
            forest.add(parent)
            if isinstance(node, Expr) and (heads is None or not heads.isdisjoint(_heads(node))):
                self._candidate.append(i)
            else:
                self._candidate.append(None if parent is None else self._candidate[parent])

    def _inputs(self, i: int) -> list[int]:
        """The nodes a path may come from: neither the callee nor other atoms."""
        graph = self._graph
        children = graph.children[i][1:] if type(graph.nodes[i]) is Call else graph.children[i]
        return [c for c in children if not graph.is_atom(c) or c in self._atoms]

    def first(self, child: int) -> int | None:
        """The nearest node above `child` that may be its parent."""
        meeting = self._meeting[child]
        return None if meeting is None else self._candidate[meeting]

    def next(self, parent: int) -> int | None:
        """The nearest node above `parent` that may be the parent instead."""
        above = self._forest.parent[parent]
        return None if above is None else self._candidate[above]

    def between(self, child: int, parent: int) -> list[int]:
        """The nodes on the paths, without the ends, the lowest first."""
        seen = {parent}
        found: list[int] = []
        stack = self._inputs(child)[::-1]
        while stack:
            current = stack.pop()
            if current not in seen:
                seen.add(current)
                found.append(current)
                stack.extend(self._inputs(current)[::-1])
        return found


def _heads(expr: Expr) -> tuple[str | type, ...]:
    if type(expr) is Call and isinstance(expr.op, Op):
        return (expr.op.name, Call)
    return (type(expr),)
