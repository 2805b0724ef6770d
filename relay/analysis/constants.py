"""Whether an expression is constant."""

from __future__ import annotations

from relay import tree
from relay.ir.expr import Constant, Expr, Tuple


def check_constant(expr: Expr) -> bool:
    """Whether `expr` is a constant, or nested tuples of constants."""
    return all(isinstance(node, Constant | Tuple) for node in tree.postorder(expr))
