"""Write operators in the layouts that the target computes fastest, and let the others follow:

nn.conv2d(%x, %w, padding=[1, 1, 1, 1])                       %x: Tensor[(1, 64, 56, 56), float32]
-> layout_transform(
       nn.contrib_conv2d_NCHWc(layout_transform(%x, "NCHW", "NCHW16c"),
                               layout_transform(%w, "OIHW", "OIHW16i16o"), padding=[1, 1, 1, 1],
                               data_layout="NCHW16c", kernel_layout="OIHW16i16o", …),
       "NCHW16c", "NCHW")

on a machine whose vectors have 16 elements. What a target prefers is its own business
(`relay.target.llvm.layouts` for processors). How layouts spread is told in
`relay.transform.layout.layout_propagation`; the transforms of weights are computed once, by the
passes that compute with constants.

An operator may have a function of its own for this, which goes first, the attribute
`FTVMAlterOpLayout`: `(attrs, inputs, types, result type) -> expression, or None`. Inputs that its
call takes as they are given are laid as the attributes of that call say.
"""

from __future__ import annotations

from typing import Any

from relay.errors import Diagnostic, PassError
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Function
from relay.ir.module import IRModule
from relay.op.opdef import OpDef
from relay.target.target import wanted
from relay.transform.base import FunctionPass
from relay.transform.context import PassContext
from relay.transform.layout.layout_propagation import Alter, propagate

ATTRIBUTE = "FTVMAlterOpLayout"


@frozen
class AlterOpLayout(FunctionPass):
    """Brings operators into the layouts that `target` prefers: a `relay.target.Target` or its text;
    without one `RELAY_TARGET`, or this machine."""

    opt_level = 3
    required = ("InferType",)
    target: Any = None

    def transform_function(
        self, function: Function, module: IRModule, context: PassContext
    ) -> Function:
        return propagate(function, _alteration(self.target))


def _alteration(given: Any) -> Alter:
    """What is done with a single call."""
    target = wanted(given)

    def alter(call: Call) -> Expr | None:
        op = call.op
        assert isinstance(op, OpDef)
        if (own := op.get_attr(ATTRIBUTE)) is None:
            return target.preferred(call)
        found = own(call.attrs, call.args, [arg.ty for arg in call.args], call.ty)
        if found is not None and not isinstance(found, Expr):
            raise PassError(
                Diagnostic(
                    f"{ATTRIBUTE} of `{op.name}` gives an expression or None",
                    expected="relay.Call",
                    found=repr(found),
                )
            )
        return found

    return alter
