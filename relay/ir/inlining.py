"""Replacing a call by the body of the function:

fn (%a, %b) { add(%a, exp(%b)) }(%x, sqrt(%y))  ->  add(%x, exp(sqrt(%y)))

Arguments are still evaluated once and in the same order: where the body uses them in another order,
or not at all, they are bound by a `let` first, unless the caller says that they may move. So is an
argument whose type differs from its parameter's annotation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay import tree
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.copying import copied
from relay.ir.dims import Dim
from relay.ir.expr import Call, Expr, Function, Let, Tuple, TupleGetItem, Var, ascribed, is_atom
from relay.ir.types import Type, TypeVar, substitute


@frozen
class Inlining:
    """A call and the function it calls, both typed."""

    call: Call
    callee: Function

    @property
    def is_possible(self) -> bool:
        """Whether the body can replace the call without losing type information."""
        call, callee = self.call, self.callee
        if len(call.args) != len(callee.params) or len(call.type_args) != len(callee.type_params):
            return False
        if not callee.type_params:
            return True
        inside = (n for n in tree.postorder(callee.body) if isinstance(n, Function))
        return not (
            # uses of one named dimension would become unrelated unknown ones
            any(isinstance(given, dims.Any) for given in call.type_args)
            # a type parameter that is bound again inside
            or any(set(callee.type_params) & set(n.type_params) for n in inside)
        )

    def body(
        self,
        function: Function,
        args: Sequence[Expr],
        may_move: Callable[[Expr], bool] = lambda _: False,
        bind_all: bool = False,
    ) -> Expr:
        """The expression that replaces the call.

        `function` and `args` are the callee and the arguments after rewriting; `may_move` is asked
        about the arguments before it. `bind_all`: all arguments but atoms are bound by a `let`.
        """
        types, given, bound = self.bindings(function, args, may_move, bind_all)
        # a function may be called from several places, and each needs its own copy of the body
        return self.bound(copied(function, types, given), bound)

    def bindings(
        self,
        function: Function,
        args: Sequence[Expr],
        may_move: Callable[[Expr], bool] = lambda _: False,
        bind_all: bool = False,
    ) -> tuple[dict[TypeVar, Type | Dim], dict[Var, Expr], list[Expr]]:
        """The type arguments, the arguments that replace parameters, and those that are bound."""
        types: dict[TypeVar, Type | Dim] = dict(
            zip(self.callee.type_params, self.call.type_args, strict=True)
        )
        given: dict[Var, Expr] = {}
        bound: list[Expr] = []
        in_order = not bind_all and _uses_in_order(function)
        for param, before, arg in zip(function.params, self.call.args, args, strict=True):
            declared = param.type_annotation and substitute(param.type_annotation, types)
            as_declared = declared in (None, before.ty)
            if as_declared and (in_order or is_atom(arg) or may_move(before)):
                given[param] = arg
            else:
                bound.append(arg)
        return types, given, bound

    def bound(self, copy: Function, args: Sequence[Expr]) -> Expr:
        """The body of a copy of the callee, whose remaining parameters are bound to `args`."""
        body: Expr = copy.body
        if self.callee.ret_type not in (None, self.callee.body.ty):
            body = ascribed(body, copy.ret_type)  # the declared type is less precise
        for variable, arg in reversed(list(zip(copy.params, args, strict=True))):
            body = Let(variable, arg, body)
        return body


def _uses_in_order(function: Function) -> bool:
    """Whether the body evaluates every parameter, in the order of the arguments."""
    parts = list(tree.postorder(function.body))
    plain = all(is_atom(e) or isinstance(e, Call | Tuple | TupleGetItem) for e in parts)
    return plain and [e for e in parts if isinstance(e, Var)] == list(function.params)
