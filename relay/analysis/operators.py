"""Which operators a program calls: how often, how many in a row, and who compiles them."""

from __future__ import annotations

from collections.abc import Iterable

from relay import tree
from relay.errors import SequentialSpan
from relay.ir.expr import Call, Expr, Function, Let, Op, Syntax, Var, get_op
from relay.ir.module import IRModule


def list_op_freqs(mod: IRModule) -> dict[str, int]:
    """How many calls of each operator the functions of a module contain."""
    counts: dict[str, int] = {}
    for function in mod.functions.values():
        for node in tree.postorder(function):
            if isinstance(node, Call) and isinstance(node.op, Op):
                counts[node.op.name] = counts.get(node.op.name, 0) + 1
    return counts


def count_layers(expr: Expr | IRModule, valid_ops: Iterable[str]) -> int:
    """The most calls of the named operators on one path through the data flow.

    Two convolutions side by side are one layer. A function that is called where it stands (a fused
    one, for instance) adds the layers in its body; `main` is counted of a module.
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


def analyze_operations_distribution(mod: IRModule) -> dict[str, list[object]]:
    """Where each operator call of a partitioned module ended up, by the name of its span's source.

    A value is [compiler, composite, number]: the number is one per composite function, and one per
    call outside of any; compiler and composite are `generic` where there is none.
    """
    found: dict[str, list[object]] = {}
    number = 0
    for function in mod.functions.values():
        compiler = function.attrs.get("Compiler", "generic")
        inside: dict[int, tuple[str, int]] = {}
        for node in reversed(list(tree.postorder(function))):  # what encloses comes first
            composite, group = inside.get(id(node), ("generic", 0))
            if isinstance(node, Function) and "Composite" in node.attrs:
                number += 1
                composite, group = node.attrs["Composite"], number
            for child in tree.children(node):
                if composite != "generic" and not isinstance(child, Op | Var):
                    inside[id(child)] = (composite, group)
            if isinstance(node, Call) and isinstance(node.op, Op) and node.span is not None:
                if composite == "generic":
                    number += 1
                    group = number
                span = node.span.spans[0] if isinstance(node.span, SequentialSpan) else node.span
                found[span.source_name.name] = [compiler, composite, group]
    return found
