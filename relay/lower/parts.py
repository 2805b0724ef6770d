"""A primitive function with several anchors becomes functions with one each, in order.

fn (%q, %k, %v, Primitive=1, Pattern="attention") { nn.batch_matmul(nn.softmax(…), %v) }
  ->   Part(the scores, (Param(0), Param(1))), Part(softmax, (Temporary(0),)),
       Part(the last product, (Temporary(1), Param(2)))

One kernel for them all would have to keep the results of an anchor in a workspace of its own; apart
they lie in memory that is planned with all the rest.
"""

from __future__ import annotations

from relay import tree
from relay.analysis.reshapes import only_reshapes
from relay.check.infer import infer_module
from relay.immutable import frozen
from relay.ir.expr import Call, Function, Var
from relay.ir.function_attrs import PRIMITIVE
from relay.ir.module import IRModule
from relay.ir.types import TensorType
from relay.lower.kernel import Param, Place, Temporary, TensorSpec
from relay.op.opdef import FusionKind, OpDef
from relay.transform.fusion.fusion_dataflow import Dataflow
from relay.transform.fusion.fusion_groups import Groups
from relay.transform.fusion.fusion_kernels import Kernels
from relay.transform.fusion.fusion_reductions import ROW_OPERATORS

_LEVEL, _MOST = 2, 256  # of fusion


@frozen
class Part:
    """A function with one anchor at most, and what it is called with; its result is a temporary,
    but that of the last part is the result of the whole."""

    function: Function
    inputs: tuple[Place, ...]
    result: TensorSpec


def parts_of(function: Function) -> list[Part]:
    """The parts of a typed primitive function; none where it is best as a whole."""
    if _anchors(function) < 2 or not all(_is_plain(param) for param in function.params):
        return []
    whole = function.without_attr(PRIMITIVE)
    flow = Dataflow(whole)
    groups = Groups(flow, _LEVEL, _MOST)
    kernels = {root for root in groups.root if groups.operators(root)}
    cut = infer_module(IRModule({"whole": Kernels(flow, groups.root, kernels).of(whole)}))["whole"]
    places: dict[object, Place] = {param: Param(i) for i, param in enumerate(cut.params)}
    found: list[Part] = []
    for e in tree.postorder(cut.body, enter=lambda e: not isinstance(e, Function)):
        if isinstance(e, Var | Function):
            continue
        # whatever is no call of a kernel by now is something that steps cannot do
        if not isinstance(e, Call) or not isinstance(e.op, Function):
            return []
        result = e.op.body.ty
        if not isinstance(result, TensorType) or not _is_static(result):
            return []
        inputs = tuple(places[arg] for arg in e.args if arg in places)
        if len(inputs) < len(e.args):
            return []
        if only_reshapes(e.op) and isinstance(inputs[0], Temporary):
            places[e] = inputs[0]  # the next step sees it in its own shape
            continue
        places[e] = Temporary(len(found))
        found.append(Part(e.op, inputs, TensorSpec(result.concrete_shape, result.dtype)))
    # the result of the last step is the result, in that shape
    is_last = found and isinstance(cut.body, Call) and cut.body.op is found[-1].function
    return found if is_last else []


def _anchors(function: Function) -> int:
    return sum(
        isinstance(e, Call)
        and isinstance(e.op, OpDef)
        and e.op.fusion is FusionKind.OUT_ELEMWISE_FUSABLE
        and e.op.name not in ROW_OPERATORS
        for e in tree.postorder(function.body)
    )


def _is_plain(param: Var) -> bool:
    ty = param.checked_type
    return isinstance(ty, TensorType) and _is_static(ty)


def _is_static(ty: TensorType) -> bool:
    return all(isinstance(extent, int) for extent in ty.shape)
