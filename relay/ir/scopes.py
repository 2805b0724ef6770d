"""The home of a shared expression: the innermost scope that contains all its uses.

A scope is the body of a function, a branch of an `if`, the right side of a clause, or the body of a
`let`. An expression that is used in several places is computed once, in the innermost scope around
all of them. The printer writes its `%n = …` there, and normal forms bind it there.

At run time every scope but a function's body is entered at most once per call of the function
around it. So a shared expression is computed once per call of `home(e).function`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from relay import tree
from relay.ir.expr import Clause, Function, If, Let, Syntax, is_atom

OPENING = (Function, Let, If, Clause)


class Scope:
    """A node of the scope tree. `owner` and `field` say what opened it; the root has none."""

    __slots__ = ("depth", "field", "function", "jump", "owner", "parent")

    def __init__(self, parent: Scope | None, owner: Syntax | None, field: str) -> None:
        self.parent = parent
        self.owner = owner
        self.field = field
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.function: Scope = (
            self if parent is None or isinstance(owner, Function) else parent.function
        )
        # a pointer far up, spaced so that ancestors are found in logarithmic time (Myers 1983)
        self.jump: Scope
        if parent is None:
            self.jump = self
        elif parent.depth - parent.jump.depth == parent.jump.depth - parent.jump.jump.depth:
            self.jump = parent.jump.jump
        else:
            self.jump = parent

    def ancestor_at(self, depth: int) -> Scope:
        """The ancestor (or self) at that depth."""
        scope = self
        while scope.depth > depth:
            scope = scope.jump if scope.jump.depth >= depth else scope.parent  # type: ignore[assignment]
        return scope

    def common(self, other: Scope) -> Scope:
        """The innermost scope that contains both."""
        a, b = self.ancestor_at(other.depth), other.ancestor_at(self.depth)
        while a is not b:
            if a.jump is not b.jump:
                a, b = a.jump, b.jump
            else:
                a, b = a.parent, b.parent  # type: ignore[assignment]
        return a


class Scopes:
    """The scope tree of an expression: `home(e)` for every expression, and how often it is used."""

    def __init__(self, root: Syntax) -> None:
        self.root = Scope(None, None, "")
        self._home: dict[int, Scope] = {id(root): self.root}
        self._uses: dict[int, int] = {id(root): 1}
        self._opened: dict[tuple[int, str], Scope] = {}
        home, uses = self._home, self._uses
        # parents come before children, so a node's home is final before its parts are placed
        for parent in reversed(list(tree.postorder(root))):
            for child, scope in self._edges(parent):
                key = id(child)
                known = home.get(key)
                if known is None:
                    home[key], uses[key] = scope, 1
                    continue
                uses[key] += 1
                if known is not scope:
                    home[key] = known.common(scope)

    def home(self, e: Syntax) -> Scope:
        """The innermost scope that contains every use of `e`."""
        return self._home[id(e)]

    def uses(self, e: Syntax) -> int:
        """The number of edges that lead to `e`."""
        return self._uses[id(e)]

    def is_shared(self, e: Syntax) -> bool:
        """Whether `e` is a computation reached from several places."""
        return self._uses[id(e)] > 1 and not is_atom(e)

    def opened(self, owner: Syntax, field: str) -> Scope:
        """The scope that `owner` opens for its part `field`."""
        key = (id(owner), field)
        if key not in self._opened:
            self._opened[key] = Scope(self._home[id(owner)], owner, field)
        return self._opened[key]

    def _edges(self, parent: Syntax) -> Iterable[tuple[Syntax, Scope]]:
        """(child, the scope the child is used in)"""
        here = self._home[id(parent)]
        if not isinstance(parent, OPENING):
            return [(child, here) for child in tree.children(parent)]
        return self._edges_of_opening(parent, here)

    def _edges_of_opening(self, parent: Syntax, here: Scope) -> Iterator[tuple[Syntax, Scope]]:
        match parent:
            case Function(params=params, body=body):
                inside = self.opened(parent, "body")
                yield from ((param, inside) for param in params)
                yield body, inside
            case Let(variable=variable, value=value, body=body):
                inside = self.opened(parent, "body")
                yield variable, inside
                yield value, here
                yield body, inside
            case If(cond=cond, true_branch=true_branch, false_branch=false_branch):
                yield cond, here
                yield true_branch, self.opened(parent, "true_branch")
                yield false_branch, self.opened(parent, "false_branch")
            case Clause(lhs=lhs, rhs=rhs):
                yield lhs, here
                yield rhs, self.opened(parent, "rhs")
