"""Check that every expression knows its place in a source; nothing is changed."""

from __future__ import annotations

from dataclasses import dataclass

from relay import tree
from relay.errors import Diagnostic, IllFormed, fail
from relay.ir.expr import Constructor, Expr, Op
from relay.ir.module import IRModule
from relay.transform.base import ModulePass
from relay.transform.context import PassContext


@dataclass(frozen=True)
class SpanCheck(ModulePass):
    """Raises IllFormed, listing the expressions without a span, per function and kind."""

    def transform_module(self, module: IRModule, context: PassContext) -> IRModule:
        counts: dict[tuple[str, str], int] = {}
        for name, function in module.functions.items():
            for node in tree.postorder(function):
                # operators and constructors are defined once and used in many places
                if (
                    node.span is None
                    and isinstance(node, Expr)
                    and not isinstance(node, Op | Constructor)
                ):
                    key = (name.name_hint, type(node).__name__)
                    counts[key] = counts.get(key, 0) + 1
        if counts:
            fail(
                IllFormed,
                [
                    Diagnostic(
                        f"expressions without a span in `@{name}`", None, "none", f"{count} {kind}"
                    )
                    for (name, kind), count in counts.items()
                ],
            )
        return module
