"""Bind expressions that several blocks share:

%0 = exp(%x); if (%c) { sqrt(%0) } else { %0 }
->
let %shared = exp(%x); if (%c) { sqrt(%shared) } else { %shared }

for %c: bool

A block is the body of a function, a branch or the right side of a clause, with the `let`s in it. A
shared expression is bound in the innermost scope around all its uses; sharing within one block
stays a graph. So every block can be read and compiled on its own.

A `let` is evaluated when it is reached, a shared expression when it is first needed. So the program
may do more work: a bound expression is evaluated also when no block that needs it is entered. Where
that would be observable, because a shared computation has effects, may fail or diverge
(`relay.analysis.demand`), the function gets its A-normal form, which delays such computations and
is a basic-block normal form as well.
"""

from __future__ import annotations

from relay import tree
from relay.analysis.demand import Demand
from relay.analysis.normal_forms import Blocks
from relay.check.wellformed import Reach
from relay.immutable import frozen
from relay.ir.expr import Expr, Function, Let, Syntax, Var
from relay.ir.scopes import Scope, Scopes
from relay.ir.variables import free_vars
from relay.transform.base import FunctionPass
from relay.transform.functional.to_a_normal_form import ToANormalFormExpr

# The node that opens a scope, and the field that is inside.
Opening = tuple[Syntax | None, str]
SCOPED = ("body", "true_branch", "false_branch", "rhs")


@frozen
class ToBasicBlockNormalForm(FunctionPass):
    """Binds computations that blocks share with a `let` around them."""

    opt_level = 1
    required = ("InferType",)

    def rewrite(self, function: Function) -> Function:
        crossing = {id(e) for e in Blocks(function).crossing(function)}
        if not crossing:
            return function
        if Demand(function).has_late:
            return ToANormalFormExpr(function)
        return _bound(function, crossing)


def _bound(function: Function, crossing: set[int]) -> Function:
    """`function` with a `let` for each of the expressions in its home scope."""
    variables: dict[Syntax, Var] = {}
    bindings: dict[Opening, list[Syntax]] = {}
    scopes, reach = Scopes(function), Reach(function)
    for e in tree.postorder(function):
        if id(e) in crossing and _can_be_bound_in(scopes.home(e), e, reach):
            variables[e] = Var("shared")
            bindings.setdefault(_opening(scopes.home(e)), []).append(e)
    values: dict[Syntax, Expr] = {}

    def visit(before: Syntax, after: Syntax) -> Syntax:
        for field in SCOPED:
            for e in reversed(bindings.get((before, field), ())):
                body = Let(variables[e], values[e], getattr(after, field), span=e.span)
                after = tree.replace(after, **{field: body})
        if before not in variables:
            return after
        assert isinstance(after, Expr)
        values[before] = after
        return variables[before]

    return tree.transform(function, visit)


def _opening(scope: Scope) -> Opening:
    return scope.owner, scope.field


def _can_be_bound_in(scope: Scope, e: Syntax, reach: Reach) -> bool:
    """Whether the variables of `e` are bound at the beginning of `scope`.

    They are, except where `e` calls a recursive function and is used inside that function as well
    as behind it: no position is behind its definition and before its body.
    """
    inner = reach.home(e)
    defined: set[Var] = set()
    while _opening(inner) != _opening(scope):
        assert isinstance(inner.owner, Let) and inner.parent is not None
        defined.add(inner.owner.variable)
        inner = inner.parent
    return not defined or defined.isdisjoint(free_vars(e))
