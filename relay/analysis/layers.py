"""The depth of a network in layers."""

from __future__ import annotations

from collections.abc import Iterable

from relay import tree
from relay.ir.expr import Call, Expr, Let, Op, Syntax, Var, get_op
from relay.ir.module import IRModule


def count_layers(expr: Expr | IRModule, valid_ops: Iterable[str]) -> int:
    """The most calls of the named operators on one path through the data flow.

    Two parallel convolutions are one layer. A function that is called in place (a fused one, for
    instance) adds the layers in its body; of a module `main` is counted.
    """
    root: Syntax = expr["main"] if isinstance(expr, IRModule) else expr
    counted = {get_op(name).name for name in valid_ops}
    nodes = list(tree.postorder(root))
    # a let's variable is as deep as its value, which comes before the body in post-order
    named: dict[int, list[Var]] = {}
    for node in nodes:
        if isinstance(node, Let):
            named.setdefault(id(node.value), []).append(node.variable)
    depths: dict[int, int] = {}
    for node in nodes:
        below = [depths[id(child)] for child in tree.children(node)]
        if isinstance(node, Call):
            called, *arguments = below
            if isinstance(node.op, Op):
                called = int(node.op.name in counted)
            depth = called + max(arguments, default=0)
        elif isinstance(node, Var):
            depth = depths.get(id(node), 0)
        else:
            depth = max(below, default=0)
        depths[id(node)] = depth
        for variable in named.get(id(node), ()):
            depths[id(variable)] = depth
    return depths[id(root)]
