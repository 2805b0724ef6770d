"""Clean up behind passes that change layouts:

layout_transform(layout_transform(%x, "NCHW", "NCHW8c"), "NCHW8c", "NCHW")  ->  %x

These are the rules of SimplifyExpr about shapes, conversions and operands that change nothing. It
leaves the arithmetic with constants alone, which has found its place by then.
"""

from __future__ import annotations

from dataclasses import dataclass

from relay.ir.expr import Function
from relay.ir.module import IRModule
from relay.transform import conversion_identities, shape_identities, uniform_operands
from relay.transform.base import FunctionPass
from relay.transform.context import PassContext
from relay.transform.peephole import merged, rewritten

RULES = merged(
    shape_identities.RULES,
    conversion_identities.RULES,
    dict.fromkeys(uniform_operands.NEUTRAL_RIGHT, (uniform_operands.neutral_operand,)),
)


@dataclass(frozen=True)
class SimplifyExprPostAlterOp(FunctionPass):
    """Simplifies shapes, layouts, conversions and identities."""

    opt_level = 0
    required = ("InferType",)

    def transform_function(
        self, function: Function, module: IRModule, context: PassContext
    ) -> Function:
        return rewritten(function, RULES)
