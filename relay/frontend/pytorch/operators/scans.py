"""Running sums, products, extremes, and differences along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from relay import dtypes, op
from relay.frontend.common.builder import int64
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.operators.binary import log_of_sum
from relay.frontend.pytorch.operators.shaping import expanded
from relay.frontend.pytorch.operators.slicing import cut
from relay.frontend.pytorch.promotion import accumulated, as_float, category, wide
from relay.ir.expr import Expr, const

table = Converters()


@table("cumsum", "cumprod")
def cumulated(node: Node, self: Expr, dim: int, *, dtype: str | None = None) -> Expr:
    data = accumulated(node, self, dtype)
    if node.rank(self) == 0:
        return data
    scan = op.cumsum if node.operator == "aten.cumsum" else op.cumprod
    axis = node.axis(self, dim)
    if category(node.dtype(data)) < 2:
        return scan(data, axis=axis)
    return wide(node, data, lambda one: scan(one, axis=axis))


# Combines what is known of some elements with what is known of those after them.
Combine = Callable[[list[Expr], list[Expr]], list[Expr]]


def scanned(
    node: Node, parts: list[Expr], axis: int, blanks: Sequence[Expr], combine: Combine
) -> list[Expr]:
    """An associative scan in log2(n) steps: each element is combined with the one 1, 2, 4, …
    places before it. `blanks` is what stands before the first."""
    extent = node.static_extent(parts[0], axis, "the extent of a scan")
    distance = 1
    while distance < extent:
        before = [
            _shifted(node, one, axis, distance, blank)
            for one, blank in zip(parts, blanks, strict=True)
        ]
        parts = [node.let(one) for one in combine(before, parts)]
        distance *= 2
    return parts


def _shifted(node: Node, data: Expr, axis: int, distance: int, blank: Expr) -> Expr:
    """Data moved along an axis, behind blanks."""
    sizes = node.extents_of(data)
    sizes[axis] = distance
    kept = cut(node, data, axis, 0, -distance)
    return node.let(op.concatenate([expanded(node, blank, sizes), kept], axis=axis))


@table("cummax", "cummin")
def running_extreme(node: Node, self: Expr, dim: int) -> list[Expr]:
    """Running extremes and where they are: the last of equal ones, or of NaNs."""
    if node.rank(self) == 0:
        return [self, const(0, "int64")]
    axis, is_max = node.axis(self, dim), node.operator == "aten.cummax"
    data = node.as_dtype(self, "uint8") if node.dtype(self) == "bool" else self
    is_float = category(node.dtype(data)) == 2
    steps = node.let(node.positions(data, axis))
    behind = node.rank(data) - axis - 1
    places = node.let(op.expand_dims(steps, 1, behind)) if behind else steps
    places = expanded(node, places, node.extents_of(data))

    def later(before: list[Expr], after: list[Expr]) -> list[Expr]:
        old, new = before[0], after[0]
        wins: Expr = new >= old if is_max else new <= old
        if is_float:
            wins = op.logical_or(node.let(wins), op.isnan(new))
        wins = node.let(op.logical_or(wins, before[1] < int64(0)))
        return [op.where(wins, a, b) for a, b in zip(after, before, strict=True)]

    blanks = [node.number(0, data), int64(-1)]
    values, found = scanned(node, [data, places], axis, blanks, later)
    return [node.as_dtype(values, node.dtype(self)), found]


@table("logcumsumexp")
def logcumsumexp(node: Node, self: Expr, dim: int) -> Expr:
    if node.rank(self) == 0:
        return self
    axis = node.axis(self, dim)

    def found(data: Expr) -> Expr:
        def combine(before: list[Expr], after: list[Expr]) -> list[Expr]:
            return [log_of_sum(node, before[0], after[0])]

        return scanned(node, [data], axis, [node.number(-math.inf, data)], combine)[0]

    return wide(node, self, found)


@table("diff")
def diff(
    node: Node,
    self: Expr,
    n: int = 1,
    dim: int = -1,
    prepend: Expr | None = None,
    append: Expr | None = None,
) -> Expr:
    if not n:
        return self  # without the parts beside it
    axis = node.axis(self, dim)
    parts = [one for one in (prepend, self, append) if one is not None]
    data = node.let(op.concatenate(parts, axis=axis)) if len(parts) > 1 else self
    for _ in range(n):
        if node.shape(data)[axis] == 0:
            break
        after, before = cut(node, data, axis, 1, None), cut(node, data, axis, 0, -1)
        differ = op.logical_xor if node.dtype(data) == "bool" else op.subtract
        data = node.let(differ(after, before))
    return data


@table("trapezoid", "trapz", "cumulative_trapezoid")
def trapezoid(node: Node, y: Expr, *given: Expr | float, dim: int = -1, dx: float = 1) -> Expr:
    """trapezoid: the area under points; `given` are their x, their distance, or an axis."""
    x: Expr | None = None
    for one in given:
        if isinstance(one, Expr):
            x = one
        elif x is not None:
            dim = int(one)
        else:
            dx = one
    is_cumulative = node.operator == "aten.cumulative_trapezoid"
    if x is not None and node.dtype(x) != node.dtype(y):
        x, y = as_float(node, x), as_float(node, y)
    axis = node.axis(y, dim)
    whole = not dtypes.is_float(node.dtype(y))  # small integers wrap around as in torch
    sums = "int64" if whole else node.dtype(y)
    areas = node.let(cut(node, y, axis, 1, None) + cut(node, y, axis, 0, -1))
    if x is not None:
        along = axis if node.rank(x) == node.rank(y) else 0
        widths = node.let(cut(node, x, along, 1, None) - cut(node, x, along, 0, -1))
        widths = node.as_dtype(widths, node.dtype(areas))
        if node.rank(x) < node.rank(y) and axis < node.rank(y) - 1:
            widths = node.let(op.expand_dims(widths, 1, node.rank(y) - axis - 1))
        areas = node.let(areas * widths)
    elif whole and not is_cumulative:  # all twice, but for the ends
        ends = node.let(cut(node, y, axis, 0, 1) + cut(node, y, axis, -1, None))
        twice = node.let(node.as_dtype(y, sums) * node.scalar(2, sums))
        areas = node.let(op.concatenate([twice, op.negative(node.as_dtype(ends, sums))], axis=axis))
    total = op.cumsum if is_cumulative else op.sum
    found = as_float(node, node.let(total(node.as_dtype(areas, sums), axis=axis)))
    return found * node.number(0.5 if x is not None else dx / 2, found)
