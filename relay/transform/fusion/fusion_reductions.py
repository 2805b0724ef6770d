"""Operators that reduce rows, and the reduced axes in their results:

sum(%x, axis=[1])       ->  the second axis is removed, after one pass over each row
nn.softmax(%x, axis=1)  ->  it is kept, after a pass for the maximum and one for the sum
"""

from __future__ import annotations

from typing import Any

from relay.immutable import frozen
from relay.ir.expr import Call
from relay.ir.types import TensorType
from relay.op.opdef import OpDef
from relay.op.tensor.reduce import ReduceAttrs


@frozen
class Reduction:
    """A reduction over axes of the first argument."""

    axes: frozenset[int]
    passes: int  # over a row
    result: str  # of the axes: "kept" with extent 1, "gone", or "whole" as before


def reduction_of(call: Call) -> Reduction | None:
    """The reduction of a call; None if it is none."""
    op = call.op
    if not isinstance(op, OpDef):
        return None
    passes = op.row_reductions
    if not passes and (op.attrs is None or not issubclass(op.attrs, ReduceAttrs)):
        return None
    attrs: Any = op.make_attrs({}) if call.attrs is None else call.attrs
    ty = call.args[0].checked_type
    if not isinstance(ty, TensorType):
        return None
    rank = len(ty.shape)
    named = (attrs.axis,) if isinstance(attrs.axis, int) else attrs.axis
    axes = frozenset(range(rank) if named is None else (axis % rank for axis in named))
    if passes:
        return Reduction(axes, passes, "whole")
    if named is not None and attrs.exclude:
        axes = frozenset(range(rank)) - axes
    return Reduction(axes, 1, "kept" if attrs.keepdims else "gone")
