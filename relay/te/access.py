"""Row-major strides and offsets of accesses."""

from __future__ import annotations

from collections.abc import Sequence

from relay.te.expr import Const, Expr, Read, Var, variables
from relay.te.simplify import Linear, Simplifier


def strides(shape: Sequence[Expr]) -> list[int | Expr]:
    """The row-major strides of a shape."""
    found: list[int | Expr] = []
    step: int | Expr = 1
    for extent in reversed(shape):
        found.append(step)
        step = step * (int(extent.value) if isinstance(extent, Const) else extent)
    return found[::-1]


def flat(shape: Sequence[Expr], indices: Sequence[Expr], simplify: Simplifier) -> Linear:
    """The row-major offset of an element, as a linear form."""
    total = Linear({})
    for position, step in zip(indices, strides(shape), strict=True):
        part = simplify(position)
        if isinstance(step, int):
            total = total.plus(simplify.linear(part), step)
        else:
            total = total.plus(simplify.linear(simplify(part * step)))
    return simplify.recombined(total)


def stride(read: Read, var: Var, simplify: Simplifier) -> int | None:
    """The stride of a read in `var`; None if it is not linear."""
    total = flat(read.source.shape, read.indices, simplify)
    if any(atom is not var and var in variables(atom) for atom in total.terms):
        return None
    return total.terms.get(var, 0)
