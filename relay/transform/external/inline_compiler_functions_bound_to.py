"""Inline functions that were outlined for other compilers:

InlineCompilerFunctionsBoundTo(["f"]):
def @main(%x: int32) { negative(@f(%x)) }  def @f(%y: int32, Compiler="c") { add(%y, 1) }
->
def @main(%x: int32) { negative(add(%x, 1)) }

Composite functions inside of them are inlined too. What a compiler rejected is then compiled like
the rest of the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from relay import tree
from relay.analysis.purity import Purity
from relay.check.infer import infer_module
from relay.errors import PassError
from relay.immutable import frozen
from relay.ir.attrs import DictAttrs
from relay.ir.expr import Call, Function, GlobalVar, Syntax
from relay.ir.function_attrs import is_foreign
from relay.ir.inlining import Inlining
from relay.ir.module import IRModule
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.transform.external.inline_composites import without_composites

MARKS = ("Primitive", "Inline", "Compiler", "global_symbol")


@frozen
class InlineCompilerFunctionsBoundTo(ModulePass):
    """Inlines the functions of those names that have a `Compiler`.

    One that cannot be inlined, or is used as a value, becomes an ordinary function.
    """

    required = ("InferType",)
    global_vars: Iterable[GlobalVar | str]

    def __post_init__(self) -> None:
        if isinstance(self.global_vars, str | GlobalVar):
            raise PassError(f"a list of global variables is needed, found {self.global_vars!r}")
        names = tuple(v if isinstance(v, GlobalVar) else GlobalVar(v) for v in self.global_vars)
        object.__setattr__(self, "global_vars", names)

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        wanted = {
            name.name_hint: function
            for name, function in module.functions.items()
            if name in self.global_vars and function.attrs.get("Compiler")
        }
        if not wanted:
            return module
        plain = {name: without_composites(_unmarked(f)) for name, f in wanted.items()}
        after = dict(plain)
        for name, function in module.functions.items():
            if name.name_hint not in wanted and not is_foreign(function):
                after[name.name_hint] = _inlined(function, wanted, plain)
        nodes = (node for function in after.values() for node in tree.postorder(function))
        used = {node.name_hint for node in nodes if isinstance(node, GlobalVar)}
        for key, function in after.items():
            if key in used or key not in wanted:
                module[key] = function
            else:
                del module[key]
        return infer_module(module)


def _unmarked(function: Function) -> Function:
    kept = {name: value for name, value in function.attrs.items() if name not in MARKS}
    return tree.replace(function, attrs=DictAttrs(kept))


def _inlined(
    function: Function, wanted: Mapping[str, Function], plain: Mapping[str, Function]
) -> Function:
    """`function` with calls of `wanted` replaced by the bodies of their `plain` forms."""
    purity = Purity(function)

    def rewritten(before: Syntax, after: Syntax) -> Syntax:
        match before, after:
            case Call(op=GlobalVar(name_hint=name)), Call(args=args) if name in wanted:
                inlining = Inlining(before, wanted[name])
                if inlining.is_possible:
                    return inlining.body(plain[name], args, purity.is_pure)
        return after

    return tree.transform(function, rewritten)
