"""Control-flow merges: the variables where the branches of a statement join."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from relay import tree
from relay.frontend.python import statics
from relay.frontend.python.blocks import (
    Block,
    Branch,
    Flow,
    Locals,
    Merge,
    call,
    differ,
    join_function,
    same_everywhere,
)
from relay.frontend.python.declarations import is_case
from relay.frontend.python.expressions import Expressions
from relay.frontend.python.lifting import as_floats, is_instance, record_of
from relay.frontend.python.unit import Unassigned, Value
from relay.immutable import frozen
from relay.ir.expr import Call, Constructor, Expr, Op, RefWrite
from relay.ir.types import Type
from relay.tree import Steps


class Branches(Expressions):
    """Joins the branches of a statement."""

    def join(
        self,
        branches: Sequence[Branch],
        build: Callable[[list[Expr]], Expr],
        node: ast.stmt,
        block: Block,
        acts: bool = False,
    ) -> Flow:
        """Add a statement of several branches to `block`; the scope behind it, if reachable.

        `build` combines the expressions of the branches; `acts`: the condition has an effect.
        """
        going = [branch for branch in branches if branch.flow is not None]
        leaves = any(branch.block.leaves for branch in branches)

        def whole(rests: Sequence[Expr]) -> Steps[Expr]:
            """The statement, with the rest of the block in the branches that continue."""
            following = iter(rests)
            parts = []
            for branch in branches:
                rest = next(following) if branch.flow is not None else None
                parts.append((yield branch.block.close(rest)))
            return build(parts)

        if not going:
            block.end(lambda: whole([]))
            return None
        block.leaves |= leaves
        if len(going) == 1:
            block.contexts.append(lambda rest: whole([rest]))
            return going[0].flow
        flows = [branch.flow for branch in going if branch.flow is not None]
        scope, merge = yield self.merge(flows, node)
        span = self.span(node)
        if not leaves:
            if acts or merge.names or any(branch.block.contexts for branch in branches):
                values = [merge.tuple_from(i, span) for i in range(len(going))]
                merge.bind_all(block, lambda: whole(values), span)
            return scope
        join, bind = join_function("join", merge.variables, span)

        def context(rest: Expr) -> Steps[Expr]:
            calls = [call(join, values, span) for values in merge.values]
            return bind(rest, (yield whole(calls)))

        block.contexts.append(context)
        return scope

    def merge(
        self, paths: Sequence[Locals], node: ast.stmt, outside: Locals | None = None
    ) -> Steps[tuple[Locals, Merge]]:
        """The scope where several paths merge behind a statement, and the merged variables.

        `outside` is the scope before a loop: values computed inside become merged variables.
        """
        first = paths[0]
        live = first.frame.liveness.after[node]
        scope = first.copy()
        merge = Merge([], [], [[] for _ in paths])
        for name in sorted(first.frame.liveness.stores[node]):
            scope.values.pop(name, None)
            held = [path.values.get(name, statics.MISSING) for path in paths]
            if name not in live:
                continue
            inside = False
            if outside is not None:
                before = outside.values.get(name, statics.MISSING)
                inside = not (statics.is_static(held[0]) or held[0] is before)
            declared = first.frame.declared.get(name)
            found = yield self._agree(name, held, declared, node, inside)
            if not isinstance(found, _Agreed):
                scope.values[name] = found
                continue
            variable = self.variable(name, found.ty, self.span(node))
            scope.values[name] = variable
            merge.names.append(name)
            merge.variables.append(variable)
            for values, value in zip(merge.values, found.values, strict=True):
                values.append(value)
        return scope, merge

    def _agree(
        self, name: str, held: Sequence[Value], declared: Type | None, node: ast.stmt, inside: bool
    ) -> Steps[_Agreed | Value]:
        """One type for the values of a variable on several paths; or the value, if it is the same
        and not known `inside` only."""
        line = self.span(node).line
        for value in held:
            if isinstance(value, Unassigned):
                return value
        if any(value is statics.MISSING for value in held):
            return Unassigned(
                f"`{name}` has no value on some of the ways through line {line}",
                f"assign `{name}` before line {line}, or on every way",
            )
        if not inside and same_everywhere(held):
            return held[0]
        if not all(map(self.is_liftable, held)):
            return Unassigned(
                f"`{name}` depends on the way through line {line}, and is no value of a program"
            )
        held = as_floats(held)
        typed = next((v for v in held if isinstance(v, Expr)), held[0])
        first = yield self.lift(typed, node, declared, open_=True)
        common = declared or self.type_of(first)
        values: list[Expr] = yield tree.gather(
            first if value is typed else self.lift(value, node, common, open_=True)
            for value in held
        )
        for value in values:
            joined = self.fits(self.type_of(value), common)
            if joined is None:
                return differ(name, [self.type_of(v) for v in values], line)
            common = declared or joined
        return _Agreed(common, values)

    def is_liftable(self, value: Value) -> bool:
        """Whether a value can be one of a program."""
        if isinstance(value, tuple | list):
            return all(map(self.is_liftable, value))
        return (
            value is None
            or isinstance(value, Expr)
            or statics.is_number(value)
            or statics.is_array(value)
            or is_instance(value)
            or is_case(value)
            or self.is_function(value)
            or record_of(value) is not None
        )


def may_act(value: Value) -> bool:
    """Whether an expression may have an effect: whether it calls a function, or writes."""
    if not isinstance(value, Expr):
        return False
    return any(
        isinstance(part, RefWrite)
        or (isinstance(part, Call) and not isinstance(part.op, Op | Constructor))
        for part in tree.postorder(value)
    )


@frozen
class _Agreed:
    """The type of a variable at a merge, and its value on each path."""

    ty: Type
    values: list[Expr]
