"""Give every expression a span, by printing the program and parsing it again:

fn (%x: float32) { add(%x, %x) }  ->  the same, where `add` is at GeneratedSource:3:3

Errors can then quote programs that were built in Python.
"""

from __future__ import annotations

from relay.immutable import frozen
from relay.ir.module import IRModule
from relay.parser import parse
from relay.transform.base import ModulePass
from relay.transform.context import PassContext

SOURCE_NAME = "GeneratedSource"


@frozen
class AnnotateSpans(ModulePass):
    """Replaces all spans by those in the printed program."""

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        return parse(module.astext(show_meta_data=True), SOURCE_NAME)
