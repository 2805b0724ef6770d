"""Call a function on every expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relay import tree
from relay.ir.expr import Expr


def post_order_visit(expr: Expr, fvisit: Callable[[Expr], Any]) -> None:
    """Call `fvisit` on every distinct expression in `expr`, parts before the whole."""
    for node in tree.postorder(expr):
        if isinstance(node, Expr):
            fvisit(node)
