"""Inline composite functions, the inverse of MergeComposite:

fn (%a, %b, Composite="dnnl.add_relu") { nn.relu(add(%a, %b)) }(%x, %y)  ->  nn.relu(add(%x, %y))

A composite function is one operator for the compiler that knows it by name. If no such compiler
takes it, its operators are compiled and fused like any others. A composite function that is not
called in place becomes an ordinary function.
"""

from __future__ import annotations

from relay import tree
from relay.analysis.purity import Purity
from relay.immutable import frozen
from relay.ir.expr import Call, Function, Syntax
from relay.ir.function_attrs import is_foreign, is_sealed
from relay.ir.inlining import Inlining
from relay.transform.base import FunctionPass
from relay.transform.external.merge_composite import COMPOSITE, PARTITIONED


@frozen
class InlineComposites(FunctionPass):
    """Inlines the composite functions for `target`, those named `target.…`; "" is all of them."""

    required = ("InferType",)
    target: str = ""

    def rewrite(self, function: Function) -> Function:
        return without_composites(function, self.target)


def without_composites(function: Function, target: str = "") -> Function:
    """The typed `function` with composite functions for `target` inlined."""
    nodes = list(tree.postorder(function))
    if not any(_is_for(node, target) for node in nodes):
        return function
    # kernels, and functions of external compilers, stay as they are
    sealed: dict[Syntax, Syntax] = {node: node for node in nodes if is_sealed(node)}
    purity = Purity(function)

    def rewritten(before: Syntax, after: Syntax) -> Syntax:
        if _is_for(before, target):
            assert isinstance(after, Function)
            return after.without_attr(COMPOSITE).without_attr(PARTITIONED)
        match before, after:
            case Call(op=Function() as callee), Call(op=Function() as inlined, args=args):
                inlining = Inlining(before, callee)
                if _is_for(callee, target) and inlining.is_possible:
                    return inlining.body(inlined, args, purity.is_pure)
        return after

    return tree.transform(function, rewritten, sealed)


def _is_for(node: Syntax, target: str) -> bool:
    """Whether this is a composite function for `target`; "" is for all."""
    if not isinstance(node, Function) or is_foreign(node) or COMPOSITE not in node.attrs:
        return False
    return not target or str(node.attrs[COMPOSITE]).startswith(f"{target}.")
