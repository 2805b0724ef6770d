"""Overflow checks of int64 arithmetic, as expressions.

    overflow(n * m + k)     0 if neither operation overflows, otherwise one of the operands

Arithmetic in kernels wraps, but sizes computed from values must not: the kernel that computes them
also computes this check (`relay.lower.lower_dynamic`). The unused side of a `select` may overflow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from relay import tree
from relay.te.expr import (
    INDEX,
    Binary,
    Const,
    Expr,
    Read,
    Select,
    Unary,
    Var,
    cast,
    compare,
    const,
    index,
    select,
)
from relay.te.intervals import ANY_NUMBER, Interval, contains
from relay.te.simplify import Simplifier

_ARITHMETIC: Final = ("add", "sub", "mul")
_NONE: Final = 0


def overflow(root: Expr, ranges: Mapping[Var, Interval]) -> Expr:
    """0, or an operand of the first operation in `root` that overflows."""
    simplify = Simplifier(ranges)
    found: dict[Expr, Expr] = {}
    for part in tree.postorder(root, lambda e: e not in found and not isinstance(e, Read)):
        if part in found:
            continue
        if isinstance(part, Read):
            found[part] = index(_NONE)  # indices are checked by the read
        elif isinstance(part, Select):
            one, other = found[part.if_true], found[part.if_false]
            both = _is_none(one) and _is_none(other)
            chosen = one if both else select(part.condition, one, other)
            found[part] = _first(found[part.condition], chosen)
        else:
            below: Expr = index(_NONE)
            for child in tree.children(part):
                below = _first(below, found[child])
            found[part] = _first(below, _own(part, simplify))
    return found[root]


def _first(one: Expr, other: Expr) -> Expr:
    """The first nonzero one."""
    if _is_none(one):
        return other
    return one if _is_none(other) else select(compare("ne", one, _NONE), one, other)


def _is_none(expr: Expr) -> bool:
    return isinstance(expr, Const) and expr.value == _NONE


def _own(part: Expr, simplify: Simplifier) -> Expr:
    """The check of one operation, whose operands did not overflow."""
    match part:
        case Binary(op=op, left=left, right=right) if op in _ARITHMETIC and part.dtype == INDEX:
            pass
        case Unary(op="neg", operand=right) if part.dtype == INDEX:
            op, left = "sub", const(0, INDEX)
        case _:
            return index(_NONE)
    if contains(ANY_NUMBER, _range(op, simplify.interval(left), simplify.interval(right))):
        return index(_NONE)
    if op == "mul":
        # conservative: sizes within 1024 of 2^63 may be refused
        both = cast(left, "float64") * cast(right, "float64")
        wraps = (both >= 2.0**63) | (both <= -(2.0**63))
    else:
        result = left + right if op == "add" else left - right
        other = right ^ result if op == "add" else left ^ right
        wraps = ((left ^ result) & other) < 0
    shown = right if op == "sub" else select(left > right, left, right)  # nonzero
    return select(wraps, shown, index(_NONE))


def _range(op: str, left: Interval, right: Interval) -> Interval:
    """The interval of the exact results."""
    (a, b), (c, d) = left, right
    if a is None or b is None or c is None or d is None:
        return None, None
    if op == "add":
        return a + c, b + d
    if op == "sub":
        return a - d, b - c
    corners = (a * c, a * d, b * c, b * d)
    return min(corners), max(corners)
