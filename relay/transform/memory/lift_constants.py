"""Bind constants at the beginning of the function that uses them:

add(%x, 2f)  ->  let %const_0 = 2f; add(%x, %const_0)

So constants of branches and inner functions exist once. Kernels keep theirs.
"""

from __future__ import annotations

from relay import tree
from relay.immutable import frozen
from relay.ir.expr import Constant, Function, Let, Syntax, Var
from relay.ir.function_attrs import is_sealed
from relay.transform.base import FunctionPass


@frozen
class LiftConstants(FunctionPass):
    """Leaves constants only in bindings at the beginnings of functions, and in kernels."""

    required = ("InferType",)

    def rewrite(self, function: Function) -> Function:
        if is_sealed(function):
            return function
        rest = function.body
        lifted: list[Let] = []  # by an earlier run, or by hand
        while isinstance(rest, Let) and isinstance(rest.value, Constant):
            lifted.append(rest)
            rest = rest.body
        sealed: dict[Syntax, Syntax] = {}
        found: dict[Constant, Var] = {}
        for node in tree.postorder(rest, lambda n: not is_sealed(n)):
            if isinstance(node, Constant):
                found[node] = Var(f"const_{len(found)}", span=node.span)
            elif is_sealed(node):
                sealed[node] = node
        if not found:
            return function
        body = tree.transform(rest, lambda _, after: after, {**sealed, **found})
        for value, variable in reversed(found.items()):
            body = Let(variable, value, body)
        for let in reversed(lifted):
            body = tree.replace(let, body=body)
        return tree.replace(function, body=body)
