"""Run-time checks of values for which constants are refused.

    TopK(x, k)      k = -1 is refused where it is a constant; otherwise
                    require(k, k >= 0, k, 0, message="TopK: `k` is negative", …)

A check is attached to the value it is about, so that nothing is computed from an invalid one.
"""

from __future__ import annotations

from relay import op
from relay.errors import REAL_VALUE, VALUE
from relay.frontend.common.builder import Builder, int64
from relay.ir import dims
from relay.ir.expr import Expr, const


def within(
    node: Builder,
    values: Expr,
    low: int,
    high: int | Expr | None,
    message: str,
    expected: str,
    shown: str = VALUE,
    *,
    of: Expr | None = None,
) -> Expr:
    """Integers checked to be from `low` to `high`; or the value `of` that they describe.

    `{}` in `expected` is `high`, in `shown` an integer out of range.
    """
    result = values if of is None else of
    if 0 in node.shape(values):
        return result
    least = int64(low)
    # with a valid one, so that there is one
    flat = op.reshape(op.cast(values, "int64"), (-1,))
    nonempty = node.let(op.concatenate([flat, int64([low])], axis=0))
    found = node.let(op.min(nonempty, axis=0))
    fits: Expr = found >= least
    bound = int64(high) if isinstance(high, int) else high
    if bound is not None:
        most = node.let(op.max(nonempty, axis=0))
        found, fits = (node.let(op.where(fits, most, found)), op.logical_and(fits, most <= bound))
    return node.checked(result, fits, message, expected, shown, found, bound)


def axes_within(node: Builder, axes: Expr, rank: int, *, different: bool = False) -> Expr:
    """Axes checked to be those of a tensor of that rank, and to be different if asked for."""
    if rank == 0:
        return axes
    expected = f"axes of {rank}"
    axes = within(node, axes, -rank, rank - 1, "an axis is out of range", expected)
    if not different or node.shape(axes) in ((0,), (1,)):
        return axes
    positions = node.let(op.floor_mod(op.cast(axes, "int64"), int64(rank)))
    same = op.equal(op.expand_dims(positions, 0), op.expand_dims(positions, 1))
    pairs = node.let(op.sum(op.cast(same, "int64"), axis=(0, 1)))
    count = node.size(axes, 0)
    message = "an axis is named twice"
    return node.checked(
        axes, op.equal(pairs, count), message, "different axes", "one of them twice"
    )


def as_scalar(node: Builder, value: Expr, message: str) -> Expr:
    """A tensor of one element as a scalar."""
    if not all(extent == 1 or not isinstance(extent, int) for extent in node.shape(value)):
        raise node.refused(message, found=str(node.type_of(value)))
    return node.let(op.reshape(value, ()))


def positive(node: Builder, factor: Expr, message: str) -> Expr:
    """A factor checked to be positive and finite."""
    wide = node.let(op.cast(factor, "float64"))
    zero, infinite = const(0.0, "float64"), const(float("inf"), "float64")
    fits = op.logical_and(wide > zero, wide < infinite)
    return node.checked(factor, fits, message, "a number above 0", REAL_VALUE, wide)


def with_extent_of(
    node: Builder,
    value: Expr,
    axis: int,
    other: Expr,
    along: int,
    message: str,
    *,
    or_one: bool = False,
) -> Expr:
    """A tensor whose extent along an axis is checked to be that of another one, or perhaps 1."""
    own, wanted = node.shape(value)[axis], node.shape(other)[along]
    if dims.equal(own, wanted) is True or (own == 1 and or_one):
        return value
    count, most = node.size(value, axis), node.size(other, along)
    fits: Expr = op.equal(count, most)
    if or_one:
        fits = op.logical_or(fits, op.equal(count, int64(1)))
    return node.checked(value, fits, message, VALUE, VALUE, count, most)


def checked_sizes(node: Builder, sizes: Expr, data: Expr, axis: int) -> Expr:
    """Sizes of parts, checked to add up to the extent of an axis."""
    if node.constant(sizes) is not None and isinstance(node.shape(data)[axis], int):
        return sizes
    message = "the sizes do not fit the axis"
    sizes = within(node, sizes, 0, None, message, "0 or more")
    total = node.let(op.sum(op.cast(sizes, "int64"), axis=0))
    whole = node.size(data, axis)
    fits = op.equal(total, whole)
    return node.checked(sizes, fits, message, VALUE, f"{VALUE} in all", total, whole)
