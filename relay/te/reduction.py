"""Reductions: sum, max, argmax and so on.

    k = te.axis(n)
    te.compute((m,), lambda i: te.sum(x[i, k], k))

Some functions shadow Python's builtins in this file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay import dtypes
from relay.te.expr import (
    Axis,
    Combiner,
    Const,
    Expr,
    Reduce,
    binary,
    compare,
    const,
    select,
    width,
)

Axes = Axis | Sequence[Axis]


def reduce(combiner: Combiner, values: Sequence[Expr], axes: Axes) -> tuple[Expr, ...]:
    """The results of a reduction; over no axes, the values themselves."""
    over = (axes,) if isinstance(axes, Axis) else tuple(axes)
    if not over:
        return tuple(values)
    held = tuple(values)
    return tuple(Reduce(value.dtype, combiner, over, held, i) for i, value in enumerate(held))


def lowest(dtype: str) -> Const:
    """The lower bound of a type: -inf, or its smallest value."""
    if dtypes.is_float(dtype):
        return Const(dtype, -_most(dtype) if dtype != "float8_e8m0fnu" else 2.0**-127)
    return const(-(1 << (width(dtype) - 1)) if dtype in dtypes.SIGNED else 0, dtype)


def _most(dtype: str) -> float:
    """Infinity, or the largest finite value of a type without infinity."""
    return _LARGEST.get(dtype, float("inf"))


_LARGEST = {
    "float8_e4m3fn": 448.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2fnuz": 57344.0,
    "float8_e8m0fnu": 2.0**127,
    "float6_e2m3fn": 7.5,
    "float6_e3m2fn": 28.0,
    "float4_e2m1fn": 6.0,
}


def highest(dtype: str) -> Const:
    """The upper bound of a type: inf, or its largest value."""
    if dtypes.is_float(dtype):
        return Const(dtype, _most(dtype))
    bits = width(dtype)
    return const((1 << (bits - 1 if dtype in dtypes.SIGNED else bits)) - 1, dtype)


def _simple(name: str, op: str, identity: Callable[[str], Const]) -> Combiner:
    return Combiner(
        name,
        lambda types: tuple(identity(dtype) for dtype in types),
        lambda left, right: (binary(op, left[0], right[0]),),
    )


SUM = _simple("sum", "add", lambda dtype: const(0, dtype))
PRODUCT = _simple("product", "mul", lambda dtype: const(1, dtype))
MAXIMUM = _simple("maximum", "max", lowest)
MINIMUM = _simple("minimum", "min", highest)
ALL = _simple("all", "and", lambda dtype: const(-1 if dtype != "bool" else True, dtype))
ANY = _simple("any", "or", lambda dtype: const(0, dtype))


def sum(value: Expr, axes: Axes) -> Expr:
    return reduce(SUM, (value,), axes)[0]


def product(value: Expr, axes: Axes) -> Expr:
    return reduce(PRODUCT, (value,), axes)[0]


def max(value: Expr, axes: Axes) -> Expr:
    return reduce(MAXIMUM, (value,), axes)[0]


def min(value: Expr, axes: Axes) -> Expr:
    return reduce(MINIMUM, (value,), axes)[0]


def all(value: Expr, axes: Axes) -> Expr:
    return reduce(ALL, (value,), axes)[0]


def any(value: Expr, axes: Axes) -> Expr:
    return reduce(ANY, (value,), axes)[0]


def _first(better: str) -> Combiner:
    """(value, index) of the first extremum; NaN wins over any number."""

    def identity(types: tuple[str, ...]) -> tuple[Expr, ...]:
        worst = lowest(types[0]) if better == "gt" else highest(types[0])
        return worst, highest(types[1])

    def combine(left: tuple[Expr, ...], right: tuple[Expr, ...]) -> tuple[Expr, ...]:
        (a, i), (b, j) = left, right
        wins = compare(better, a, b)
        ties = compare("eq", a, b)
        if dtypes.is_float(a.dtype):
            a_nan, b_nan = compare("ne", a, a), compare("ne", b, b)
            wins = wins | (a_nan & ~b_nan)
            ties = ties | (a_nan & b_nan)
        keep = wins | (ties & compare("lt", i, j))
        return select(keep, a, b), select(keep, i, j)

    return Combiner("argmax" if better == "gt" else "argmin", identity, combine)


ARGMAX = _first("gt")
ARGMIN = _first("lt")


def argmax(value: Expr, position: Expr, axes: Axes) -> tuple[Expr, ...]:
    """(maximum, its first position); `position` is the index of the element."""
    return reduce(ARGMAX, (value, position), axes)


def argmin(value: Expr, position: Expr, axes: Axes) -> tuple[Expr, ...]:
    """(minimum, its first position); `position` is the index of the element."""
    return reduce(ARGMIN, (value, position), axes)
