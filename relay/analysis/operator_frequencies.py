"""How often a program calls which operator."""

from __future__ import annotations

from relay import tree
from relay.ir.expr import Call, Op
from relay.ir.module import IRModule


def list_op_freqs(mod: IRModule) -> dict[str, int]:
    """How many calls of each operator the functions of a module contain."""
    counts: dict[str, int] = {}
    for function in mod.functions.values():
        for node in tree.postorder(function):
            if isinstance(node, Call) and isinstance(node.op, Op):
                counts[node.op.name] = counts.get(node.op.name, 0) + 1
    return counts
