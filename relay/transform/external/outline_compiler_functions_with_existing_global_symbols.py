"""Outline inline functions of other compilers into functions of the module:

def @main(%x: int32) { fn (%y: int32, Compiler="c", global_symbol="f") { add(%y, 1) }(%x) }
->
def @main(%x: int32) { @f(%x) }  def @f(%y: int32, Compiler="c", global_symbol="f") { add(%y, 1) }

Their names are their attribute `global_symbol`. Functions are found where they are called or bound
by a `let`; those with captured variables stay.
"""

from __future__ import annotations

from typing import Any

from relay import tree
from relay.check.infer import infer_module
from relay.errors import PassError
from relay.immutable import frozen
from relay.ir.compare import structural_equal
from relay.ir.expr import Call, Function, GlobalVar, Let, Syntax
from relay.ir.function_attrs import is_foreign
from relay.ir.module import IRModule
from relay.ir.variables import free_type_vars, free_vars
from relay.transform.base import ModulePass
from relay.transform.context import PassContext

COMPILER, SYMBOL = "Compiler", "global_symbol"


@frozen
class OutlineCompilerFunctionsWithExistingGlobalSymbols(ModulePass):
    """Outlines the functions that have a `Compiler` and a `global_symbol`.

    With `compiler_filter` only those for that compiler.
    """

    required = ("InferType",)
    compiler_filter: str = ""

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        outlining = _Outlining(module, self.compiler_filter)
        changed: dict[str, Function] = {}
        for name, function in module.functions.items():
            if not is_foreign(function):
                after = outlining.of(function)
                if after is not function:
                    changed[name.name_hint] = after
        for key, function in {**changed, **outlining.outlined}.items():
            module[key] = function
        return infer_module(module) if changed else module


class _Outlining:
    """Moves nested functions to the module."""

    def __init__(self, module: IRModule, compiler: str) -> None:
        self.outlined: dict[str, Function] = {}
        self._module = module
        self._compiler = compiler

    def of(self, function: Function) -> Function:
        new: dict[int, Any] = {}  # the replacement of a node; of a variable, its value
        order = list(tree.postorder(function))
        for node in order:
            match node:
                case Let(variable=variable, value=Function() as value) if self._is_wanted(value):
                    if not free_type_vars(value):
                        new[id(variable)] = self._outlined(value)
        for node in order:
            match node:
                case Let(variable=variable, body=body) if isinstance(
                    new.get(id(variable)), GlobalVar
                ):
                    new[id(node)] = new[id(body)]
                case Call(op=Function() as callee, type_args=types) if self._is_wanted(callee):
                    types = (*types, *free_type_vars(callee))
                    args = tuple(new[id(arg)] for arg in node.args)
                    op = self._outlined(callee)
                    new[id(node)] = tree.replace(node, op=op, args=args, type_args=types)
                case _ if id(node) not in new:
                    parts = [new[id(part)] for part in tree.children(node)]
                    new[id(node)] = tree.rebuild(node, parts)
        return new[id(function)]  # type: ignore[no-any-return]

    def _is_wanted(self, node: Syntax) -> bool:
        if not isinstance(node, Function) or not is_foreign(node) or SYMBOL not in node.attrs:
            return False
        compiler = node.attrs.get(COMPILER)
        return compiler == (self._compiler or compiler) and not free_vars(node)

    def _outlined(self, function: Function) -> GlobalVar:
        types = (*function.type_params, *free_type_vars(function))
        function = tree.replace(function, type_params=types) if types else function
        name = str(function.attrs[SYMBOL])
        known = self.outlined.get(name, function)
        if name in self._module:
            known = self._module[name]
        if known is not function and not structural_equal(known, function):
            raise PassError(
                f"there are two functions of the name `{name}`; "
                f"a `{SYMBOL}` belongs to one function of the module"
            )
        self.outlined.setdefault(name, function)
        return GlobalVar(name)
