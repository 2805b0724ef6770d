"""Clean up after passes that change layouts:

%0 = layout_transform(%x, src_layout="NCHW", dst_layout="NCHW8c");
layout_transform(%0, src_layout="NCHW8c", dst_layout="NCHW")
->
%x

for %x: Tensor[(1, 8, 5, 5), float32]

These are the rules of SimplifyExpr about shapes, conversions and neutral operands. Arithmetic with
constants stays where earlier passes have put it.
"""

from __future__ import annotations

from relay.immutable import frozen
from relay.transform.simplify import conversion_identities, shape_identities, uniform_operands
from relay.transform.simplify.peephole import RulePass


@frozen
class SimplifyExprPostAlterOp(RulePass):
    """Simplifies shapes, layouts, conversions and identities."""

    rules = (
        shape_identities.RULES,
        conversion_identities.RULES,
        {uniform_operands.has_identity: (uniform_operands.neutral_operand,)},
    )
