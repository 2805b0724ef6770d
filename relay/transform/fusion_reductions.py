"""Which operators reduce rows, and what becomes of the axes:

sum(%x, axis=[1])          the second axis is gone, after one pass over each row
nn.softmax(%x, axis=1)     it is whole again, after a pass for the maximum and one for the sum
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from relay.ir.expr import Call
from relay.ir.types import TensorType
from relay.op.opdef import FusionKind, OpDef

# Operators that reduce rows and go over them once more, with the reductions they consist of.
ROW_OPERATORS = {
    "nn.softmax": 2,
    "nn.fast_softmax": 2,
    "nn.log_softmax": 2,
    "nn.layer_norm": 2,
    "nn.l2_normalize": 1,
}


@dataclass(frozen=True, slots=True)
class Reduction:
    """What an operator does along some axes of its first argument."""

    axes: frozenset[int]
    passes: int  # over the row, to know what is needed of it
    result: str  # what becomes of the axes: "kept" with extent 1, "gone", or "whole" again


def reduction_of(call: Call) -> Reduction | None:
    """How a call reduces rows; None if it does not."""
    op, ty = call.op, call.args[0].checked_type if call.args else None
    if not isinstance(op, OpDef) or not isinstance(ty, TensorType):
        return None
    rank = len(ty.shape)
    attrs: Any = op.make_attrs({}) if call.attrs is None else call.attrs
    if op.name in ROW_OPERATORS:
        named = (attrs.axis,) if isinstance(attrs.axis, int) else attrs.axis
        axes = range(rank) if named is None else (a % rank for a in named)
        return Reduction(frozenset(axes), ROW_OPERATORS[op.name], "whole")
    if op.fusion is not FusionKind.COMM_REDUCE or not hasattr(attrs, "keepdims"):
        return None
    gone = set(range(rank)) if attrs.axis is None else {a % rank for a in attrs.axis}
    if attrs.axis is not None and attrs.exclude:
        gone = set(range(rank)) - gone
    return Reduction(frozenset(gone), 1, "kept" if attrs.keepdims else "gone")
