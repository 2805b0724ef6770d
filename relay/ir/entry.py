"""The entry point `main`: choosing it, and keeping it from being called inside the module."""

from __future__ import annotations

from relay import tree
from relay.ir.expr import Call, Expr, Function, GlobalVar
from relay.ir.module import IRModule

MAIN = "main"


def with_main(module: IRModule, name: str) -> IRModule:
    """The module with function `name` as `main`; a previous `main` is renamed."""
    if name == MAIN:
        return module.copy()
    module = _rename_main(module)[0] if MAIN in module else module.copy()
    module[MAIN] = module[name]
    return module


def with_main_apart(module: IRModule) -> IRModule:
    """The module with a `main` that is not called inside it: a recursive `main` is renamed, and the
    new `main` only calls it.

    def @main(%n) { … @main(%n - 1) … }
    ->   def @main_0(%n) { … @main_0(%n - 1) … }   def @main(%n) { @main_0(%n) }
    """
    called = any(
        isinstance(node, GlobalVar) and node.name_hint == MAIN
        for function in module.functions.values()
        for node in tree.postorder(function)
    )
    if not called:
        return module
    module, other = _rename_main(module)
    function: Function = module[other]
    params = tuple(map(tree.replace, function.params))
    call = Call(other, params, span=function.span)
    module[MAIN] = tree.replace(function, params=params, body=call)
    return module


def _rename_main(module: IRModule) -> tuple[IRModule, GlobalVar]:
    """A copy in which `main` has another name, and that name."""
    module = module.copy()
    numbers = range(len(module.functions) + 1)
    other = GlobalVar(next(n for n in (f"{MAIN}_{i}" for i in numbers) if n not in module))

    def rename(_: Expr, after: Expr) -> Expr:
        return other if isinstance(after, GlobalVar) and after.name_hint == MAIN else after

    for variable, function in module.functions.items():
        renamed = tree.transform(function, rename)
        if variable.name_hint == MAIN:
            del module[variable]
            module[other] = renamed
        elif renamed is not function:
            module[variable] = renamed
    return module, other
