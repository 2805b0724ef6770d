"""Reductions: sum, max, argmax and so on.

    k = te.axis(n)
    te.compute((m,), lambda i: te.sum(x[i, k], k))

Some functions shadow Python's builtins in this file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay import dtypes
from relay.te import expr as te

Axes = te.Axis | Sequence[te.Axis]


def reduce(combiner: te.Combiner, values: Sequence[te.Expr], axes: Axes) -> tuple[te.Expr, ...]:
    """The results of a reduction; over no axes, the values themselves."""
    over = (axes,) if isinstance(axes, te.Axis) else tuple(axes)
    if not over:
        return tuple(values)
    held = tuple(values)
    return tuple(te.Reduce(value.dtype, combiner, over, held, i) for i, value in enumerate(held))


def lowest(dtype: str) -> te.Const:
    """The lower bound of a type: -inf, or its smallest value."""
    if dtypes.is_float(dtype):
        return te.Const(dtype, -_most(dtype) if dtype != "float8_e8m0fnu" else 2.0**-127)
    return te.const(-(1 << (te.width(dtype) - 1)) if dtype in dtypes.SIGNED else 0, dtype)


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


def highest(dtype: str) -> te.Const:
    """The upper bound of a type: inf, or its largest value."""
    if dtypes.is_float(dtype):
        return te.Const(dtype, _most(dtype))
    bits = te.width(dtype)
    return te.const((1 << (bits - 1 if dtype in dtypes.SIGNED else bits)) - 1, dtype)


def _simple(name: str, op: str, identity: Callable[[str], te.Const]) -> te.Combiner:
    return te.Combiner(
        name,
        lambda types: tuple(identity(dtype) for dtype in types),
        lambda left, right: (te.binary(op, left[0], right[0]),),
    )


SUM = _simple("sum", "add", lambda dtype: te.const(0, dtype))
PRODUCT = _simple("product", "mul", lambda dtype: te.const(1, dtype))
MAXIMUM = _simple("maximum", "max", lowest)
MINIMUM = _simple("minimum", "min", highest)
ALL = _simple("all", "and", lambda dtype: te.const(-1 if dtype != "bool" else True, dtype))
ANY = _simple("any", "or", lambda dtype: te.const(0, dtype))


def _over(combiner: te.Combiner) -> Callable[[te.Expr, Axes], te.Expr]:
    """The reduction of one value over axes."""
    return lambda value, axes: reduce(combiner, (value,), axes)[0]


sum, product = _over(SUM), _over(PRODUCT)
max, min = _over(MAXIMUM), _over(MINIMUM)
all, any = _over(ALL), _over(ANY)


def _first(better: str) -> te.Combiner:
    """(value, index) of the first extremum; NaN wins over any number."""

    def identity(types: tuple[str, ...]) -> tuple[te.Expr, ...]:
        worst = lowest(types[0]) if better == "gt" else highest(types[0])
        return worst, highest(types[1])

    def combine(left: tuple[te.Expr, ...], right: tuple[te.Expr, ...]) -> tuple[te.Expr, ...]:
        (a, i), (b, j) = left, right
        wins = te.compare(better, a, b)
        ties = te.compare("eq", a, b)
        if dtypes.is_float(a.dtype):
            a_nan, b_nan = te.compare("ne", a, a), te.compare("ne", b, b)
            wins = wins | (a_nan & ~b_nan)
            ties = ties | (a_nan & b_nan)
        keep = wins | (ties & te.compare("lt", i, j))
        return te.select(keep, a, b), te.select(keep, i, j)

    return te.Combiner("argmax" if better == "gt" else "argmin", identity, combine)


ARGMAX = _first("gt")
ARGMIN = _first("lt")


def argmax(value: te.Expr, position: te.Expr, axes: Axes) -> tuple[te.Expr, ...]:
    """(maximum, its first position); `position` is the index of the element."""
    return reduce(ARGMAX, (value, position), axes)


def argmin(value: te.Expr, position: te.Expr, axes: Axes) -> tuple[te.Expr, ...]:
    """(minimum, its first position); `position` is the index of the element."""
    return reduce(ARGMIN, (value, position), axes)
