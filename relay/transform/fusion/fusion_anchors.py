"""Split a primitive function with several anchors into primitive functions with one each:

    fn (%q, %k, %v, Primitive=1, Pattern="attention") { nn.batch_matmul(nn.softmax(…), %v) }
    ->
    fn (%q, %k, %v) {
      %0 = fn (%p0, %p1, Primitive=1) { … the scores … }(%q, %k);
      %1 = fn (%p0, Primitive=1) { nn.softmax(%p0) }(%0);
      fn (%p0, %p1, Primitive=1) { nn.batch_matmul(%p0, %p1) }(%1, %v)
    }

An anchor is the operator a kernel is scheduled for, such as a product or a convolution. One kernel
for several would keep intermediate results in its own workspace; separate kernels use the memory
plan of the program.
"""

from __future__ import annotations

from relay import tree
from relay.analysis.reshapes import only_reshapes
from relay.check.infer import infer_module
from relay.ir.expr import Call, Expr, Function
from relay.ir.function_attrs import PRIMITIVE
from relay.ir.module import IRModule
from relay.ir.types import TensorType
from relay.op.opdef import FusionKind, OpDef
from relay.transform.fusion.fusion_dataflow import Dataflow
from relay.transform.fusion.fusion_groups import Groups
from relay.transform.fusion.fusion_kernels import Kernels

_LEVEL, _MOST = 2, 256  # of fusion


def split_anchors(function: Function) -> Function | None:
    """A typed primitive function as calls of functions with at most one anchor; None if it has
    one, ends with a reshape, or has intermediate values other than tensors of known sizes."""
    if _anchors(function) < 2 or not all(map(_is_static, function.params)):
        return None
    whole = function.without_attr(PRIMITIVE)
    flow = Dataflow(whole)
    groups = Groups(flow, _LEVEL, _MOST)
    kernels = {root for root in groups.root if groups.operators(root)}
    made = Kernels(flow, groups.root, kernels).of(whole)
    split: Function = infer_module(IRModule({"split": made}))["split"]
    inner = tree.postorder(split.body, enter=lambda e: not isinstance(e, Function))
    calls = [e for e in inner if e not in split.params and not isinstance(e, Function)]
    for e in calls:
        if not isinstance(e, Call) or not isinstance(e.op, Function) or not _is_static(e):
            return None
        if e is split.body and only_reshapes(e.op):
            return None
    return split


def _anchors(function: Function) -> int:
    return sum(
        isinstance(e, Call)
        and isinstance(e.op, OpDef)
        and e.op.fusion is FusionKind.OUT_ELEMWISE_FUSABLE
        and not e.op.row_reductions
        for e in tree.postorder(function.body)
    )


def _is_static(e: Expr) -> bool:
    ty = e.checked_type
    return isinstance(ty, TensorType) and all(isinstance(extent, int) for extent in ty.shape)
