"""Run a pass on some functions only:

ApplyPassToFunction(FoldConstant(), "main"):
def @main() { add(1, 1) }  def @other() { add(1, 1) }
->
def @main() { 2 }  def @other() { add(1, 1) }
"""

from __future__ import annotations

import re

from relay.analysis.call_graph import CallGraph
from relay.errors import PassError
from relay.immutable import frozen
from relay.ir.module import IRModule
from relay.transform.base import ModulePass, Pass
from relay.transform.context import PassContext


@frozen
class ApplyPassToFunction(ModulePass):
    """Applies `transform` to the functions whose whole name matches a regular expression.

    The pass sees the whole module. Of what it makes, the matching functions are taken over, with
    the new functions they call; all others stay as they were.
    """

    transform: Pass
    func_name_regex: str
    error_if_no_function_matches_regex: bool = False

    @property
    def name(self) -> str:
        return f"ApplyPassToFunction({self.transform.name}, {self.func_name_regex!r})"

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        wanted = self._pattern()
        chosen = [name for name in module.functions if wanted.fullmatch(name.name_hint)]
        if not chosen:
            if self.error_if_no_function_matches_regex:
                names = ", ".join(f"`@{name.name_hint}`" for name in module.functions) or "none"
                raise PassError(f"no function matches {wanted.pattern!r}; the module has {names}")
            return module
        made = self.transform(module)
        kept = [name for name in chosen if name in made]
        added = {name for name in CallGraph(made).reachable(kept) if name not in module}
        for header, definition in made.type_definitions.items():
            module[header] = definition
        for name in chosen:
            if name not in made:
                del module[name]
        for name, function in made.functions.items():
            if name in added or name in kept:
                module[name] = function
        return module

    def _pattern(self) -> re.Pattern[str]:
        try:
            return re.compile(self.func_name_regex)
        except re.error as error:
            raise PassError(f"bad regular expression {self.func_name_regex!r}: {error}") from None
