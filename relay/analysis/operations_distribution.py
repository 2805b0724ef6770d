"""The external compiler of each operator in a partitioned program."""

from __future__ import annotations

from relay import tree
from relay.errors import SequentialSpan
from relay.ir.expr import Call, Function, Op, Var
from relay.ir.module import IRModule


def analyze_operations_distribution(mod: IRModule) -> dict[str, list[object]]:
    """The compiler of each operator call of a partitioned module, by the name of its span's source.

    A value is [compiler, composite, number]: one number per composite function, and one per call
    outside of any; compiler and composite are `generic` where there is none.
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
