"""A function written once more: the same, with nothing in common.

A variable is bound in one place, and an expression that is used in two places is computed once. So
where the body of a function is to stand twice, the second one needs variables of its own, and not
one computation of the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from relay import tree
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr, Function, Syntax, Var, is_atom
from relay.ir.types import Type, TypeVar, substitute
from relay.ir.variables import bound_vars


def copied(
    function: Function,
    types: Mapping[TypeVar, Type | Dim] | None = None,
    values: Mapping[Var, Expr] | None = None,
) -> Function:
    """A copy of `function`, with `types` for type parameters and `values` for parameters.

    What is free in it stays what it is, and what has a type has it in the copy as well. No function
    inside may have one of those type parameters for itself.
    """
    known: dict[Any, Any] = dict(types or {})
    for node in tree.postorder(function):
        if isinstance(node, Function):
            for param in node.type_params:
                known.setdefault(param, TypeVar(param.name_hint, param.kind, span=param.span))

    def typed(item: Any) -> Any:
        if isinstance(item, Type):
            return substitute(item, known)
        return item if item is None else dims.substitute(item, lambda s: known.get(s, s))

    def visit(before: Syntax, after: Any) -> Any:
        match after:
            case Function(ret_type=result, type_params=params):
                left = tuple(known[p] for p in params if p not in (types or ()))
                after = tree.replace(after, ret_type=typed(result), type_params=left)
            case Call(type_args=given):
                after = tree.replace(after, type_args=tuple(map(typed, given)))
            case _ if after is before and not is_atom(after):
                after = tree.replace(after)
        return with_type(after, before)

    def with_type(after: Any, before: Any) -> Any:
        if after is not before and isinstance(before, Expr) and before.ty is not None:
            object.__setattr__(after, "ty", typed(before.ty))
        return after

    seeds: dict[Any, Any] = {
        v: with_type(tree.replace(v, type_annotation=typed(v.type_annotation)), v)
        for v in bound_vars(function)
    }
    params = tuple(seeds[p] for p in function.params if p not in (values or ()))
    seeds.update(values or {})
    inside: Syntax = function.body
    body = tree.transform(inside, visit, seeds)
    result: Function = visit(function, tree.replace(function, params=params, body=body))
    # without some of its parameters it is a function of another type
    return tree.replace(result) if types or values else result
