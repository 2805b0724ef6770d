"""Inline functions that are small or have one caller:

def @twice(%x: int32) { add(%x, %x) }  def @main(%y: int32) { @twice(@twice(%y)) }
->
def @main(%y: int32) { let %x = add(%y, %y); add(%x, %x) }

The size of a function includes what was inlined into it. `Inline` describes the rewriting. Of
mutually recursive functions those with one call site are inlined, unless all would be. Recursive
functions, function values, closures and functions of other compilers stay, and so do the entry and
functions without callers.
"""

from __future__ import annotations

from relay import tree
from relay.analysis.call_graph import CallGraph
from relay.analysis.normal_forms import CLOSURE
from relay.immutable import frozen
from relay.ir.expr import Call, Function, GlobalVar, is_atom
from relay.ir.function_attrs import is_foreign
from relay.ir.module import IRModule
from relay.transform.base import ModulePass
from relay.transform.context import PassContext
from relay.transform.functional.inline import inlined


@frozen
class AutoInline(ModulePass):
    """Inlines functions of at most `size` expressions, and those that are called once."""

    opt_level = 1
    required = ("InferType",)
    size: int = 16

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        graph = CallGraph(module)
        values = _used_as_values(module)
        sizes: dict[str, int] = {}  # of the inlined functions, with what is inlined into them
        for group in graph.components():  # callees before callers
            circle = set(group) if graph.is_recursive(group[0]) else set()
            for name in group:
                # every cycle must contain a function that stays
                back = circle.intersection(graph.callees(name))
                closes = any(callee == name or callee.name_hint in sizes for callee in back)
                if closes or name in values or _has_to_stay(name, module[name]):
                    continue
                size, calls = _size(module[name], sizes), graph.ref_count(name)
                # the size of a recursive function is not known
                is_small = size <= self.size and not circle
                if calls == 1 or (calls and is_small):
                    sizes[name.name_hint] = size
        return inlined(module, graph, map(module.get_global_var, sizes)) if sizes else module


def _has_to_stay(name: GlobalVar, function: Function) -> bool:
    if name.name_hint == "main" or is_foreign(function):
        return True
    return any(function.attrs.get(attr) for attr in (CLOSURE, "Primitive", "Composite"))


def _used_as_values(module: IRModule) -> set[GlobalVar]:
    """The functions that are used as values, or by functions that passes leave alone."""
    found: set[GlobalVar] = set()
    for function in module.functions.values():
        opaque = is_foreign(function)
        for node in tree.postorder(function):
            for index, part in enumerate(tree.children(node)):
                is_called = isinstance(node, Call) and index == 0 and not opaque
                if isinstance(part, GlobalVar) and not is_called:
                    found.add(part)
    return found


def _size(function: Function, inlined: dict[str, int]) -> int:
    """The number of expressions of a function, with others inlined into it."""
    total = 0
    for node in tree.postorder(function.body):
        total += not is_atom(node)
        if isinstance(node, Call) and isinstance(node.op, GlobalVar):
            total += inlined.get(node.op.name_hint, 0)
    return total
