"""Exhaustiveness of matches by the method of Maranget ("Warnings for pattern matching", 2007).

The clauses are rows of patterns. For each constructor of the data type: if it occurs in the first
column, its rows are checked over its fields; otherwise a value built with it falls through to the
rows that begin with a wildcard.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay import tree
from relay.ir import expr as ir
from relay.ir.module import IRModule
from relay.tree import Steps

Row = tuple[ir.Pattern, ...]
# a constructor, or the number of fields of a tuple
Head = ir.Constructor | int

# Missing cases that are listed; there may be exponentially many.
MAX_CASES = 16


def unmatched_cases(match: ir.Match, module: IRModule | None = None) -> list[ir.Pattern]:
    """Patterns for values that no clause takes; none when the match is exhaustive."""
    rows = [(clause.lhs,) for clause in match.clauses]
    missing = tree.run(_missing(rows, 1, module))
    return [case for (case,) in missing]


def _missing(rows: Sequence[Row], width: int, module: IRModule | None) -> Steps[list[Row]]:
    """Rows of `width` patterns that none of `rows` covers."""
    if not rows:
        return [_wildcards(width)]
    if width == 0:
        return []
    heads = {_key(head): head for row in rows if (head := _head(row[0])) is not None}
    if not heads:
        rest = yield _missing([row[1:] for row in rows], width - 1, module)
        return [(ir.PatternWildcard(), *row) for row in rest]

    found: list[Row] = []
    siblings = _siblings(next(iter(heads.values())), module)
    for head in siblings if siblings is not None else heads.values():
        if len(found) >= MAX_CASES:
            break
        arity = _arity(head)
        if _key(head) in heads:
            inner = [r for row in rows if (r := _specialize(row, head, arity)) is not None]
            cases = yield _missing(inner, arity + width - 1, module)
        else:
            default = [row[1:] for row in rows if _head(row[0]) is None]
            rest = yield _missing(default, width - 1, module)
            cases = [(*_wildcards(arity), *row) for row in rest]
        found.extend((_build(head, case[:arity]), *case[arity:]) for case in cases)
    return found[:MAX_CASES]


def _wildcards(count: int) -> Row:
    return tuple(ir.PatternWildcard() for _ in range(count))


def _head(pattern: ir.Pattern) -> Head | None:
    """The constructor or tuple size that the pattern requires; None when it takes anything."""
    match pattern:
        case ir.PatternConstructor(constructor=constructor):
            return constructor
        case ir.PatternTuple(patterns=patterns):
            return len(patterns)
    return None


def _key(head: Head) -> object:
    return head if isinstance(head, int) else (head.belong_to.name_hint, head.name_hint)


def _arity(head: Head) -> int:
    return head if isinstance(head, int) else len(head.inputs)


def _siblings(head: Head, module: IRModule | None) -> Sequence[Head] | None:
    """All constructors of the type that `head` belongs to."""
    if isinstance(head, int):
        return [head]
    definition = module.find_type(head.belong_to.name_hint) if module is not None else None
    return definition.constructors if definition is not None else None


def _specialize(row: Row, head: Head, arity: int) -> Row | None:
    """The row over the fields of a value built with `head`; None when it does not match one."""
    first, rest = row[0], row[1:]
    own = _head(first)
    if own is None:
        return (*_wildcards(arity), *rest)
    if _key(own) != _key(head):
        return None
    fields = first.patterns  # type: ignore[attr-defined]
    # a wrong number of sub-patterns is reported by inference; here it must not shift the columns
    return (*(*fields, *_wildcards(arity - len(fields)))[:arity], *rest)


def _build(head: Head, fields: Row) -> ir.Pattern:
    if isinstance(head, int):
        return ir.PatternTuple(fields)
    return ir.PatternConstructor(head, fields)
