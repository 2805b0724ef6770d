"""Rewrite operators into supported forms, by functions that are attached to them:

nn.dense(%x, %w)  ->  strided_slice(nn.dense(nn.pad(%x, …), nn.pad(%w, …)), …)

if the function pads. It is an attribute of the operator, by default `FTVMLegalize`: `(attrs,
inputs, types) -> expression, or None` to leave the call unchanged. The types are those of the
inputs, then that of the result. The expression replaces the call, so it has the same type. It is
not legalized again.
"""

from __future__ import annotations

from relay import tree
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Function, Syntax
from relay.ir.function_attrs import is_opaque
from relay.op.opdef import OpDef
from relay.transform.base import FunctionPass
from relay.transform.layout.layout_propagation import rewrite_of


@frozen
class Legalize(FunctionPass):
    """Rewrites calls of operators that have the attribute `legalize_map_attr_name`."""

    opt_level = 1
    required = ("InferType",)
    legalize_map_attr_name: str = "FTVMLegalize"

    def rewrite(self, function: Function) -> Function:
        left_alone = _parts_of_opaque(function)

        def visit(before: Syntax, after: Syntax) -> Syntax:
            match before, after:
                case Call(op=OpDef() as op), Call() if id(before) not in left_alone:
                    return self._legal(before, after, op)
            return after

        return tree.transform(function, visit)

    def _legal(self, before: Call, after: Call, op: OpDef) -> Expr:
        name = self.legalize_map_attr_name
        if not op.has_attr(name):
            return after
        types = [*(arg.ty for arg in before.args), before.ty]
        return rewrite_of(op, name, after.attrs, after.args, types) or after


def _parts_of_opaque(function: Function) -> set[int]:
    """The expressions inside of opaque functions."""
    found: set[int] = set()
    for node in tree.postorder(function):
        if node is not function and is_opaque(node):
            inside = tree.postorder(node, enter=lambda part: id(part) not in found)
            found.update([id(part) for part in inside])
    return found
