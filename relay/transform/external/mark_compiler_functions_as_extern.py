"""Mark functions of other compilers as compiled:

def @main(%x: int32) { @f(%x) }  def @f(%y: int32, Compiler="c", global_symbol="f") { add(%y, 1) }
->
def @main(%x: int32) { call_lowered(@f, (%x,)) }  def @f(%y: int32, Extern=1) { add(%y, 1) }

Their attributes are removed, and they are called as compiled code. Their bodies remain as a
definition of what they compute.
"""

from __future__ import annotations

from relay import tree
from relay.check.infer import infer_module
from relay.immutable import frozen
from relay.ir.attrs import DictAttrs
from relay.ir.expr import Call, Function, GlobalVar, Syntax, Tuple
from relay.ir.function_attrs import is_foreign
from relay.ir.module import IRModule
from relay.op.vm import call_lowered
from relay.transform.base import ModulePass
from relay.transform.context import PassContext


@frozen
class MarkCompilerFunctionsAsExtern(ModulePass):
    """Replaces the attributes of functions that have a `Compiler` by `Extern`.

    With `compiler_filter` only those for that compiler.
    """

    required = ("InferType",)
    compiler_filter: str = ""

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        marked = {
            name.name_hint: function
            for name, function in module.functions.items()
            if self._is_wanted(function)
        }
        if not marked:
            return module

        def called(_: Syntax, after: Syntax) -> Syntax:
            match after:
                case Call(op=GlobalVar(name_hint=name), args=args, type_args=()) if name in marked:
                    return tree.replace(call_lowered(after.op, Tuple(args)), span=after.span)
            return after

        for name, function in module.functions.items():
            if not is_foreign(function):
                module[name] = tree.transform(function, called)
        for key, function in marked.items():
            module[key] = tree.replace(function, attrs=DictAttrs({"Extern": 1}))
        return infer_module(module)

    def _is_wanted(self, function: Function) -> bool:
        compiler = str(function.attrs.get("Compiler", "default"))
        return compiler != "default" and compiler == (self.compiler_filter or compiler)
