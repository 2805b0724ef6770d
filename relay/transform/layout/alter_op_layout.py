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

from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Function
from relay.op.opdef import OpDef
from relay.target.target import wanted
from relay.transform.base import FunctionPass
from relay.transform.layout.layout_propagation import Alter, propagate, rewrite_of

ATTRIBUTE = "FTVMAlterOpLayout"


@frozen
class AlterOpLayout(FunctionPass):
    """Converts operators to the layouts that `target` prefers: a `relay.target.Target` or its text,
    by default `RELAY_TARGET` or this machine."""

    opt_level = 3
    required = ("InferType",)
    target: Any = None

    def rewrite(self, function: Function) -> Function:
        return propagate(function, _alteration(self.target))


def _alteration(given: Any) -> Alter:
    """The rewriting of single calls."""
    target = wanted(given)

    def alter(call: Call) -> Expr | None:
        op = call.op
        assert isinstance(op, OpDef)
        if not op.has_attr(ATTRIBUTE):
            return target.preferred(call)
        types = [arg.ty for arg in call.args]
        return rewrite_of(op, ATTRIBUTE, call.attrs, call.args, types, call.ty)

    return alter
