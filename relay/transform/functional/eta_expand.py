"""Wrap constructors, global functions and operators that are used as values into functions:

EtaExpand(expand_constructor=True, expand_global_var=True):
type Option { Some(int32), None }
def @f(%x: int32) -> Option { Some(%x) }
def @main(%c: bool) { let %g = if (%c) { Some } else { @f }; %g(1) }
->
type Option { Some(int32), None }
def @f(%x: int32) -> Option { Some(%x) }
def @main(%c: bool) {
  let %g = if (%c) { fn (%a: int32) { Some(%a) } } else { fn (%b: int32) { @f(%b) } };
  %g(1)
}

EtaExpand(expand_operator=True):
def @main(%x: float32) { let %g = exp; %g(%x) }
->
def @main(%x: float32) { let %g = fn (%a) { exp(%a) }; %g(%x) }

Afterwards those that were asked for occur only as callees, so there is one kind of function value.
"""

from __future__ import annotations

from typing import Any

from relay import tree
from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.adt import constructor_type
from relay.ir.module import IRModule
from relay.ir.types import FuncType, TypeVar, substitute
from relay.op.opdef import OpDef
from relay.transform.base import FunctionPass
from relay.transform.context import PassContext


@frozen
class EtaExpand(FunctionPass):
    """Wraps constructors, global functions and operators that are used as values, on demand."""

    opt_level = 1
    required = ("InferType",)
    expand_constructor: bool = False
    expand_global_var: bool = False
    expand_operator: bool = False

    def transform_function(
        self, function: ir.Function, module: IRModule, context: PassContext
    ) -> ir.Function:
        new: dict[int, Any] = {}
        for node in tree.postorder(function):
            parts = []
            for index, part in enumerate(tree.children(node)):
                # callees and the constructors of patterns are not values
                in_place = isinstance(node, ir.PatternConstructor) or (
                    isinstance(node, ir.Call) and index == 0
                )
                expansion = None if in_place else self._expansion(part, module)
                parts.append(new[id(part)] if expansion is None else expansion)
            new[id(node)] = tree.rebuild(node, parts)
        return new[id(function)]  # type: ignore[no-any-return]

    def _expansion(self, e: ir.Syntax, module: IRModule) -> ir.Function | None:
        """The function that replaces `e`; a new one each time, as variables are bound once."""
        match e:
            case ir.Constructor() if self.expand_constructor:
                definition = module.type_definition(e.belong_to.name_hint)
                return _calling(e, constructor_type(e, definition), ["x"] * len(e.inputs))
            case ir.GlobalVar() if self.expand_global_var:
                function = module[e]
                assert isinstance(function.checked_type, FuncType)
                names = [param.name_hint for param in function.params]
                return _calling(e, function.checked_type, names)
            case OpDef() if self.expand_operator:
                params = tuple(ir.Var(name) for name, _ in e.arguments)
                return ir.Function(params, ir.Call(e, params, e.make_attrs({})))
        return None


def _calling(callee: ir.Expr, ty: FuncType, names: list[str]) -> ir.Function:
    """A function of that type that calls `callee`."""
    fresh = {p: TypeVar(p.name_hint, p.kind) for p in ty.type_params}
    params = tuple(
        ir.Var(name, substitute(arg, fresh)) for name, arg in zip(names, ty.arg_types, strict=True)
    )
    result = substitute(ty.ret_type, fresh)
    return ir.Function(params, ir.Call(callee, params), result, tuple(fresh.values()))
