"""Replace operators that are combinations of simpler ones:

nn.bias_add(%x, %b)  ->  add(%x, expand_dims(%b, axis=1, num_newaxis=2))

for %x: Tensor[(1, 8, 5, 5), float32], %b: Tensor[(8), float32]. Layout passes, fusion and algebraic
rules then have one kind of addition to know. Where the two sizes may differ in a run `nn.bias_add`
stays, which refuses them: an addition would broadcast.
"""

from __future__ import annotations

from relay.analysis.certain_sizes import sizes_are_certain
from relay.dataflow_pattern import Hole, Rule, RuleMatch, apply_rules, loosely
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Function
from relay.ir.module import IRModule
from relay.ir.types import TensorType
from relay.op import add, expand_dims
from relay.op.opdef import OpDef
from relay.transform.base import FunctionPass
from relay.transform.context import PassContext

DATA, BIAS = Hole("data"), Hole("bias")


def _as_addition(match: RuleMatch) -> Expr | None:
    """The bias with an axis of extent 1 for every axis of the data behind the channels."""
    ty = match.original(DATA).checked_type
    if not isinstance(ty, TensorType):
        return None
    call = match.post
    assert isinstance(call, Call)
    assert isinstance(call.op, OpDef)
    if not sizes_are_certain(call.op, (ty, match.original(BIAS).checked_type), call.attrs):
        return None
    axis: int = call.attrs.axis  # type: ignore[union-attr]
    behind = len(ty.shape) - 1 - axis % len(ty.shape)
    bias = match[BIAS]
    return add(match[DATA], expand_dims(bias, axis=1, num_newaxis=behind) if behind else bias)


RULES = (
    Rule(
        "bias_add is an addition",
        loosely("nn.bias_add", DATA, BIAS),
        _as_addition,
        require_type=True,
    ),
)


@frozen
class CanonicalizeOps(FunctionPass):
    """`nn.bias_add` becomes `expand_dims` and `add`."""

    opt_level = 3
    required = ("InferType",)

    def transform_function(
        self, function: Function, module: IRModule, context: PassContext
    ) -> Function:
        # the right sides contain nothing that a rule applies to
        result = apply_rules(function, RULES, rounds=1, module=module)
        assert isinstance(result, Function)
        return result
