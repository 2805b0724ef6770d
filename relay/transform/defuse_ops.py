"""Put the operators of kernels back into the program, the inverse of FuseOps:

fn (%p0, %p1, Primitive=1) { nn.relu(add(%p0, %p1)) }(%x, %y)  ->  nn.relu(add(%x, %y))
"""

from __future__ import annotations

from dataclasses import dataclass

from relay import tree
from relay.ir.expr import (
    Call,
    Expr,
    Function,
    Let,
    Syntax,
    Tuple,
    TupleGetItem,
    Var,
    bind,
    is_atom,
)
from relay.ir.module import IRModule
from relay.ir.variables import bound_vars
from relay.transform.base import FunctionPass
from relay.transform.context import PassContext


@dataclass(frozen=True)
class DefuseOps(FunctionPass):
    """Inlines the primitive functions that are called where they stand."""

    opt_level = 3
    required = ("InferType",)

    def transform_function(
        self, function: Function, module: IRModule, context: PassContext
    ) -> Function:
        root: Syntax = function
        result = tree.transform(root, _inlined)
        assert isinstance(result, Function)
        return result


def _inlined(_: Syntax, after: Syntax) -> Syntax:
    match after:
        case Call(op=Function(type_params=()) as kernel, args=args) if kernel.attrs.get(
            "Primitive"
        ) and len(args) == len(kernel.params):
            return _body(kernel, args)
    return after


def _body(kernel: Function, args: tuple[Expr, ...]) -> Expr:
    """The body of `kernel` over its arguments, which are evaluated once and in order."""
    given: dict[Var, Expr] = dict(zip(kernel.params, args, strict=True))
    # a function may be called from several places, and a variable is bound in one
    given.update((v, tree.replace(v)) for v in bound_vars(kernel.body))
    first: list[tuple[Var, Expr]] = []
    if not _uses_in_order(kernel):
        for param, arg in zip(kernel.params, args, strict=True):
            if not is_atom(arg):
                given[param] = variable = Var(param.name_hint, param.type_annotation)
                first.append((variable, arg))
    body: Expr = bind(kernel.body, given)
    for variable, arg in reversed(first):
        body = Let(variable, arg, body)
    return body


def _uses_in_order(kernel: Function) -> bool:
    """Whether evaluating the body comes to every parameter, in the order of the arguments."""
    parts = list(tree.postorder(kernel.body))
    plain = all(is_atom(e) or isinstance(e, Call | Tuple | TupleGetItem) for e in parts)
    return plain and [e for e in parts if isinstance(e, Var)] == list(kernel.params)
