"""Remove unused bindings without effects:

let %a = exp(%x); let %b = sqrt(%a); nn.relu(%x)  ->  nn.relu(%x)

A binding goes when its variable is unused, or used only by bindings that go, and its value is pure
(`relay.analysis.purity`). Failure and divergence do not count as effects. Reading a reference may
be removed; writing to one, and calling an unknown function, may not.

With `inline_once` a binding that is used once moves to its use:

DeadCodeElimination(inline_once=True):
let %a = exp(%x); let %b = sqrt(%a); add(%b, %x)  ->  add(sqrt(exp(%x)), %x)

if it is pure and reads nothing, and the use is evaluated as often as the binding: not inside a
function, a branch or a clause of the body. A binding that declares another type than its value has
stays.
"""

from __future__ import annotations

from collections.abc import Callable

from relay import tree
from relay.analysis.normal_forms import Blocks
from relay.analysis.purity import Effect, Purity, manages_memory
from relay.check.infer import infer_module
from relay.check.redirect_typed import redirect_typed
from relay.immutable import frozen
from relay.ir.expr import Clause, Function, If, Let, Syntax, Var
from relay.ir.function_attrs import is_foreign
from relay.ir.module import IRModule
from relay.transform.base import ModulePass
from relay.transform.context import PassContext

# What leads elsewhere, and where to.
Replacements = dict[Syntax, Syntax]


@frozen
class DeadCodeElimination(ModulePass):
    """Removes unused `let`s without effects; with `inline_once` also those that are used once.

    `ignore_impurity` removes unused bindings whatever evaluating them does.
    """

    opt_level = 1
    required = ("InferType",)
    inline_once: bool = False
    ignore_impurity: bool = False

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        module = _rewritten(module, self._dead)
        # what is unused would count as a use, so it has to be gone before
        return _rewritten(module, self._used_once) if self.inline_once else module

    def _dead(self, function: Function, purity: Purity) -> Replacements:
        used = _Uses(function, purity, self.ignore_impurity)
        return {let: let.body for let in used.lets if let.variable not in used.users}

    def _used_once(self, function: Function, purity: Purity) -> Replacements:
        found: Replacements = {}
        if manages_memory(function):
            return found
        uses = _Uses(function, purity, self.ignore_impurity)
        blocks = Blocks(function)
        for let in uses.lets:
            users = uses.users.get(let.variable, ())
            if len(users) == 1 and _may_move(let, users[0], purity, blocks):
                found[let] = let.body
                found[let.variable] = let.value
        return found


def _rewritten(
    module: IRModule, replacements: Callable[[Function, Purity], Replacements]
) -> IRModule:
    """The module with each function redirected, and typed again."""
    purity = Purity(module)
    changed: dict[str, Function] = {}
    for name, function in module.functions.items():
        if not is_foreign(function) and (found := replacements(function, purity)):
            changed[name.name_hint] = redirect_typed(function, found)
    for name_hint, function in changed.items():
        module[name_hint] = function
    return infer_module(module) if changed else module


class _Uses:
    """The bindings that can be reached, and the uses of their variables.

    Begins at the function. The value of a binding without effects counts when its variable does.
    """

    def __init__(self, function: Function, purity: Purity, ignore_impurity: bool) -> None:
        self.lets: list[Let] = []
        self.users: dict[Var, list[Syntax]] = {}  # one for every edge
        self._pending: list[Syntax] = [function]
        waiting: dict[Var, Let] = {}
        seen: set[int] = set()
        while self._pending:
            node = self._pending.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            if isinstance(node, Let):
                self.lets.append(node)
                self._follow(node, node.body)
                if ignore_impurity or purity.effect(node.value) < Effect.ACTS:
                    waiting[node.variable] = node
                else:
                    self.users.setdefault(node.variable, [])
                    self._follow(node, node.value)
            elif isinstance(node, Var):
                if (let := waiting.get(node)) is not None:
                    self._follow(let, let.value)
            else:
                for part in tree.children(node):
                    self._follow(node, part)

    def _follow(self, user: Syntax, part: Syntax) -> None:
        if isinstance(part, Var):
            self.users.setdefault(part, []).append(user)
        self._pending.append(part)


def _may_move(let: Let, user: Syntax, purity: Purity, blocks: Blocks) -> bool:
    """Whether the value may stand where its variable is used, in `user`."""
    declared = let.variable.type_annotation
    if declared is not None and declared != let.value.ty:
        return False
    if user is let:  # let %x = v; %x
        return True
    entered = isinstance(user, Function | Clause) or (
        isinstance(user, If) and user.cond is not let.variable
    )
    return purity.is_pure(let.value) and not entered and blocks.home(user) is blocks.home(let)
