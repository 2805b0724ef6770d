"""Where in memory an element lies: positions in the row-major order, and how they change."""

from __future__ import annotations

from collections.abc import Sequence

from relay.te.expr import Const, Expr, Read, Var, variables
from relay.te.simplify import Linear, Simplifier


def strides(shape: Sequence[Expr]) -> list[int | Expr]:
    """By how much each index counts in the row-major order."""
    found: list[int | Expr] = []
    step: int | Expr = 1
    for extent in reversed(shape):
        found.append(step)
        step = step * (int(extent.value) if isinstance(extent, Const) else extent)
    return found[::-1]


def flat(shape: Sequence[Expr], indices: Sequence[Expr], simplify: Simplifier) -> Linear:
    """The position of an element in the row-major order, as a sum."""
    total = Linear({})
    for position, step in zip(indices, strides(shape), strict=True):
        part = simplify(position)
        if isinstance(step, int):
            total = total.plus(simplify.linear(part), step)
        else:
            total = total.plus(simplify.linear(simplify(part * step)))
    return simplify.recombined(total)


def stride(read: Read, var: Var, simplify: Simplifier) -> int | None:
    """By how much the position read grows when `var` grows by one; None when not evenly."""
    total = flat(read.source.shape, read.indices, simplify)
    if any(atom is not var and var in variables(atom) for atom in total.terms):
        return None
    return total.terms.get(var, 0)
