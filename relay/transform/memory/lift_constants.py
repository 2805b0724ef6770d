"""Bind constants at the beginning of the function that uses them:

add(%x, 2f)  ->  let %const_0 = 2f; add(%x, %const_0)

So constants of branches and inner functions exist once. Kernels keep theirs.
"""

from __future__ import annotations

from relay import tree
from relay.immutable import frozen
from relay.ir.expr import Constant, Expr, Function, Let, Syntax, Var
from relay.ir.function_attrs import is_sealed
from relay.ir.module import IRModule
from relay.transform.base import FunctionPass
from relay.transform.context import PassContext


@frozen
class LiftConstants(FunctionPass):
    """Leaves constants only in bindings at the beginnings of functions, and in kernels."""

    required = ("InferType",)

    def transform_function(
        self, function: Function, module: IRModule, context: PassContext
    ) -> Function:
        if is_sealed(function):
            return function
        rest = function.body
        lifted: list[Let] = []  # by an earlier run, or by hand
        while isinstance(rest, Let) and isinstance(rest.value, Constant):
            lifted.append(rest)
            rest = rest.body
        new: dict[Syntax, Syntax] = {}
        inside: Syntax = rest
        found: list[tuple[Var, Expr]] = []
        for node in tree.postorder(inside, lambda n: not is_sealed(n)):
            if isinstance(node, Constant):
                variable = Var(f"const_{len(found)}", span=node.span)
                new[node] = variable
                found.append((variable, node))
            elif is_sealed(node):
                new[node] = node
        if not found:
            return function
        body = tree.transform(inside, lambda _, after: after, new)
        assert isinstance(body, Expr)
        for variable, value in reversed(found):
            body = Let(variable, value, body)
        for let in reversed(lifted):
            body = tree.replace(let, body=body)
        return tree.replace(function, body=body)
