"""Inline kernels, the inverse of FuseOps:

fn (%p0, %p1, Primitive=1) { nn.relu(add(%p0, %p1)) }(%x, %y)  ->  nn.relu(add(%x, %y))
"""

from __future__ import annotations

from relay import tree
from relay.immutable import frozen
from relay.ir.expr import Call, Function, Syntax
from relay.ir.inlining import Inlining
from relay.transform.base import FunctionPass


@frozen
class DefuseOps(FunctionPass):
    """Inlines calls of primitive functions."""

    opt_level = 3
    required = ("InferType",)

    def rewrite(self, function: Function) -> Function:
        return tree.transform(function, _inlined)


def _inlined(before: Syntax, after: Syntax) -> Syntax:
    match before, after:
        case Call(op=Function() as callee), Call(op=Function() as kernel, args=args) if (
            kernel.attrs.get("Primitive")
        ):
            inlining = Inlining(before, callee)
            return inlining.body(kernel, args) if inlining.is_possible else after
    return after
