"""Orthogonal polynomials of a degree that is a tensor, by their recurrences.

P(0) = 1, P(1) = first(x), P(k + 1) = following(k, x, P(k), P(k - 1))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from relay import op
from relay.frontend.common.builder import Builder
from relay.frontend.common.loops import counted
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number
from relay.frontend.pytorch.operators.special.evaluation import c, in_double
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.expr import Expr

table = Converters()


@frozen
class Family:
    """The first polynomial, and the recurrence."""

    first: Callable[[Expr], Expr]
    following: Callable[[Expr, Expr, Expr, Expr], Expr]
    shifted: bool = False  # x stands for 2x - 1


def _of_chebyshev(k: Expr, x: Expr, now: Expr, before: Expr) -> Expr:
    return c(2) * x * now - before


def _of_hermite(factor: float, k: Expr, x: Expr, now: Expr, before: Expr) -> Expr:
    return c(factor) * (x * now - k * before)


def _of_laguerre(k: Expr, x: Expr, now: Expr, before: Expr) -> Expr:
    return ((k + k + c(1) - x) * now - k * before) / (k + c(1))


def _of_legendre(k: Expr, x: Expr, now: Expr, before: Expr) -> Expr:
    return ((k + k + c(1)) * x * now - k * before) / (k + c(1))


_FIRST: dict[str, Callable[[Expr], Expr]] = {
    "t": lambda x: x,
    "u": lambda x: x + x,
    "v": lambda x: x + x - c(1),
    "w": lambda x: x + x + c(1),
}
FAMILIES = {
    **{f"chebyshev_polynomial_{kind}": Family(of, _of_chebyshev) for kind, of in _FIRST.items()},
    **{
        f"shifted_chebyshev_polynomial_{kind}": Family(of, _of_chebyshev, shifted=True)
        for kind, of in _FIRST.items()
    },
    "hermite_polynomial_h": Family(lambda x: x + x, partial(_of_hermite, 2.0)),
    "hermite_polynomial_he": Family(lambda x: x, partial(_of_hermite, 1.0)),
    "laguerre_polynomial_l": Family(lambda x: c(1) - x, _of_laguerre),
    "legendre_polynomial_p": Family(lambda x: x, _of_legendre),
}


@table(*(f"special_{name}" for name in FAMILIES))
def polynomial(node: Node, x: Number, n: Number) -> Expr:
    family = FAMILIES[node.operator.removeprefix("aten.special_")]

    def computed(x: Expr, n: Expr) -> Expr:
        place = node.let(c(2) * x - c(1)) if family.shifted else x
        degree = node.let(op.trunc(n))
        one = node.let(op.ones_like(node.let(place + degree)))
        zero = node.let(op.zeros_like(one))
        whole = node.let(op.where(op.isfinite(degree), degree, c(0)))
        turns = node.let(op.cast(op.max(whole), "int64"))

        def body(
            there: Builder, number: Expr, state: Sequence[Expr]
        ) -> tuple[list[Expr], list[Expr]]:
            before, now = state
            k = there.let(op.cast(number, "float64"))
            first = op.equal(k, c(0))
            value = there.let(
                op.where(first, family.first(place), family.following(k, place, now, before))
            )
            again = there.let(k < degree)
            return [
                there.let(op.where(again, now, before)),
                there.let(op.where(again, value, now)),
            ], []

        (_, found), _ = counted(node, body, turns, dims.ANY, [zero, one])
        return op.where(degree < c(0), c(0), found)

    return in_double(node, computed, x, n)
