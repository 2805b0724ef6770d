"""The element types that occur in a program."""

from __future__ import annotations

from relay import tree
from relay.ir.expr import Constant, Expr
from relay.ir.types import TensorType, Type
from relay.ir.variables import types_in


def all_dtypes(expr: Expr) -> set[str]:
    """The element types of all tensors in `expr`, as far as it is typed or annotated."""
    types: dict[Type, None] = {}
    for node in tree.postorder(expr):
        types.update(dict.fromkeys(types_in(node)))
        if isinstance(node, Constant):
            types[node.tensor_type] = None
        if isinstance(node, Expr) and node.ty is not None:
            types[node.ty] = None
    return {
        part.dtype for ty in types for part in tree.postorder(ty) if isinstance(part, TensorType)
    }
