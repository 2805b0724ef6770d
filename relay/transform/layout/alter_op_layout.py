"""Convert operators to the layouts that the target prefers:

AlterOpLayout() with Target("llvm -mcpu=skylake-avx512"):
nn.conv2d(%x, %w, padding=[1, 1, 1, 1])
->
%0 = layout_transform(%x, src_layout="NCHW", dst_layout="NCHW16c");
%1 = nn.contrib_conv2d_NCHWc(%0, %w, …, data_layout="NCHW16c", out_layout="NCHW16c");
layout_transform(%1, src_layout="NCHW16c", dst_layout="NCHW")

for %x: Tensor[(1, 64, 56, 56), float32], weights %w: Tensor[(64, 64, 3, 3), float32]

Each target has its own preferences (`relay.target.llvm.layouts` for processors). How layouts
propagate to other operators is described in `relay.transform.layout.layout_propagation`;
transforms of weights are computed once, by the passes that fold constants.

The attribute `FTVMAlterOpLayout` of an operator overrides the target: a function `(attrs, inputs,
types, result type) -> expression, or None`. Inputs that its call uses unchanged are converted to
the layouts that the attributes of that call name.
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
