"""The fused functions of a program."""

from __future__ import annotations

from relay import tree
from relay.ir.compare import structural_hash
from relay.ir.expr import Function
from relay.ir.module import IRModule


def extract_fused_functions(mod: IRModule) -> dict[int, Function]:
    """Every primitive function by its structural hash, after SimplifyInference and FuseOps."""
    from relay.transform.fusion.fuse_ops import FuseOps
    from relay.transform.simplify.simplify_inference import SimplifyInference

    found: dict[int, Function] = {}
    for function in FuseOps(fuse_opt_level=3)(SimplifyInference()(mod)).functions.values():
        for node in tree.postorder(function):
            if isinstance(node, Function) and node.attrs.get("Primitive"):
                found.setdefault(structural_hash(node), node)
    return found
