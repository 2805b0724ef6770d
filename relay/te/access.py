"""Where in memory an element lies: positions in the row-major order, and how they change."""

from __future__ import annotations

from collections.abc import Sequence

from relay.te.expr import INDEX, Const, Expr, Read, Var, const, variables
from relay.te.simplify import Linear, Simplifier


def strides(shape: Sequence[Expr]) -> list[Expr]:
    """By how much each index counts in the row-major order."""
    found: list[Expr] = [const(1, INDEX)] if shape else []
    for extent in reversed(shape[1:]):
        found.insert(0, found[0] * extent)
    return found


def flat(shape: Sequence[Expr], indices: Sequence[Expr], simplify: Simplifier) -> Linear:
    """The position of an element in the row-major order, as a sum."""
    total = Linear({})
    for position, stride in zip(indices, strides(shape), strict=True):
        part = simplify(position)
        if isinstance(stride, Const):
            total = total.plus(simplify.linear(part), int(stride.value))
        else:
            total = total.plus(simplify.linear(simplify(part * stride)))
    return simplify.recombined(total)


def stride(read: Read, var: Var, simplify: Simplifier) -> int | None:
    """By how much the position read grows when `var` grows by one; None when not evenly."""
    total = flat(read.source.shape, read.indices, simplify)
    if any(atom is not var and var in variables(atom) for atom in total.terms):
        return None
    return total.terms.get(var, 0)
