"""Reductions that ignore NaN, the bits of floats, and functions by loops and series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from relay import dtypes, op
from relay.frontend.common import special
from relay.frontend.common.builder import Builder, int64
from relay.frontend.common.loops import counted
from relay.frontend.keras.converters import Operations
from relay.frontend.keras.node import Node, policy_of
from relay.frontend.keras.operations.reductions import axes_of, keeps, place, scan
from relay.frontend.keras.promotion import floating, promoted
from relay.ir.expr import Expr, const

table = Operations()


@table("math.Erfinv")
def erfinv(node: Node, x: Expr) -> Expr:
    return special.erfinv(node, floating(node, x))


@table("numpy.I0")
def i0(node: Node, x: Expr) -> Expr:
    data = node.as_dtype(x, "float64") if node.dtype(x) == "int64" else floating(node, x)
    return special.bessel(node, data, "0", scaled=False)


@table("numpy.Gcd", "numpy.Lcm")
def divisors(node: Node, x1: Any, x2: Any) -> Expr:
    """By Euclid's algorithm, which needs no more iterations than numbers of that size may take."""
    left, right = promoted(node, x1, x2)
    zero = node.number(0, left)
    whole = node.let(left + node.let(op.zeros_like(right)))
    other = node.let(right + node.let(op.zeros_like(left)))
    one, two = node.let(op.abs(whole)), node.let(op.abs(other))

    def body(there: Builder, number: Expr, state: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        a, b = state
        ends = there.let(op.equal(b, zero))
        rest = op.floor_mod(a, op.where(ends, there.number(1, b), b))
        return [there.let(op.where(ends, a, b)), there.let(op.where(ends, b, rest))], []

    turns = dtypes.bits(node.dtype(left)) * 3 // 2
    (found, _), _ = counted(node, body, int64(turns), turns, [one, two])
    if node.operator == "Gcd":
        return found
    safe = op.where(op.equal(found, zero), node.number(1, found), found)
    return op.floor_divide(one, node.let(safe)) * two


@table("numpy.AllClose")
def all_close(node: Node, x1: Any, x2: Any) -> Expr:
    left, right = promoted(node, x1, x2)
    if not dtypes.is_float(node.dtype(left)):
        return op.all(op.equal(left, right))
    room = node.number(node.option("rtol", 1e-5), right) * op.abs(right)
    near = op.abs(left - right) <= node.number(node.option("atol", 1e-8), right) + room
    near = op.logical_and(near, op.isfinite(right))
    near = op.logical_or(near, op.equal(left, right))
    if node.option("equal_nan", False):
        near = op.logical_or(near, op.logical_and(op.isnan(left), op.isnan(right)))
    return op.all(near)


@table("numpy.View")
def view(node: Node, x: Expr) -> Expr:
    """The bits of elements as those of another type of the same size."""
    dtype = policy_of(node, node.config.get("dtype"))
    if dtypes.bits(dtype) != dtypes.bits(node.dtype(x)):
        raise node.refused("the type has another size", node.dtype(x), dtype)
    return op.reinterpret(x, dtype)


@table("numpy.Nextafter")
def next_after(node: Node, x1: Any, x2: Any) -> Expr:
    """The next number of float64 in a direction, as Keras has it, in the type of the arguments."""
    left, right = (floating(node, one) for one in promoted(node, x1, x2))
    dtype = node.dtype(left)
    x, y = (node.as_dtype(one, "float64") for one in (left, right))
    zero = const(0.0, "float64")
    bits = op.reinterpret(x, "int64")
    out = op.equal(op.greater(y, x), op.greater(x, zero))
    moved = op.reinterpret(node.let(bits + op.where(out, int64(1), int64(-1))), "float64")
    least = const(math.ulp(0.0), "float64")
    first = op.where(y > zero, least, op.negative(least))
    found = op.where(op.equal(x, zero), first, node.let(moved))
    found = op.where(op.equal(x, y), y, found)
    bad = op.logical_or(op.isnan(x), op.isnan(y))
    return node.as_dtype(node.let(op.where(bad, const(math.nan, "float64"), found)), dtype)


@table("numpy.Argpartition")
def argpartition(node: Node, x: Expr) -> Expr:
    """A sort is a partition at every place."""
    axis: Any = node.config.get("axis", -1)
    data = node.as_dtype(x, "int32")
    if axis is None:
        data, axis = node.let(op.reshape(data, (-1,))), 0
    return op.argsort(data, axis=node.axis_of(int(axis), node.rank(data)), dtype="int32")


# --- where numbers are missing -------------------------------------------------------------------


@table("numpy.Nancumsum", "numpy.Nancumprod")
def scan_without_nan(node: Node, x: Expr) -> Expr:
    if dtypes.is_float(node.dtype(x)):
        neutral = node.number(0 if node.operator == "Nancumsum" else 1, x)
        x = node.let(op.where(op.isnan(x), neutral, x))
    name = node.operator.removeprefix("Nan").title()
    return scan(node.named(name), x)


@table("numpy.Nanargmax", "numpy.Nanargmin")
def place_without_nan(node: Node, x: Expr) -> Expr:
    """-1 where all are NaN."""
    name = node.operator.removeprefix("Nan").title()
    if not dtypes.is_float(node.dtype(x)):
        return place(node.named(name), x)
    missing = node.let(op.isnan(x))
    worst = -math.inf if name == "Argmax" else math.inf
    held = node.let(op.where(missing, node.number(worst, x), x))
    none = op.all(missing, axis=axes_of(node, x), keepdims=keeps(node))
    return op.where(none, const(-1, "int32"), node.let(place(node.named(name), held)))


@table("numpy.Nanmedian", "numpy.Nanquantile", "numpy.Nanpercentile")
def quantile_without_nan(node: Node, x: Expr, q: Any = 0.5) -> Expr:
    """A quantile of the elements that are not NaN."""
    if not isinstance(q, int | float):
        raise node.refused("the share must be a number that is known before the model runs")
    share = float(q) / 100 if node.operator == "Nanpercentile" else float(q)
    data, axes = floating(node, x), axes_of(node, x)
    rank = node.rank(data)
    order = [axis for axis in range(rank) if axis not in axes] + list(axes)
    flat = node.let(op.transpose(data, tuple(order)))
    kept = rank - len(axes)
    for _ in axes[1:]:
        flat = node.let(op.reshape(flat, (*[0] * kept, -3, *[0] * (node.rank(flat) - kept - 2))))
    missing = node.let(op.isnan(flat))
    held = op.where(missing, node.number(math.inf, flat), flat)
    ordered = node.let(op.sort(node.let(held), axis=-1))
    there = op.sum(op.cast(op.logical_not(missing), "int64"), axis=(-1,), keepdims=True)
    count = node.let(there)
    last = op.maximum(count - int64(1), int64(0))
    at = node.let(op.cast(last, node.dtype(data)) * node.number(share, data))
    low = node.let(op.floor(at))
    part = node.let(at - low)
    begin = node.let(op.cast(low, "int64"))
    end = node.let(op.minimum(begin + int64(1), node.let(last)))
    weight = _weight(node, part)
    one, other = (op.gather(ordered, kept, place) for place in (begin, end))
    mixed = op.where(op.equal(begin, end), one, one + (other - one) * weight)
    none = op.equal(count, int64(0))
    found = node.let(op.where(none, node.number(math.nan, data), mixed))
    found = node.let(op.squeeze(found, (kept,)))
    if keeps(node):
        for axis in sorted(axes):
            found = node.let(op.expand_dims(found, axis))
    return found


def _weight(node: Node, part: Expr) -> Expr:
    """The weight of the upper neighbor."""
    zero, half, one = (node.number(value, part) for value in (0, 0.5, 1))
    between = op.greater(part, zero)
    match node.option("method", "linear"):
        case "linear":
            return part
        case "lower":
            return zero
        case "higher":
            return op.where(between, one, zero)
        case "midpoint":
            return op.where(between, half, zero)
        case "nearest":
            return op.where(op.greater(part, half), one, zero)
        case other:
            raise node.refused("there is no such method", found=other)
