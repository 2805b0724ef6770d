"""Replace calls of functions marked `Inline` by their bodies:

def @f(%x: int32, Inline=1) { add(%x, 1) }  def @main(%y: int32) { @f(negative(%y)) }
->
def @main(%y: int32) { let %x = negative(%y); add(%x, 1) }

Arguments are evaluated once and in order, before the body, so they are bound by `let`s; variables
and constants replace parameters directly. Each call gets its own copy. A function that checks
something its callers do not know, for example that two dimensions are equal, is called in place,
and so is one that is compiled as a whole:

def @f(%x: int32, Inline=1, Primitive=1) { add(%x, 1) }  def @main(%y: int32) { @f(%y) }
->
def @main(%y: int32) { fn (%x: int32, Inline=1, Primitive=1) { add(%x, 1) }(%y) }

Recursive functions stay functions of the module. The others are removed when they have no callers
left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from relay import tree
from relay.analysis.call_graph import CallGraph
from relay.check.infer import infer_module
from relay.immutable import frozen
from relay.ir.copying import copied
from relay.ir.expr import Call, Expr, Function, GlobalVar, Syntax
from relay.ir.function_attrs import is_foreign, is_opaque
from relay.ir.inlining import Inlining
from relay.ir.module import IRModule
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.tree import Steps

INLINE = "Inline"


@frozen
class Inline(ModulePass):
    """Inlines the functions of the module that have the attribute `Inline`."""

    opt_level = 1
    required = ("InferType",)

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        graph = CallGraph(module)
        marked = [name for name, f in module.functions.items() if f.attrs.get(INLINE)]
        return inlined(module, graph, [name for name in marked if not graph.is_recursive(name)])


def inlined(module: IRModule, graph: CallGraph, wanted: Iterable[GlobalVar]) -> IRModule:
    """The module with the functions `wanted` inlined; none may be recursive through the others."""
    functions = module.functions
    foreign = [name for name, function in functions.items() if is_foreign(function)]
    bodies = {name: functions[name] for name in wanted}
    # a function without callers is an entry; foreign functions keep their calls
    kept = {GlobalVar("main"), *(callee for name in foreign for callee in graph.callees(name))}
    gone = {name for name in bodies if graph.ref_count(name) and name not in kept}
    inlining = _Inlining({name.name_hint: function for name, function in bodies.items()})
    changed: dict[GlobalVar, Function] = {}
    for name, function in functions.items():
        if name not in gone and not is_foreign(function):
            after = tree.run(inlining.of(function))
            if after is not function:
                changed[name] = after
    for name, function in changed.items():
        module[name] = function
    for name in gone:
        del module[name]
    return infer_module(module) if changed else module


@frozen
class _Inlining:
    """Replaces calls of the typed functions `bodies`.

    Inlined bodies are rewritten in turn, so the time is linear in the size of the result.
    """

    bodies: Mapping[str, Function]

    def of(self, function: Function) -> Steps[Function]:
        new: dict[int, Any] = {}
        for node in tree.postorder(function):
            match node:
                case Call(op=GlobalVar(name_hint=name)) if name in self.bodies:
                    args = yield self._parts(node.args, new)
                    new[id(node)] = yield self._called(node, self.bodies[name], args)
                case _:
                    parts = yield self._parts(tree.children(node), new)
                    new[id(node)] = tree.rebuild(node, parts)
        return new[id(function)]  # type: ignore[no-any-return]

    def _parts(self, parts: Iterable[Syntax], new: Mapping[int, Any]) -> Steps[list[Any]]:
        """The rewritten `parts`; a function replaces its name where that is used as a value."""
        found: list[Any] = []
        for part in parts:
            if isinstance(part, GlobalVar) and part.name_hint in self.bodies:
                found.append((yield self.of(copied(self.bodies[part.name_hint]))))
            else:
                found.append(new[id(part)])
        return found

    def _called(self, call: Call, callee: Function, args: list[Expr]) -> Steps[Expr]:
        """The replacement of a call."""
        inlining = Inlining(call, callee)
        if is_opaque(callee) or not inlining.is_possible:
            function = yield self.of(copied(callee))
            return tree.replace(call, op=function, args=tuple(args))
        # the copy is rewritten, not the rewritten body copied: a chain of calls stays linear
        types, given, bound = inlining.bindings(callee, args, bind_all=True)
        copy = yield self.of(copied(callee, types, given))
        return inlining.bound(copy, bound)
