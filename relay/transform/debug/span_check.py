"""Check that every expression has a span; nothing is changed."""

from __future__ import annotations

from collections import Counter

from relay import tree
from relay.errors import Diagnostic, IllFormed, fail
from relay.immutable import frozen
from relay.ir.expr import Constant, Constructor, Expr, Op
from relay.ir.module import IRModule
from relay.transform.base import ModulePass
from relay.transform.context import PassContext

# Shared between many expressions, so they need no span.
WITHOUT_SPAN = (Op, Constructor, Constant)


@frozen
class SpanCheck(ModulePass):
    """Raises IllFormed, listing the expressions without a span, per function and kind."""

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        counts = Counter(
            (name.name_hint, type(node).__name__)
            for name, function in module.functions.items()
            for node in tree.postorder(function)
            if isinstance(node, Expr) and not isinstance(node, WITHOUT_SPAN) and node.span is None
        )
        if counts:
            fail(IllFormed, [_missing(*key, count) for key, count in counts.items()])
        return module


def _missing(function: str, kind: str, count: int) -> Diagnostic:
    message = f"expressions without a span in `@{function}`"
    return Diagnostic(message, None, "none", f"{count} of kind {kind}")
