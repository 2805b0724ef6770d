"""Counts of operator calls in a program."""

from __future__ import annotations

from collections import Counter

from relay import tree
from relay.ir.expr import Call, Op
from relay.ir.module import IRModule


def list_op_freqs(mod: IRModule) -> dict[str, int]:
    """The number of calls of each operator in the functions of a module."""
    nodes = (node for function in mod.functions.values() for node in tree.postorder(function))
    calls = (node.op for node in nodes if isinstance(node, Call))
    return dict(Counter(op.name for op in calls if isinstance(op, Op)))
