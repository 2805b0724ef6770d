"""Extracts a part of a program as a module."""

from __future__ import annotations

from relay import tree
from relay.errors import RelayError
from relay.ir.expr import Call, Tuple, TupleGetItem
from relay.ir.module import IRModule


def extract_intermdeiate_expr(mod: IRModule, expr_id: int) -> IRModule:
    """A module that computes `%<expr_id>` of `main`: the calls, tuples and projections are numbered
    in post-order, as they are printed. (The name is spelled the way it is known.)"""
    main = mod["main"]
    found = [e for e in tree.postorder(main) if isinstance(e, Call | Tuple | TupleGetItem)]
    if not 0 <= expr_id < len(found):
        raise RelayError(f"`@main` has expressions %0 to %{len(found) - 1}, found %{expr_id}")
    types = mod.type_definitions
    return IRModule.from_expr(found[expr_id], None, types)
