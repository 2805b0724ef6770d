"""Print the program between two passes; nothing is changed."""

from __future__ import annotations

import sys

from relay.immutable import frozen
from relay.ir.module import IRModule
from relay.transform.base import ModulePass
from relay.transform.context import PassContext


@frozen
class PrintIR(ModulePass):
    """Prints the module under `header` to stderr."""

    header: str = ""
    show_meta_data: bool = False

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        text = module.astext(show_meta_data=self.show_meta_data)
        print(f"PrintIR({self.header}):\n{text}", file=sys.stderr)
        return module
