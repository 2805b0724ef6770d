"""How special functions are computed: in float64, by series of Chebyshev polynomials."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay import op
from relay.frontend.pytorch.node import Node, Number
from relay.frontend.pytorch.promotion import DEFAULT, category, promoted, result_type
from relay.ir.expr import Expr, const

WIDE = "float64"


def c(number: float) -> Expr:
    """A constant."""
    return const(float(number), WIDE)


def in_double(node: Node, function: Callable[..., Expr], *values: Number) -> Expr:
    """A function of floats; integers are floats of the default type."""
    dtype = result_type(node, values)
    dtype = dtype if category(dtype) == 2 else DEFAULT
    given = [node.as_dtype(one, WIDE) for one in promoted(node, *values, dtype=dtype)]
    return node.as_dtype(node.let(function(*map(node.let, given))), dtype)


def chebyshev(node: Node, table: Sequence[float], t: Expr) -> Expr:
    """The series of a table for t in [-1, 1], from its last term to its first."""
    twice = node.let(t + t)
    after, now = c(0), c(table[-1])
    for number in reversed(table[1:-1]):
        after, now = now, node.let(twice * now - after + c(number))
    return node.let(t * now - after + c(table[0]))


def within(x: Expr, low: float, high: float) -> Expr:
    """X where it is between limits, for a branch that is not taken elsewhere; NaN stays."""
    return op.minimum(op.maximum(x, c(low)), c(high))
