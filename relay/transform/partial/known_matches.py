"""Matching patterns against partially static values.

    match (Cons(%x, %rest)) { Cons(%a, Nil) => …, Cons(%a, Cons(%b, _)) => …, Nil => … }

Whether the first two clauses fit depends on `%rest`, the third does not fit. Where a clause may
fit, its variables have the values that are known of them.
"""

from __future__ import annotations

from enum import Enum

from relay.ir import expr as ir
from relay.transform.partial.static_values import Fields, Value


class Fit(Enum):
    """Whether a pattern fits."""

    NO = 0
    MAYBE = 1
    YES = 2


def matched(pattern: ir.Pattern, value: Value) -> tuple[Fit, dict[ir.Var, Value]]:
    """Whether the pattern fits, and the values of its variables as far as they are known."""
    found: dict[ir.Var, Value] = {}
    fit = Fit.YES
    pending: list[tuple[ir.Pattern, Value]] = [(pattern, value)]
    while pending:
        part, given = pending.pop()
        match part:
            case ir.PatternWildcard():
                continue
            case ir.PatternVar(var=variable):
                found[variable] = given
                continue
            case ir.PatternConstructor(constructor=constructor, patterns=patterns):
                wanted: ir.Constructor | None = constructor
            case ir.PatternTuple(patterns=patterns):
                wanted = None
        static = given.static
        if not isinstance(static, Fields):
            fit = Fit.MAYBE
        elif not _is_built_by(static, wanted) or len(patterns) != len(static.fields):
            return Fit.NO, {}
        else:
            pending.extend(zip(patterns, static.fields, strict=True))
    return fit, found


def _is_built_by(static: Fields, wanted: ir.Constructor | None) -> bool:
    """Data types are known by name."""
    made = static.constructor
    if made is None or wanted is None:
        return made is wanted
    return made is wanted or (
        made.name_hint == wanted.name_hint and made.belong_to == wanted.belong_to
    )
