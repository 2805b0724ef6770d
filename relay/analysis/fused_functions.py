"""The kernels of a program."""

from __future__ import annotations

from relay import tree
from relay.ir.compare import structural_hash
from relay.ir.expr import Function
from relay.ir.module import IRModule


def extract_fused_functions(mod: IRModule) -> dict[int, Function]:
    """Every function that is a kernel (`Primitive`) by its structural hash, equal ones once.

    FuseOps makes them; a module that was not fused has none.
    """
    found: dict[int, Function] = {}
    for function in mod.functions.values():
        for node in tree.postorder(function):
            if isinstance(node, Function) and node.attrs.get("Primitive"):
                found.setdefault(structural_hash(node), node)
    return found
