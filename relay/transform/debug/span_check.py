"""Check that every expression knows its place in a source; nothing is changed."""

from __future__ import annotations

from relay import tree
from relay.errors import Diagnostic, IllFormed, fail
from relay.immutable import frozen
from relay.ir.expr import Constant, Constructor, Expr, Op
from relay.ir.module import IRModule
from relay.transform.base import ModulePass
from relay.transform.context import PassContext

# Defined elsewhere and used in many places: operators, constructors, constants of the metadata.
PLACELESS = (Op, Constructor, Constant)


@frozen
class SpanCheck(ModulePass):
    """Raises IllFormed, listing the expressions without a span, per function and kind."""

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        counts: dict[tuple[str, str], int] = {}
        for name, function in module.functions.items():
            for node in tree.postorder(function):
                if isinstance(node, Expr) and node.span is None and not isinstance(node, PLACELESS):
                    key = (name.name_hint, type(node).__name__)
                    counts[key] = counts.get(key, 0) + 1
        if counts:
            fail(IllFormed, [_missing(*key, count) for key, count in counts.items()])
        return module


def _missing(function: str, kind: str, count: int) -> Diagnostic:
    message = f"expressions without a span in `@{function}`"
    return Diagnostic(message, None, "none", f"{count} of kind {kind}")
