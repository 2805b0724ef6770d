"""Overflow checks of int64 arithmetic, as expressions.

    overflow(n * m + k)     0 if neither operation overflows, otherwise one of the operands

Arithmetic in kernels wraps, but sizes computed from values must not: the kernel that computes them
also computes this check (`relay.lower.lower_dynamic`). The unused side of a `select` may overflow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from relay import tree
from relay.te import expr as te
from relay.te.intervals import ANY_NUMBER, Interval, contains
from relay.te.simplify import Simplifier

_ARITHMETIC: Final = ("add", "sub", "mul")
_NONE: Final = 0


def overflow(root: te.Expr, ranges: Mapping[te.Var, Interval]) -> te.Expr:
    """0, or an operand of the first operation in `root` that overflows."""
    simplify = Simplifier(ranges)
    found: dict[te.Expr, te.Expr] = {}
    for part in tree.postorder(root, lambda e: e not in found and not isinstance(e, te.Read)):
        if part in found:
            continue
        if isinstance(part, te.Read):
            found[part] = te.index(_NONE)  # indices are checked by the read
        elif isinstance(part, te.Select):
            one, other = found[part.if_true], found[part.if_false]
            both = _is_none(one) and _is_none(other)
            chosen = one if both else te.select(part.condition, one, other)
            found[part] = _first(found[part.condition], chosen)
        else:
            below: te.Expr = te.index(_NONE)
            for child in tree.children(part):
                below = _first(below, found[child])
            found[part] = _first(below, _own(part, simplify))
    return found[root]


def _first(one: te.Expr, other: te.Expr) -> te.Expr:
    """The first nonzero one."""
    if _is_none(one):
        return other
    return one if _is_none(other) else te.select(te.compare("ne", one, _NONE), one, other)


def _is_none(expr: te.Expr) -> bool:
    return isinstance(expr, te.Const) and expr.value == _NONE


def _own(part: te.Expr, simplify: Simplifier) -> te.Expr:
    """The check of one operation, whose operands did not overflow."""
    match part:
        case te.Binary(op=op, left=left, right=right) if (
            op in _ARITHMETIC and part.dtype == te.INDEX
        ):
            pass
        case te.Unary(op="neg", operand=right) if part.dtype == te.INDEX:
            op, left = "sub", te.const(0, te.INDEX)
        case _:
            return te.index(_NONE)
    if contains(ANY_NUMBER, _range(op, simplify.interval(left), simplify.interval(right))):
        return te.index(_NONE)
    if op == "mul":
        # conservative: sizes within 1024 of 2^63 may be refused
        both = te.cast(left, "float64") * te.cast(right, "float64")
        wraps = (both >= 2.0**63) | (both <= -(2.0**63))
    else:
        result = left + right if op == "add" else left - right
        other = right ^ result if op == "add" else left ^ right
        wraps = ((left ^ result) & other) < 0
    shown = right if op == "sub" else te.select(left > right, left, right)  # nonzero
    return te.select(wraps, shown, te.index(_NONE))


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
