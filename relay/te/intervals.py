"""Interval arithmetic on integers."""

from __future__ import annotations

from relay import dtypes
from relay.te.expr import width

# From the smallest to the largest value, both included; None is unbounded.
Interval = tuple[int | None, int | None]
UNKNOWN: Interval = (None, None)
NATURAL: Interval = (0, None)
ANY_NUMBER: Interval = (-(2**63), 2**63 - 1)


def contains(outer: Interval, inner: Interval) -> bool:
    """Whether `inner` lies in `outer`."""
    low = outer[0] is None or (inner[0] is not None and inner[0] >= outer[0])
    high = outer[1] is None or (inner[1] is not None and inner[1] <= outer[1])
    return low and high


def union(a: Interval, b: Interval) -> Interval:
    """The convex hull."""
    return (
        None if a[0] is None or b[0] is None else min(a[0], b[0]),
        None if a[1] is None or b[1] is None else max(a[1], b[1]),
    )


def product(a: Interval, b: Interval) -> Interval:
    """The interval of products."""
    if None in (*a, *b):
        if ANY_NUMBER in (a, b):
            return ANY_NUMBER
        natural = contains((0, None), a) and contains((0, None), b)
        return ((a[0] or 0) * (b[0] or 0), None) if natural else UNKNOWN
    corners = [x * y for x in a for y in b if x is not None and y is not None]
    product = min(corners), max(corners)
    return product if contains(ANY_NUMBER, product) else ANY_NUMBER


def combined(op: str, a: Interval, b: Interval) -> Interval:
    """The interval of the results of an operation."""
    divisor = b[0] if b[0] == b[1] else None
    natural = contains((0, None), a) and contains((0, None), b)
    match op:
        case "floordiv" if divisor is not None and divisor > 0:
            return (
                None if a[0] is None else a[0] // divisor,
                None if a[1] is None else a[1] // divisor,
            )
        case "floordiv" | "truncdiv" if natural:
            return 0, None if a[1] is None else a[1] // max(1, b[0] or 0)
        case "mod" if contains((1, None), b):
            bounds = [x for x in (a[1] if natural else None, b[1] and b[1] - 1) if x is not None]
            return 0, min(bounds) if bounds else None
        case "mod" | "truncmod" if natural:
            return 0, a[1]
        case "min":
            high_bounds = [x for x in (a[1], b[1]) if x is not None]
            low = None if a[0] is None or b[0] is None else min(a[0], b[0])
            return low, min(high_bounds) if high_bounds else None
        case "max":
            low_bounds = [x for x in (a[0], b[0]) if x is not None]
            high_bound = None if a[1] is None or b[1] is None else max(a[1], b[1])
            return max(low_bounds) if low_bounds else None, high_bound
        case _:
            return ANY_NUMBER


def of_dtype(dtype: str) -> Interval:
    """The interval of an element type."""
    bits = width(dtype)
    if dtypes.is_float(dtype) or bits == 64:
        return ANY_NUMBER
    if dtype in dtypes.SIGNED:
        return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return 0, (1 << bits) - 1
