"""Pooling over windows or whole channels, and unpooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from math import inf, prod
from operator import mul
from typing import Any

import ml_dtypes

from relay import dtypes, op
from relay.frontend.common.builder import int64, static
from relay.frontend.common.indices import in_range
from relay.frontend.common.partial_windows import inside_data
from relay.frontend.common.windows import Windows
from relay.frontend.onnx.computations.windows import windows_of
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.convolution import inner_extents
from relay.ir.expr import Expr, const
from relay.op.building.numerics import limits

table = Converters()

_finfo: Any = ml_dtypes.finfo  # has no types

MOST = 3  # spatial axes of an operator
Operators = list[Callable[..., Expr]]  # by the number of spatial axes


def _operators(name: str) -> Operators:
    return [getattr(op.nn, name.format(axes)) for axes in range(1, MOST + 1)]


_MAXIMA, _POSITIONS = _operators("max_pool{}d"), _operators("max_pool{}d_positions")
_MEANS = _operators("avg_pool{}d")

# The pool of data by windows, the last of which may be partial: (data, windows, ceil_mode)
Pool = Callable[[Expr, Windows, bool], Expr]

# --- maxima ------------------------------------------------------------------------------------


@table("MaxPool")
def max_pool(node: Node, data: Expr) -> Sequence[Expr]:
    windows = _windows(node, data)
    lowest, _ = limits(dtypes.to_numpy(node.dtype(data)))

    def pool(part: Expr, by: Windows, ceil_mode: bool) -> Expr:
        return _MAXIMA[len(by.sizes) - 1](part, **_attributes(by), ceil_mode=ceil_mode)

    found = [_pooled(node, data, windows, pool, node.number(lowest, data))]
    if len(node.outputs) > 1 and node.outputs[1]:
        found.append(_positions(node, data, windows))
    return found


def _positions(node: Node, data: Expr, windows: Windows) -> Expr:
    """The positions of the maxima in memory order of the whole tensor."""
    if len(windows.sizes) > MOST:
        message = f"places of elements are found along up to {MOST} axes"
        raise node.refused(message, found=str(len(windows.sizes)))

    def pool(part: Expr, by: Windows, ceil_mode: bool) -> Expr:
        return _POSITIONS[len(by.sizes) - 1](part, **_attributes(by), ceil_mode=ceil_mode)

    if windows.pads is None:
        values, lowest = _above_padding(node, data)
        place = node.let(_pooled(node, values, windows, pool, lowest))
    else:
        place = node.let(_pooled(node, data, windows, pool, None))
    extents = [node.size(data, axis) for axis in range(2, node.rank(data))]
    whole = node.let(_product(extents))
    by_columns = bool(node.attribute("storage_order", 0))
    if by_columns or windows.pads is None:
        numbers = _numbered(node, data, extents, by_columns)
        if windows.pads is None:
            numbers = windows.padded(node, numbers, int64(0))
        place = op.take(op.reshape(numbers, (-1,)), place, axis=0)
    behind = len(extents)
    batch, channel = (
        node.let(op.expand_dims(node.positions(data, axis), axis=1, num_newaxis=behind + 1 - axis))
        for axis in range(2)
    )
    image = batch * node.size(data, 1) + channel
    return image * whole + place


def _above_padding(node: Node, data: Expr) -> tuple[Expr, Expr]:
    """Data without values as low as the padding, and the padding value."""
    dtype = node.dtype(data)
    if dtypes.is_float(dtype):
        least = float(_finfo(dtypes.to_numpy(dtype)).min)
        return node.let(op.maximum(data, node.number(least, data))), node.number(-inf, data)
    return node.let(op.cast(data, "int32")), const(-(2**31), "int32")


def _numbered(node: Node, data: Expr, extents: Sequence[Expr], by_columns: bool) -> Expr:
    """An image whose elements are their positions, in row or column order."""
    numbers = op.arange(_product(extents), dtype="int64")
    order = list(reversed(extents)) if by_columns else list(extents)
    image = op.reshape(numbers, op.stack(order, axis=0))
    image = op.transpose(image, list(reversed(range(len(order))))) if by_columns else image
    return node.declare(
        op.expand_dims(image, axis=0, num_newaxis=2), (1, 1, *node.shape(data)[2:]), "int64"
    )


def _product(extents: Sequence[Expr]) -> Expr:
    return reduce(mul, extents, int64(1))


# --- means -------------------------------------------------------------------------------------


@table("AveragePool")
def average_pool(node: Node, data: Expr) -> Expr:
    windows, with_padding = _windows(node, data), bool(node.attribute("count_include_pad", 0))

    def pool(part: Expr, by: Windows, ceil_mode: bool) -> Expr:
        return _MEANS[len(by.sizes) - 1](
            part, **_attributes(by), ceil_mode=ceil_mode, count_include_pad=with_padding
        )

    zero = node.number(0, data)
    means = _pooled(node, data, windows, pool, zero)
    if with_padding or windows.pads is not None:
        return means
    # the share of elements inside data: the mean of ones padded with zeros
    extents = node.extents(data, 2, node.rank(data))
    ones = node.declare(
        op.dyn.ones(op.concatenate([int64([1, 1]), extents], axis=0), node.dtype(data)),
        (1, 1, *node.shape(data)[2:]),
        node.dtype(data),
    )
    return means / _pooled(node, ones, windows, pool, zero)


@table("LpPool")
def lp_pool(node: Node, data: Expr) -> Expr:
    """The p-norm of each window: its mean of powers times its size."""
    windows, p = _windows(node, data), node.attribute("p", 2)

    def pool(part: Expr, by: Windows, ceil_mode: bool) -> Expr:
        # a partial window is one that ends in more padding
        by = by.with_more_behind() if ceil_mode else by
        return _MEANS[len(by.sizes) - 1](part, **_attributes(by), count_include_pad=True)

    powers = node.let(_powers(node, data, p))
    means = _pooled(node, powers, windows, pool, node.number(0, data))
    size = prod(one for one in windows.sizes if isinstance(one, int))
    return _root(node, means * node.number(size, data), data, p)


def _powers(node: Node, data: Expr, p: float) -> Expr:
    if p == 2:
        return data * data
    return op.abs(data) if p == 1 else op.power(op.abs(data), node.number(p, data))


def _root(node: Node, total: Expr, like: Expr, p: float) -> Expr:
    if p == 0:
        raise node.refused("there is no root of degree 0", "`p` other than 0", "`p` = 0")
    if p == 2:
        return op.sqrt(total)
    return total if p == 1 else op.power(total, node.number(1 / p, like))


# --- windows -----------------------------------------------------------------------------------


def _windows(node: Node, data: Expr) -> Windows:
    count = node.rank(data) - 2
    if count < 1:
        raise node.misfit("data has no spatial axes", "3 axes or more", str(node.type_of(data)))
    sizes = node.required("kernel_shape")
    if len(sizes) != count or min(sizes) < 1:
        raise node.misfit("`kernel_shape` does not fit", f"{count} sizes", str(sizes))
    return windows_of(node, data, sizes)


def _attributes(windows: Windows) -> dict[str, tuple[int, ...]]:
    return {
        "pool_size": static(windows.sizes) or (),
        "strides": tuple(windows.strides),
        "dilation": tuple(windows.dilations),
        "padding": windows.padding,
    }


def _pooled(node: Node, data: Expr, windows: Windows, pool: Pool, value: Expr | None) -> Expr:
    """A pool of data; `value` is the padding where that is dynamic."""
    shape = node.shape(data)
    if windows.pads is None:
        assert value is not None
        framed = windows.padded(node, data, value)
        found = node.let(_over_all_axes(node, framed, windows, pool, ceil_mode=False))
        declared = (*shape[:2], *windows.same_counts(shape[2:]))
        return node.declare(found, declared, node.dtype(found))
    ceil_mode = bool(node.attribute("ceil_mode", 0))
    found = _over_all_axes(node, data, windows, pool, ceil_mode)
    if not ceil_mode:
        return found
    return inside_data(node, node.let(found), data, windows.strides, windows.pads, windows.covered)


def _over_all_axes(node: Node, data: Expr, windows: Windows, pool: Pool, ceil_mode: bool) -> Expr:
    """A pool over any number of axes, up to three at a time."""
    count = len(windows.sizes)
    if count <= MOST:
        return pool(data, windows, ceil_mode)
    for last in range(count, 0, -MOST):
        first = max(last - MOST, 0)
        chosen = range(2 + first, 2 + last)
        order = [*(axis for axis in range(2 + count) if axis not in chosen), *chosen]
        extents = [-1, *inner_extents(node, data)]
        rows = op.reshape(op.transpose(data, order), (1, -1, *(extents[axis] for axis in chosen)))
        found = node.let(pool(node.let(rows), windows.part(first, last), ceil_mode))
        kept = [extents[axis] for axis in order[: -len(chosen)]]
        counts = [one for one in node.shape(found)[2:] if isinstance(one, int)]
        apart = op.reshape(found, (*kept, *counts))
        data = node.let(op.transpose(apart, [order.index(axis) for axis in range(2 + count)]))
    return data


# --- whole channels ----------------------------------------------------------------------------


def _whole_channels(
    operators: Operators, reduction: Callable[..., Expr], node: Node, data: Expr
) -> Expr:
    axes = _spatial(node, data)
    if len(axes) > MOST:
        return reduction(data, axis=axes, keepdims=True)
    return operators[len(axes) - 1](data)


table.add("GlobalAveragePool", partial(_whole_channels, _operators("global_avg_pool{}d"), op.mean))
table.add("GlobalMaxPool", partial(_whole_channels, _operators("global_max_pool{}d"), op.max))


@table("GlobalLpPool")
def global_lp_pool(node: Node, data: Expr) -> Expr:
    p = node.attribute("p", 2)
    total = op.sum(_powers(node, data, p), axis=_spatial(node, data), keepdims=True)
    return _root(node, total, data, p)


def _spatial(node: Node, data: Expr) -> tuple[int, ...]:
    if node.rank(data) < 3:
        raise node.misfit("data has no spatial axes", "3 axes or more", str(node.type_of(data)))
    return tuple(range(2, node.rank(data)))


# --- back again --------------------------------------------------------------------------------


@table("MaxUnpool")
def max_unpool(node: Node, data: Expr, positions: Expr, wanted: Expr | None = None) -> Expr:
    """The inverse of a max pool, with zeros elsewhere; positions count in what the windows cover,
    and a larger output is padded at the end."""
    rank = node.rank(data)
    count, sizes = rank - 2, node.required("kernel_shape")
    if count < 1 or len(sizes) != count:
        raise node.misfit("`kernel_shape` does not fit", f"{count} sizes", str(sizes))
    strides, pads = node.numbers("strides", count, 1), node.numbers("pads", 2 * count)
    more = [
        size - stride - pads[axis] - pads[axis + count]
        for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True))
    ]
    covered = [
        extent * stride + rest
        for extent, stride, rest in zip(node.shape(data)[2:], strides, more, strict=True)
    ]
    shape = (*node.shape(data)[:2], *covered)
    factors, rest = int64([1, 1, *strides]), int64([0, 0, *more])
    own = node.let(op.shape_of(data, dtype="int64") * factors + rest)
    if static(shape) is not None:
        own = int64(shape)
    empty = node.let(op.dyn.zeros(op.prod(own, axis=0, keepdims=True), node.dtype(data)))
    chosen = in_range(node, node.let(op.reshape(op.cast(positions, "int64"), (-1,))), empty)
    flat = op.scatter_elements(empty, chosen, op.reshape(data, (-1,)), axis=0)
    found = node.declare(op.reshape(flat, own, allowzero=True), shape, node.dtype(data))
    if wanted is None:
        return found
    wanted = node.of_length(wanted, rank, "the sizes")
    behind = op.cast(wanted, "int64") - own
    widths = node.let(op.stack([op.zeros_like(behind), behind], axis=1))
    padded = op.nn.pad(found, widths, node.number(0, data))
    return node.declare(padded, node.elements(wanted) or (None,) * rank, node.dtype(data))
