"""Whether an expression is a value already."""

from __future__ import annotations

from relay import tree
from relay.ir.expr import Constant, Expr, Tuple


def check_constant(expr: Expr) -> bool:
    """Whether `expr` is a constant, or a tuple of such, of tuples of such…"""
    return all(isinstance(node, Constant | Tuple) for node in tree.postorder(expr))
