"""Elements chosen from several tensors: where, clamp, masks, interpolation."""

from __future__ import annotations

from relay import dtypes, op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number
from relay.frontend.pytorch.operators.binary import operands, times
from relay.frontend.pytorch.promotion import promoted, result_type, truth
from relay.ir.expr import Expr

table = Converters()


@table("where")
def where(node: Node, condition: Expr, self: Number, other: Number) -> Expr:
    left, right = promoted(node, self, other)
    return op.where(*broadcastable(node, truth(node, condition), left, right))


@table("masked_fill")
def masked_fill(node: Node, self: Expr, mask: Expr, value: Number) -> Expr:
    filled = node.number(value, self)
    mask, data = broadcastable(node, truth(node, mask), self)
    return op.where(mask, filled, data)


@table("clamp", "clip")
def clamp(node: Node, self: Expr, min: Number | None = None, max: Number | None = None) -> Expr:
    given = [one for one in (self, min, max) if one is not None]
    found, *bounds = operands(node, *given, dtype=result_type(node, given))
    if min is not None:
        found = op.maximum(found, bounds.pop(0))
    if max is not None:
        found = op.minimum(node.let(found), bounds.pop(0))
    return found


@table("clamp_min")
def clamp_min(node: Node, self: Expr, min: Number) -> Expr:
    return clamp(node, self, min, None)


@table("clamp_max")
def clamp_max(node: Node, self: Expr, max: Number) -> Expr:
    return clamp(node, self, None, max)


@table("lerp")
def lerp(node: Node, self: Expr, end: Expr, weight: Number) -> Expr:
    """lerp: linear interpolation, exact at both ends."""
    start, end, share = operands(node, self, end, weight, dtype=node.dtype(self))
    step = node.let(end - start)
    near = op.abs(share) < node.number(0.5, share)
    rest = node.number(1, share) - share
    return op.where(near, start + share * step, end - step * rest)


@table("addcmul")
def addcmul(node: Node, self: Expr, tensor1: Expr, tensor2: Expr, value: Number = 1) -> Expr:
    data, left, right = operands(node, self, tensor1, tensor2)
    return data + _scaled(node, value, left) * right


@table("addcdiv")
def addcdiv(node: Node, self: Expr, tensor1: Expr, tensor2: Expr, value: Number = 1) -> Expr:
    dtype = result_type(node, [self, tensor1, tensor2])
    wanted = dtype if dtypes.is_float(dtype) else "float32"
    data, left, right = operands(node, self, tensor1, tensor2, dtype=wanted)
    return data + _scaled(node, value, left) / right


def _scaled(node: Node, value: Number, data: Expr) -> Expr:
    if isinstance(value, int | float) and value == 1:
        return data
    return times(node, node.number(value, data), data)
