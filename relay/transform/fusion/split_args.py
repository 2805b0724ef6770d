"""Split operators with more arguments than a kernel may have:

SplitArgs(4):
concatenate((%a, %b, %c, %d, %e), axis=1)
->
%0 = annotation.stop_fusion(concatenate((%a, %b, %c), axis=1));
%1 = annotation.stop_fusion(concatenate((%d, %e), axis=1));
concatenate((%0, %1), axis=1)

The result counts as an argument. Only operators that join tensors take any number of them; FuseOps
limits its own kernels. Parts stay in order, and too many parts are joined in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay import tree
from relay.analysis.value_flow import Flow
from relay.errors import PassError
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Function, Syntax, Tuple, TupleGetItem
from relay.ir.redirect import redirect
from relay.ir.types import TupleType
from relay.op.annotation import stop_fusion
from relay.op.opdef import OpDef
from relay.op.tensor.rearrange import concatenate
from relay.transform.base import FunctionPass

JOINS = frozenset({"concatenate", "stack"})
LEAST = 3  # two tensors and their result


@frozen
class SplitArgs(FunctionPass):
    """Splits joins of more than `max_function_args` tensors, including the result; 0: no limit."""

    opt_level = 1
    required = ("InferType",)
    max_function_args: int

    def __post_init__(self) -> None:
        limit = self.max_function_args
        if isinstance(limit, bool) or not isinstance(limit, int) or 0 < limit < LEAST:
            raise PassError(
                f"`SplitArgs` needs room for two tensors and their result, found {limit!r}; "
                f"give it {LEAST} or more, or 0 for no limit"
            )

    def rewrite(self, function: Function) -> Function:
        if self.max_function_args <= 0:
            return function
        root: Syntax = function
        replacements: dict[Syntax, Syntax] = {}
        for call in Flow(function).calls:
            if (parts := _parts(call)) is not None and len(parts) >= self.max_function_args:
                replacements[call] = _split(call, parts, self.max_function_args - 1)
        result = redirect(root, replacements) if replacements else function
        assert isinstance(result, Function)
        return result


def _parts(call: Call) -> Sequence[Expr] | None:
    """The tensors that `call` joins."""
    if not isinstance(call.op, OpDef) or call.op.name not in JOINS:
        return None
    (joined,) = call.args
    if isinstance(joined, Tuple):
        return joined.fields
    if not isinstance(joined.ty, TupleType):
        return None
    return [TupleGetItem(joined, index) for index in range(len(joined.ty.fields))]


def _split(call: Call, parts: Sequence[Expr], limit: int) -> Expr:
    """`call` in several steps, each over `limit` tensors at most."""
    known: Any = call.attrs
    groups = _groups(parts, limit)
    parts = [stop_fusion(tree.replace(call, args=(Tuple(tuple(group)),))) for group in groups]
    # parts are joined further along the same axis
    while len(parts) > limit:
        groups = _groups(parts, limit)
        parts = [stop_fusion(concatenate(list(group), axis=known.axis)) for group in groups]
    return concatenate(list(parts), axis=known.axis)


def _groups(parts: Sequence[Expr], limit: int) -> list[Sequence[Expr]]:
    return [parts[i : i + limit] for i in range(0, len(parts), limit)]
