"""Replace every function by one that also returns the gradients of its parameters:

fn (%x: Tensor[(3), float32], %y: Tensor[(3), float32]) { multiply(%x, %y) }
->
fn (%x: Tensor[(3), float32], %y: Tensor[(3), float32]) {
  %0 = multiply(%x, %y);
  %1 = ones_like(%0);
  (%0, (multiply(%1, %y), multiply(%1, %x)))
}

This is for dataflow code: operators, tuples and `let`s. The result is dataflow code again, linear
in size, and computes what the function computed once. Programs with control flow, calls, data types
or references take `relay.transform.gradient`.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay import tree
from relay.check.infer import infer_expr, infer_module
from relay.check.redirect_typed import redirect_typed
from relay.errors import GradientError
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.function_attrs import is_foreign
from relay.ir.module import IRModule
from relay.op.opdef import OpDef
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.transform.gradients.accumulate import backwards, ones, whole

__all__ = ["FirstOrderGradient", "first_order", "is_dataflow"]


@frozen
class FirstOrderGradient(ModulePass):
    """Replaces functions of dataflow code by functions that return (value, gradients)."""

    opt_level = 0
    required = ("InferType",)

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        for name, function in module.functions.items():
            if not is_foreign(function):
                module[name] = first_order(function)
        return infer_module(module)


def first_order(function: ir.Function, wrt: Sequence[int] | None = None) -> ir.Function:
    """A function that returns (value, gradients), of typed dataflow code. The gradients are those
    of the parameters at the places `wrt`; None is all of them, with zeros for integers."""
    function = _as_graph(function)
    body = function.body
    places = range(len(function.params)) if wrt is None else wrt
    wanted = [function.params[place] for place in places]
    seed = tree.run(ones(body, body.checked_type))
    gradients = backwards(body, {} if seed is None else seed, wanted)
    found = [tree.run(whole(gradients.take(p), p, p.checked_type)) for p in wanted]
    return ir.Function(
        function.params,
        ir.Tuple((body, ir.Tuple(tuple(found)))),
        None,
        function.type_params,
        function.attrs,
        span=function.span,
    )


def _as_graph(function: ir.Function) -> ir.Function:
    """The function with variables of `let`s replaced by their values, typed."""
    replacements: dict[ir.Syntax, ir.Syntax] = {}
    for value in tree.postorder(function.body):
        if isinstance(value, ir.Let):
            replacements[value] = value.body
            replacements[value.variable] = value.value
        elif not _in_dataflow(value):
            raise GradientError.of(
                "this is no dataflow code",
                value.span,
                "operators, tuples and `let`s",
                _name(value),
                'relay.transform.gradient(f, mod, mode="higher_order") differentiates it',
            )
    changed = redirect_typed(function, replacements)
    return changed if changed.ty is not None else infer_expr(changed)


def is_dataflow(function: ir.Function) -> bool:
    """Whether `first_order` differentiates the function."""
    return all(isinstance(e, ir.Let) or _in_dataflow(e) for e in tree.postorder(function.body))


def _in_dataflow(value: ir.Syntax) -> bool:
    match value:
        case ir.Call(op=OpDef(is_repeatable=True)):
            return True
        case ir.Call(op=OpDef(gradient=rule)):
            return rule is not None and not isinstance(rule, str)
        case ir.Op() | ir.Var() | ir.Constant() | ir.Tuple() | ir.TupleGetItem():
            return True
        case ir.Constructor() | ir.GlobalVar():
            return True  # the call of it is refused, at its place
    return False


def _name(value: ir.Syntax) -> str:
    match value:
        case ir.Call(op=ir.Op(name=name) | ir.GlobalVar(name_hint=name)):
            return f"a call of `{name}`"
        case ir.Call():
            return "a call of a function"
    return f"an expression of class {type(value).__name__}"
