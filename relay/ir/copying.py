"""Deep copies of functions, with fresh variables and no shared nodes.

A variable is bound in one place, and a shared expression is computed once, so a function body that
is used a second time has to be copied.
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
    """A deep copy of `function`, with `types` for type parameters and `values` for parameters.

    Free variables are kept, and so are inferred types. No function inside may bind one of the type
    parameters in `types` again.
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
    body = tree.transform(function.body, visit, seeds)
    result: Function = visit(function, tree.replace(function, params=params, body=body))
    # a function with fewer parameters has another type
    return tree.replace(result) if types or values else result
