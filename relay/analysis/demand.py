"""Demand analysis: when a shared expression is first needed, and how `let`s can express that.

A shared expression is evaluated on its first use, a `let` when it is reached. Where all uses are in
one block, or the first is in the block around the others, that makes no difference:

    %0 = f(x); (%0, if (c) { %0 } else { 1 })      let %0 = f(x); (%0, if (c) { %0 } else { 1 })

Where the first use is in a branch, a clause or an inner function, a `let` around them is reached
earlier, and also when the value is not needed. This is not observable if the computation is
`harmless`: operators on tensors of static shapes, data, functions as values. Any other is `late`:
it may have effects, fail or diverge, so a function is bound in its place and called at the uses.
"""

from __future__ import annotations

from collections.abc import Iterator

from relay import tree
from relay.analysis.normal_forms import Blocks, is_kernel
from relay.ir import expr as ir
from relay.ir.scopes import Scope
from relay.op.opdef import OpDef


class Demand(Blocks):
    """Basic blocks where every late computation has its own block, which is its `home`.

    The function is bound in the `parent` of that block.
    """

    def __init__(self, root: ir.Syntax) -> None:
        nodes = list(tree.postorder(root))
        self._harmless = _harmless(nodes)
        self._users = _first_users(root)
        self._named = {id(n.value): n.variable for n in nodes if isinstance(n, ir.Let)}
        self._match = {id(c): n for n in nodes if isinstance(n, ir.Match) for c in n.clauses}
        self._uses_in: dict[int, list[Scope]] = {}  # where shared computations are used
        self._first_use: dict[int, Scope] = {}
        self._late: set[int] = set()
        self._knots: dict[ir.Var, list[ir.Expr]] = {}
        super().__init__(root)

    @property
    def has_late(self) -> bool:
        """Whether anything is late."""
        return bool(self._late)

    def is_late(self, e: ir.Syntax) -> bool:
        """Whether `e` must not be evaluated before it is needed."""
        return id(e) in self._late

    def knots(self, variable: ir.Var) -> list[ir.Expr]:
        """Computations that call the recursive function `variable` and are shared between its body
        and the code behind it.

        They are late in any case: no position is behind the function and before its body.
        """
        return self._knots.get(variable, [])

    def is_once(self, places: list[Scope], around: Scope) -> bool:
        """Whether an evaluation of `around` reaches at most one of the blocks, and once.

        The blocks are inside `around`, in evaluation order.
        """
        if any(place.function is not around.function for place in places):
            return False
        return all(map(self._exclude_each_other, places, places[1:]))

    def _exclude_each_other(self, one: Scope, other: Scope) -> bool:
        common = one.common(other)
        if common is one or common is other:
            return False
        owners = [place.ancestor_at(common.depth + 1).owner for place in (one, other)]
        choices = [self._match.get(id(o), o) if isinstance(o, ir.Clause) else o for o in owners]
        return choices[0] is choices[1] and isinstance(choices[0], ir.If | ir.Match)

    def _edges(self, parent: ir.Syntax) -> Iterator[tuple[ir.Syntax, Scope]]:
        # all uses of `parent` were seen by now, so its home is final
        if id(parent) not in self._late and self._has_to_wait(parent):
            self._late.add(id(parent))
            inside = self.opened(parent, "value")
            inside.function = inside  # it is evaluated by a call
            self._home[id(parent)] = inside
        for child, scope in super()._edges(parent):
            if not ir.is_atom(child):
                self._uses_in.setdefault(id(child), []).append(scope)
                if self._users[id(child)] is parent:
                    self._first_use.setdefault(id(child), scope)
            yield child, scope

    def _has_to_wait(self, e: ir.Syntax) -> bool:
        home = self.home(e)
        crossing = {place for place in self._uses_in.get(id(e), ()) if place is not home}
        if not crossing or not isinstance(e, ir.Expr):
            return False
        for place in crossing:
            function = place.ancestor_at(home.depth + 1).owner
            variable = self._named.get(id(function)) if isinstance(function, ir.Function) else None
            if variable is not None and any(n is variable for n in tree.postorder(e)):
                self._knots.setdefault(variable, []).append(e)
                return True
        return self._first_use[id(e)] is not home and id(e) not in self._harmless


def _first_users(root: ir.Syntax) -> dict[int, ir.Syntax]:
    """The first user of each node in evaluation order."""
    users: dict[int, ir.Syntax] = {}
    pending = [(root, root)]
    while pending:
        node, user = pending.pop()
        if id(node) not in users:
            users[id(node)] = user
            pending.extend((child, node) for child in reversed(tree.children(node)))
    return users


def _harmless(nodes: list[ir.Syntax]) -> set[int]:
    """The nodes that can be evaluated at any time, used or not; `nodes` is a post-order."""
    found: set[int] = set()
    for node in nodes:
        evaluated = () if isinstance(node, ir.Function) else tree.children(node)
        if _does_no_harm(node) and all(id(part) in found for part in evaluated):
            found.add(id(node))
    return found


def _does_no_harm(node: ir.Syntax) -> bool:
    match node:
        case ir.Call(op=OpDef() as op, args=args):
            return not op.stateful and not op.on_values and all(map(_has_known_extents, args))
        case ir.Call(op=callee, args=args):
            return isinstance(callee, ir.Constructor) or (
                is_kernel(callee) and all(map(_has_known_extents, args))
            )
        case ir.Match(complete=complete):
            return complete
    return not isinstance(node, ir.RefRead | ir.RefWrite | ir.TempExpr)


def _has_known_extents(arg: ir.Expr) -> bool:
    """Whether an operator on `arg` has no run-time checks; untyped arguments are assumed static."""
    return arg.ty is None or not arg.ty.occurs
