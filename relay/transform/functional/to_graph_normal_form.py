"""Replace variables by their values, so that the program is a graph without `let`s:

let %a = exp(%x); let %b = sqrt(%a); add(%b, %a)  ->  %0 = exp(%x); add(sqrt(%0), %0)

This is the inverse of `ToANormalForm`. An expression with several uses is computed once, when it is
first needed, so nothing is computed more often than before, and what only one branch needs is
computed in that branch alone.

Bindings whose values have effects (`relay.analysis.purity`) stay, since they fix when the value is
computed:

let %r = ref(%x); let %old = ref_read(%r); let %done = ref_write(%r, %y); %old
->
%0 = ref(%x); let %old = ref_read(%0); let %done = ref_write(%0, %y); %old

So bindings stay whose values read or write references or have other effects, and all of a function
that writes to storage. These stay as well: a recursive function; what only inner functions use,
where it would be computed in every call; and a binding that declares another type than its value
has, which is a check. Failure and divergence are no effects (`relay.analysis.purity`): they happen
when the value is needed.
"""

from __future__ import annotations

from relay import tree
from relay.analysis.purity import Purity, manages_memory
from relay.check.infer import infer_module
from relay.check.redirect_typed import redirect_typed
from relay.immutable import frozen
from relay.ir.expr import Function, Let, Syntax, Var
from relay.ir.function_attrs import is_foreign
from relay.ir.module import IRModule
from relay.ir.scopes import Scope, Scopes
from relay.transform.base import ModulePass
from relay.transform.context import PassContext


@frozen
class ToGraphNormalForm(ModulePass):
    """Replaces variables by the values that `let`s bind them to, where that is not observable."""

    opt_level = 1
    required = ("InferType",)

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        purity = Purity(module)
        changed: dict[str, Function] = {}
        for name, function in module.functions.items():
            if is_foreign(function) or manages_memory(function):
                continue
            if found := _replacements(function, purity):
                changed[name.name_hint] = redirect_typed(function, found)
        for name_hint, function in changed.items():
            module[name_hint] = function
        return infer_module(module) if changed else module


def _replacements(function: Function, purity: Purity) -> dict[Syntax, Syntax]:
    """The replacements of the removed `let`s and of their variables."""
    places = _Uses(function)
    found: dict[Syntax, Syntax] = {}
    for let in places.lets:
        if purity.is_pure(let.value) and _is_free_to_move(let, places):
            found[let] = let.body
            found[let.variable] = let.value
    return found


def _is_free_to_move(let: Let, places: _Uses) -> bool:
    declared = let.variable.type_annotation
    if declared is not None and declared != let.value.ty:
        return False
    if let.variable in places.recursive:
        return False
    # an unused variable leads nowhere
    use = places.around_uses.get(let.variable)
    return use is None or use.function is places.home(let).function


class _Uses(Scopes):
    """Scopes, with the innermost scope around the uses of each variable of a `let`."""

    def __init__(self, root: Function) -> None:
        super().__init__(root)
        self.lets = [node for node in tree.postorder(root) if isinstance(node, Let)]
        self.around_uses: dict[Var, Scope] = {}  # the innermost scope around them
        self.recursive: set[Var] = set()
        own = {
            let.variable: self.opened(let.value, "body")
            for let in self.lets
            if isinstance(let.value, Function)
        }
        for node in tree.postorder(root):
            for child, scope in self._edges(node):
                is_binder = isinstance(node, Let) and child is node.variable
                if not isinstance(child, Var) or is_binder:
                    continue
                known = self.around_uses.get(child)
                self.around_uses[child] = scope if known is None else known.common(scope)
                body = own.get(child)
                if body is not None and scope.ancestor_at(body.depth) is body:
                    self.recursive.add(child)
