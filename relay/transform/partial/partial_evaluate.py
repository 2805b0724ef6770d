"""Evaluate what is known at compile time, through calls, data, closures and references:

def @pow(%x: float32, %n: int32) -> float32 {
  if (equal(%n, 0)) { 1f } else { multiply(%x, @pow(%x, subtract(%n, 1))) }
}
def @main(%x: float32) -> float32 { @pow(%x, 2) }
->
def @pow(%x: float32, %n: int32) -> float32 { … }
def @main(%x: float32) -> float32 {
  let %one = 1f;
  let %once = multiply(%x, %one);
  let %twice = multiply(%x, %once);
  %twice
}

Values are partially static (`static_values.py`): a tuple is known by its fields, a closure by its
function and what it has captured, a reference by what it holds. Calls of known functions are
unfolded (`unfolding.py`), branches are taken where the condition is known, and references that
nobody else can see disappear. All the rest is residual code in A-normal form, in the order of the
original program: effects are neither lost nor repeated.
"""

from __future__ import annotations

from collections.abc import Mapping

from relay import tree
from relay.analysis.normal_forms import makes_closure
from relay.check.infer import infer_module
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.compare import structural_equal
from relay.ir.expr import Function, GlobalVar
from relay.ir.function_attrs import is_sealed
from relay.ir.module import IRModule
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.transform.functional.to_a_normal_form import ToANormalForm, ToANormalFormExpr
from relay.transform.partial.evaluation import Evaluator


@frozen
class PartialEvaluate(ModulePass):
    """Evaluates what is known at compile time. `fuel` is how often calls of one function may be
    unfolded."""

    opt_level = 1
    required = ("InferType",)
    fuel: int = 500

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        source = ToANormalForm()(module)
        evaluator = Evaluator(source, self.fuel)
        made: dict[GlobalVar, Function] = {}
        for name, function in source.functions.items():
            if not is_sealed(function) and not makes_closure(function):
                made[name] = evaluator.residual(name.name_hint)
        result = source.copy()
        result.update(_with_copies(made, evaluator.copies.functions))
        result = infer_module(result)
        for name in made:
            if structural_equal(result[name], source[name]):
                result[name] = source[name]
        return result


def _with_copies(
    functions: Mapping[GlobalVar, Function], copies: Mapping[str, Function]
) -> dict[GlobalVar, ir.Expr]:
    """The functions in A-normal form, with the copies that they call, directly or not."""
    found: dict[GlobalVar, ir.Expr] = {}
    pending = dict(functions)
    while pending:
        name, function = pending.popitem()
        found[name] = ToANormalFormExpr(function)
        for node in tree.postorder(found[name]):
            if isinstance(node, GlobalVar) and node.name_hint in copies and node not in found:
                pending[node] = copies[node.name_hint]
    return {name: found[name] for name in [*functions, *found]}
