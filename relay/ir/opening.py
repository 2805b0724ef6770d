"""The body of a function where it is called, as a part of the program around it:

fn (%a, %b) { add(%a, exp(%b)) }(%x, sqrt(%y))  ->  add(%x, exp(sqrt(%y)))

Arguments are evaluated once and in the order they were evaluated in, so where the body would come
to them in another order, or never, they are bound by a `let` first; unless it makes no difference
when they are evaluated. So they are where a parameter says another type than the argument has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay import tree
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.copying import copied
from relay.ir.expr import Call, Expr, Function, Let, Tuple, TupleGetItem, Var, is_atom
from relay.ir.types import substitute


@frozen
class Opening:
    """A call of a function whose text is known, both typed."""

    call: Call
    callee: Function

    @property
    def is_possible(self) -> bool:
        """Whether nothing gets lost when the body stands alone where the call is."""
        call, callee = self.call, self.callee
        if len(call.args) != len(callee.params) or len(call.type_args) != len(callee.type_params):
            return False
        if not callee.type_params:
            return True
        inside = (n for n in tree.postorder(callee.body) if isinstance(n, Function))
        return not (
            # a dimension that the caller does not know, while here it is the same everywhere
            any(isinstance(given, dims.Any) for given in call.type_args)
            # a type parameter that means something else further in
            or any(set(callee.type_params) & set(n.type_params) for n in inside)
        )

    def body(
        self,
        function: Function,
        args: Sequence[Expr],
        may_move: Callable[[Expr], bool] = lambda _: False,
    ) -> Expr:
        """What stands in the place of the call.

        `function` and `args` are what has become of the callee and of the arguments; `may_move` is
        asked about the arguments as they were.
        """
        callee = self.callee
        types = dict(zip(callee.type_params, self.call.type_args, strict=True))
        given: dict[Var, Expr] = {}
        first: list[Expr] = []
        in_order = _uses_in_order(function)
        for param, before, arg in zip(function.params, self.call.args, args, strict=True):
            declared = param.type_annotation and substitute(param.type_annotation, types)
            as_declared = declared in (None, before.ty)
            if as_declared and (in_order or is_atom(arg) or may_move(before)):
                given[param] = arg
            else:
                first.append(arg)
        # a function may be called from several places, and none of them shares the body
        copy = copied(function, types, given)
        body: Expr = copy.body
        if callee.ret_type not in (
            None,
            callee.body.ty,
        ):  # it promises another type
            result = Var("result", copy.ret_type)
            body = Let(result, body, result)
        for variable, arg in reversed(list(zip(copy.params, first, strict=True))):
            body = Let(variable, arg, body)
        return body


def _uses_in_order(function: Function) -> bool:
    """Whether evaluating the body comes to every parameter, in the order of the arguments."""
    parts = list(tree.postorder(function.body))
    plain = all(is_atom(e) or isinstance(e, Call | Tuple | TupleGetItem) for e in parts)
    return plain and [e for e in parts if isinstance(e, Var)] == list(function.params)
