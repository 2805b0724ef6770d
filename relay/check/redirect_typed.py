"""`redirect` for typed functions, without inferring the types again.

Replacing an expression by one of the same type changes no type above it. Where the types differ, as
when a variable's annotation is less precise than its value, the result is untyped and has to be
inferred.
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

    result = redirect(function, replacements, note)
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
