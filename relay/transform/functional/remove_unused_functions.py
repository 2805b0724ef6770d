"""Remove functions that no entry function reaches:

def @main() { @f() }  def @f() { 1 }  def @g() { 2 }  ->  def @main() { @f() }  def @f() { 1 }
"""

from __future__ import annotations

from collections.abc import Sequence

from relay.analysis.call_graph import CallGraph
from relay.immutable import frozen
from relay.ir.module import IRModule
from relay.transform.base import ModulePass
from relay.transform.context import PassContext


@frozen
class RemoveUnusedFunctions(ModulePass):
    """Keeps the entry functions (by default `main`) and all functions reachable from them."""

    opt_level = 1
    entry_functions: Sequence[str] = ("main",)

    def __post_init__(self) -> None:
        given = ("main",) if self.entry_functions is None else self.entry_functions
        entries = (given,) if isinstance(given, str) else tuple(given)
        object.__setattr__(self, "entry_functions", entries)

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        reached = CallGraph(module).reachable(self.entry_functions)
        for name in list(module.functions):
            if name not in reached:
                del module[name]
        return module
