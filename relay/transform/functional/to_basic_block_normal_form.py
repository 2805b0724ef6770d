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
from relay.ir.module import IRModule
from relay.ir.scopes import Scope, Scopes
from relay.ir.variables import free_vars
from relay.transform.base import FunctionPass
from relay.transform.context import PassContext
from relay.transform.functional.to_a_normal_form import ToANormalFormExpr

# What opens a scope, and the field that is inside.
Place = tuple[Syntax | None, str]
SCOPED = ("body", "true_branch", "false_branch", "rhs")


@frozen
class ToBasicBlockNormalForm(FunctionPass):
    """Puts a `let` around blocks that share a computation."""

    opt_level = 1
    required = ("InferType",)

    def transform_function(
        self, function: Function, module: IRModule, context: PassContext
    ) -> Function:
        crossing = {id(e) for e in Blocks(function).crossing(function)}
        if not crossing:
            return function
        if Demand(function).has_late:
            result = ToANormalFormExpr(function)
            assert isinstance(result, Function)
            return result
        return _bound(function, crossing)


def _bound(function: Function, crossing: set[int]) -> Function:
    """`function` with a `let` for each of the expressions, where all its uses are reached."""
    variables: dict[Syntax, Var] = {}
    bindings: dict[Place, list[Syntax]] = {}
    scopes, reach = Scopes(function), Reach(function)
    for e in tree.postorder(function):
        if id(e) in crossing and _may_stand_in(scopes.home(e), e, reach):
            variables[e] = Var("shared")
            bindings.setdefault(_place(scopes.home(e)), []).append(e)
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


def _place(scope: Scope) -> Place:
    return scope.owner, scope.field


def _may_stand_in(scope: Scope, e: Syntax, reach: Reach) -> bool:
    """Whether the variables of `e` are known at the beginning of `scope`.

    They are, but for one case: `e` calls a recursive function and is needed inside that function
    as well as behind it. No place is behind its definition and before its body, so `e` stays.
    """
    inner = reach.home(e)
    defined: set[Var] = set()
    while _place(inner) != _place(scope):
        assert isinstance(inner.owner, Let) and inner.parent is not None
        defined.add(inner.owner.variable)
        inner = inner.parent
    return not defined or defined.isdisjoint(free_vars(e))
