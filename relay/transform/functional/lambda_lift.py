"""Lift functions inside functions to functions of the module:

def @main(%x: int32) { let %f = fn (%y: int32) { add(%x, %y) }; %f(1) }
->
def @main(%x: int32) { let %f = @main_f(%x); %f(1) }
def @main_f(%x: int32, Closure=1) { fn (%y: int32) { add(%x, %y) } }

Captured variables become the parameters of a function marked `Closure`, whose body is the lifted
function: calling it makes the closure. Type parameters of the enclosing functions become its own. A
function that captures nothing is used directly by its name:

def @main() { let %f = fn (%y: int32) { %y }; %f(1) }
->
def @main() { @main_f(1) }  def @main_f(%y: int32) { %y }

A recursive function calls itself by its new name, or makes its closure again from the captured
variables:

def @main(%x: int32) { let %f = fn (%y: int32) -> int32 { %f(add(%x, %y)) }; %f(1) }
->
def @main(%x: int32) { let %f = @main_f(%x); %f(1) }
def @main_f(%x: int32, Closure=1) {
  fn (%y: int32) -> int32 { let %f = @main_f(%x); %f(add(%x, %y)) }
}

Kernels, and functions of other compilers, stay in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay import tree
from relay.analysis.normal_forms import CLOSURE, check_basic_block_normal_form
from relay.check.infer import infer_module
from relay.errors import PassError
from relay.immutable import frozen
from relay.ir.attrs import DictAttrs
from relay.ir.expr import Call, Expr, Function, GlobalVar, Let, Syntax, Var, bind
from relay.ir.function_attrs import is_foreign, is_opaque
from relay.ir.module import IRModule
from relay.ir.names import as_word
from relay.ir.types import TypeVar
from relay.ir.variables import free_type_vars, free_vars
from relay.transform.base import ModulePass
from relay.transform.context import PassContext


@frozen
class LambdaLift(ModulePass):
    """Leaves no nested functions, except in functions marked `Closure`."""

    opt_level = 1
    required = ("InferType", "ToBasicBlockNormalForm")

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        taken = {name.name_hint for name in module.functions}
        changed: dict[str, Function] = {}
        for name, function in module.functions.items():
            if not is_foreign(function) and not is_opaque(function):
                lifting = _Lifting(name.name_hint, taken)
                after = lifting.of(function)
                if after is not function:
                    changed.update({name.name_hint: after, **lifting.lifted})
        for name_hint, function in changed.items():
            module[name_hint] = function
        return infer_module(module) if changed else module


class _Lifting:
    """Lifts the nested functions of one global function, innermost first."""

    def __init__(self, owner: str, taken: set[str]) -> None:
        self.lifted: dict[str, Function] = {}
        self._owner = owner
        self._taken = taken
        self._new: dict[int, Any] = {}
        self._lets: dict[int, Let] = {}  # by the values they bind
        self._kept: set[int] = set()

    def of(self, root: Function) -> Function:
        if not check_basic_block_normal_form(root):
            raise PassError(
                f"functions in `@{self._owner}` share computations with what is around them, "
                "which would be computed again in every call; "
                "run relay.transform.ToBasicBlockNormalForm() first"
            )
        self._kept = _staying(root)
        for node in tree.postorder(root):
            if isinstance(node, Let):
                self._lets[id(node.value)] = node
        for node in tree.postorder(root):
            self._new[id(node)] = self._rewritten(node)
        return self._new[id(root)]  # type: ignore[no-any-return]

    def _rewritten(self, node: Syntax) -> Any:
        if isinstance(node, Let) and isinstance(self._new[id(node.variable)], GlobalVar):
            return self._new[id(node.body)]
        after = tree.rebuild(node, [self._new[id(part)] for part in tree.children(node)])
        if isinstance(node, Function) and isinstance(after, Function):
            return after if id(node) in self._kept else self._value(node, after)
        return after

    def _value(self, before: Function, after: Function) -> Expr:
        """The replacement of a function: a global function, or a call that makes the closure."""
        let = self._lets.get(id(before))
        own = let.variable if let is not None else None
        name = self._new_name("function" if own is None else own.name_hint)
        captured = [v for v in free_vars(after) if v is not own]
        types = free_type_vars(after)
        if captured or types:
            self.lifted[name] = _closure(name, before, after, own, captured, types)
            return _made(name, captured, types)
        value = GlobalVar(name)
        if own is None:
            self.lifted[name] = after
        elif own.type_annotation == before.ty:
            self.lifted[name] = tree.replace(after, body=bind(after.body, {own: value}))
            self._new[id(own)] = value
        else:
            self.lifted[name] = _knowing_itself(after, own, value)
        return value

    def _new_name(self, hint: str) -> str:
        base = name = f"{self._owner}_{as_word(hint, 'f')}"
        number = 0
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name


def _staying(root: Function) -> set[int]:
    """The functions that are not lifted."""
    kept = {id(root)}
    if root.attrs.get(CLOSURE):
        kept.add(id(root.body))
    for node in tree.postorder(root, lambda n: not is_opaque(n)):
        if is_opaque(node):
            kept.update(id(part) for part in tree.postorder(node))
    return kept


def _made(name: str, captured: Sequence[Var], types: Sequence[TypeVar]) -> Call:
    return Call(GlobalVar(name), tuple(captured), type_args=tuple(types))


def _closure(
    name: str,
    before: Function,
    after: Function,
    own: Var | None,
    captured: Sequence[Var],
    types: Sequence[TypeVar],
) -> Function:
    """The function that makes a closure: `fn [types](captured, Closure=1) { after }`."""
    params = [tree.replace(v) for v in captured]
    given = dict(zip(captured, params, strict=True))
    inner = tree.replace(after, body=bind(after.body, given))
    if own is not None:
        inner = _knowing_itself(inner, own, _made(name, params, types))
    attrs = DictAttrs({CLOSURE: 1})
    return Function(tuple(params), inner, before.checked_type, tuple(types), attrs, span=after.span)


def _knowing_itself(function: Function, own: Var, value: Expr) -> Function:
    """The function with `own` bound to that value inside."""
    if own not in free_vars(function):
        return function
    again = tree.replace(own)
    return tree.replace(function, body=Let(again, value, bind(function.body, {own: again})))
