"""Kernels that only reshape a tensor."""

from __future__ import annotations

from relay.ir.expr import Call, Function
from relay.op.facts import Trait
from relay.op.opdef import OpDef


def only_reshapes(function: Function) -> bool:
    """Whether the function only reshapes its single parameter."""
    current = function.body
    while isinstance(current, Call) and isinstance(current.op, OpDef):
        if Trait.RESHAPES not in current.op.traits:
            return False
        (current,) = current.args
    return len(function.params) == 1 and current is function.params[0]
