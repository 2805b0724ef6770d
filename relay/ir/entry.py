"""`main`, where a program begins: what may call it, and what it is called instead."""

from __future__ import annotations

from relay import tree
from relay.ir.expr import Call, Expr, Function, GlobalVar, Var
from relay.ir.module import IRModule

MAIN = "main"


def with_main(module: IRModule, name: str) -> IRModule:
    """The module with function `name` as `main`; one that has that name already gets another."""
    if name == MAIN:
        return module.copy()
    if MAIN in module:
        module, _ = _without_main(module)
    else:
        module = module.copy()
    module[MAIN] = module[name]
    return module


def with_main_apart(module: IRModule) -> IRModule:
    """The module with a `main` that nobody calls: where somebody does, it only calls the function
    that was `main`, which has another name.

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
    module, other = _without_main(module)
    function: Function = module[other]
    params = tuple(
        Var(param.name_hint, param.type_annotation, span=param.span) for param in function.params
    )
    module[MAIN] = Function(
        params,
        Call(other, params, span=function.span),
        function.ret_type,
        function.type_params,
        function.attrs,
        span=function.span,
    )
    return module


def _without_main(module: IRModule) -> tuple[IRModule, GlobalVar]:
    """A copy in which `main` has another name, and that name."""
    module = module.copy()
    numbers = range(len(module.functions) + 1)
    other = GlobalVar(next(n for n in (f"{MAIN}_{i}" for i in numbers) if n not in module))
    for variable, function in module.functions.items():
        renamed = _renamed(function, other)
        if variable.name_hint == MAIN:
            del module[variable]
            module[other] = renamed
        elif renamed is not function:
            module[variable] = renamed
    return module, other


def _renamed(root: Expr, other: GlobalVar) -> Expr:
    """An expression that calls `other` where it called `main`."""

    def rename(_: Expr, after: Expr) -> Expr:
        return other if isinstance(after, GlobalVar) and after.name_hint == MAIN else after

    return tree.transform(root, rename)
