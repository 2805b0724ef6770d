"""Clean up behind passes that change layouts:

layout_transform(layout_transform(%x, "NCHW", "NCHW8c"), "NCHW8c", "NCHW")  ->  %x

These are the rules of SimplifyExpr about shapes, conversions and operands that change nothing. It
leaves the arithmetic with constants alone, which has found its place by then.
"""

from __future__ import annotations

from relay.immutable import frozen
from relay.transform.simplify import conversion_identities, shape_identities, uniform_operands
from relay.transform.simplify.peephole import RulePass, merged

RULES = merged(
    shape_identities.RULES,
    conversion_identities.RULES,
    dict.fromkeys(uniform_operands.NEUTRAL_RIGHT, (uniform_operands.neutral_operand,)),
)


@frozen
class SimplifyExprPostAlterOp(RulePass):
    """Simplifies shapes, layouts, conversions and identities."""

    rules = RULES
