"""Redirecting the edges of a typed function, without inferring its types again.

What leads to an expression may lead to another one of the same type, and nothing above it gets
another type by that. Where the types differ, as when a variable was declared with fewer dimensions
known than its value has, the function comes back untyped and has to be inferred.
"""

from __future__ import annotations

from collections.abc import Mapping

from relay.check.infer import with_known_types
from relay.ir.expr import Expr, Function, Syntax
from relay.ir.redirect import redirect
from relay.ir.types import Type


def redirect_typed(function: Function, replacements: Mapping[Syntax, Syntax]) -> Function:
    """`redirect(function, replacements)`, typed if `function` is and types allow it."""
    origins: dict[int, Syntax] = {}

    def note(before: Syntax, after: Syntax) -> None:
        origins[id(after)] = before

    root: Syntax = function
    result = redirect(root, replacements, note)
    assert isinstance(result, Function)
    if result is function or not all(map(_same_type, replacements.keys(), replacements.values())):
        return result

    def type_of(e: Expr) -> Type | None:
        origin = origins.get(id(e))
        return origin.ty if isinstance(origin, Expr) else None

    return with_known_types(result, function, type_of)


def _same_type(before: Syntax, after: Syntax) -> bool:
    if not isinstance(before, Expr) or not isinstance(after, Expr):
        return before is after
    return before.ty is not None and before.ty == after.ty
