"""Functions rewritten as a whole."""

from __future__ import annotations

from collections.abc import Callable

from relay import tree
from relay.ir.expr import Function, Syntax


def transformed(
    function: Function,
    f: Callable[[Syntax, Syntax], Syntax],
    memo: dict[Syntax, Syntax] | None = None,
) -> Function:
    """`tree.transform` of a function, which stays one."""
    root: Syntax = function
    result = tree.transform(root, f, memo)
    assert isinstance(result, Function)
    return result
