"""Runs a pass over one function."""

from __future__ import annotations

from relay.errors import RelayError
from relay.ir.expr import Function
from relay.ir.module import IRModule
from relay.transform.base import Pass


def run_pass(func: Function, one: Pass) -> Function:
    """`func` after a pass, with the passes that it requires."""
    if not isinstance(func, Function):
        raise RelayError(f"a relay.Function is optimized, found a {type(func).__name__}")
    module = IRModule.from_expr(func)
    (name,) = module.functions
    result = one(module)[name]
    assert isinstance(result, Function)
    return result
