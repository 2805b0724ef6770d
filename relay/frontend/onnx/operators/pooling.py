"""Pools: one element for each window, or for each channel; and back again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, prod
from typing import Any

import ml_dtypes

from relay import dtypes, op
from relay.frontend.onnx.computations.indices import in_range
from relay.frontend.onnx.computations.windows import Windows
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.convolution import inner_extents
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Expr, const
from relay.ir.types import TensorType
from relay.op.building.numerics import limits

table = Converters()

_finfo: Any = ml_dtypes.finfo  # has no types

_MAXIMA: Mapping[int, Callable[..., Expr]] = {
    1: op.nn.max_pool1d,
    2: op.nn.max_pool2d,
    3: op.nn.max_pool3d,
}
_POSITIONS: Mapping[int, Callable[..., Expr]] = {
    1: op.nn.max_pool1d_positions,
    2: op.nn.max_pool2d_positions,
    3: op.nn.max_pool3d_positions,
}
_MEANS: Mapping[int, Callable[..., Expr]] = {
    1: op.nn.avg_pool1d,
    2: op.nn.avg_pool2d,
    3: op.nn.avg_pool3d,
}
_GLOBAL_MAXIMA: Mapping[int, Callable[..., Expr]] = {
    1: op.nn.global_max_pool1d,
    2: op.nn.global_max_pool2d,
    3: op.nn.global_max_pool3d,
}
_GLOBAL_MEANS: Mapping[int, Callable[..., Expr]] = {
    1: op.nn.global_avg_pool1d,
    2: op.nn.global_avg_pool2d,
    3: op.nn.global_avg_pool3d,
}
MOST = 3  # spatial axes that an operator has

# The pool of data by windows, of which the last may stick out: (data, windows, ceil_mode)
Pool = Callable[[Expr, Windows, bool], Expr]

# --- the greatest ------------------------------------------------------------------------------


@table("MaxPool")
def max_pool(node: Node, data: Expr) -> Sequence[Expr]:
    windows = _windows(node, data)
    lowest, _ = limits(dtypes.to_numpy(node.dtype(data)))

    def pool(part: Expr, by: Windows, ceil_mode: bool) -> Expr:
        return _MAXIMA[len(by.sizes)](part, **_attributes(by), ceil_mode=ceil_mode)

    found = [_pooled(node, data, windows, pool, node.number(lowest, data))]
    if len(node.outputs) > 1 and node.outputs[1]:
        found.append(_places(node, data, windows))
    return found


def _places(node: Node, data: Expr, windows: Windows) -> Expr:
    """Where the greatest elements stand in all of data, in the order of its memory."""
    if len(windows.sizes) > MOST:
        raise node.refused(
            f"places of elements are found along up to {MOST} axes", found=str(len(windows.sizes))
        )

    def pool(part: Expr, by: Windows, ceil_mode: bool) -> Expr:
        return _POSITIONS[len(by.sizes)](part, **_attributes(by), ceil_mode=ceil_mode)

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
            numbers = windows.padded(node, numbers, const(0, "int64"))
        place = op.take(op.reshape(numbers, (-1,)), place, axis=0)
    behind = len(extents)
    batch, channel = (
        node.let(op.expand_dims(_numbers(node, data, axis), axis=1, num_newaxis=behind + 1 - axis))
        for axis in range(2)
    )
    image = op.add(op.multiply(batch, node.size(data, 1)), channel)
    return op.add(op.multiply(image, whole), place)


def _above_padding(node: Node, data: Expr) -> tuple[Expr, Expr]:
    """Data that never is as low as what stands around it, and that."""
    dtype = node.dtype(data)
    if dtypes.is_float(dtype):
        least = float(_finfo(dtypes.to_numpy(dtype)).min)
        return node.let(op.maximum(data, node.number(least, data))), node.number(-inf, data)
    return node.let(op.cast(data, "int32")), const(-(2**31), "int32")


def _numbered(node: Node, data: Expr, extents: Sequence[Expr], by_columns: bool) -> Expr:
    """An image whose elements are the numbers of their places, row by row or column by column."""
    numbers = op.arange(_product(extents), dtype="int64")
    order = list(reversed(extents)) if by_columns else list(extents)
    image = op.reshape(numbers, op.stack(order, axis=0))
    image = op.transpose(image, list(reversed(range(len(order))))) if by_columns else image
    return node.let(
        op.expand_dims(image, axis=0, num_newaxis=2),
        declared=TensorType((1, 1, *node.shape(data)[2:]), "int64"),
    )


def _product(extents: Sequence[Expr]) -> Expr:
    found: Expr = const(1, "int64")
    for one in extents:
        found = op.multiply(found, one)
    return found


def _numbers(node: Node, data: Expr, axis: int) -> Expr:
    """0, 1, … along an axis of data."""
    numbers = op.arange(node.size(data, axis), dtype="int64")
    return node.let(numbers, declared=TensorType((node.shape(data)[axis],), "int64"))


# --- means -------------------------------------------------------------------------------------


@table("AveragePool")
def average_pool(node: Node, data: Expr) -> Expr:
    windows, with_padding = _windows(node, data), bool(node.attribute("count_include_pad", 0))

    def pool(part: Expr, by: Windows, ceil_mode: bool) -> Expr:
        return _MEANS[len(by.sizes)](
            part, **_attributes(by), ceil_mode=ceil_mode, count_include_pad=with_padding
        )

    zero = node.number(0, data)
    means = _pooled(node, data, windows, pool, zero)
    if with_padding or windows.pads is not None:
        return means
    # what lies in data has a share in the mean of a window: the mean of ones among zeros
    extents = op.strided_slice(op.shape_of(data, dtype="int64"), [2], [node.rank(data)], axes=(0,))
    ones = node.let(
        op.dyn.ones(op.concatenate([const([1, 1], "int64"), extents], axis=0), node.dtype(data)),
        declared=TensorType((1, 1, *node.shape(data)[2:]), node.dtype(data)),
    )
    return op.divide(means, _pooled(node, ones, windows, pool, zero))


@table("LpPool")
def lp_pool(node: Node, data: Expr) -> Expr:
    """The root of a sum of powers: of their mean, times the elements of a window."""
    windows, p = _windows(node, data), node.attribute("p", 2)

    def pool(part: Expr, by: Windows, ceil_mode: bool) -> Expr:
        # a window that sticks out is one that ends in more padding
        by = by.with_more_behind() if ceil_mode else by
        return _MEANS[len(by.sizes)](part, **_attributes(by), count_include_pad=True)

    powers = node.let(_powers(node, data, p))
    means = _pooled(node, powers, windows, pool, node.number(0, data))
    size = prod(one for one in windows.sizes if isinstance(one, int))
    return _root(node, op.multiply(means, node.number(size, data)), data, p)


def _powers(node: Node, data: Expr, p: float) -> Expr:
    if p == 2:
        return op.multiply(data, data)
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
        raise node.refused("data has no spatial axes", "3 axes or more", str(node.type_of(data)))
    sizes = node.required("kernel_shape")
    if len(sizes) != count or min(sizes) < 1:
        raise node.refused("`kernel_shape` does not fit", f"{count} sizes", str(sizes))
    return Windows.of(node, data, sizes)


def _attributes(windows: Windows) -> dict[str, tuple[int, ...]]:
    return {
        "pool_size": tuple(one for one in windows.sizes if isinstance(one, int)),
        "strides": tuple(windows.strides),
        "dilation": tuple(windows.dilations),
        "padding": windows.padding,
    }


def _pooled(node: Node, data: Expr, windows: Windows, pool: Pool, value: Expr | None) -> Expr:
    """A pool of data; `value` stands around it where a run finds the padding."""
    shape = node.shape(data)
    if windows.pads is None:
        assert value is not None
        framed = windows.padded(node, data, value)
        found = node.let(_over_all_axes(node, framed, windows, pool, ceil_mode=False))
        declared = (*shape[:2], *windows.same_counts(shape[2:]))
        return node.let(found, declared=TensorType(declared, node.dtype(found)))
    ceil_mode = bool(node.attribute("ceil_mode", 0))
    found = _over_all_axes(node, data, windows, pool, ceil_mode)
    return _begun_in_data(node, node.let(found), data, windows) if ceil_mode else found


def _over_all_axes(node: Node, data: Expr, windows: Windows, pool: Pool, ceil_mode: bool) -> Expr:
    """A pool over any number of axes: over more than operators have, some after the others."""
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


def _begun_in_data(node: Node, found: Expr, data: Expr, windows: Windows) -> Expr:
    """A pool without the windows that begin behind data, which rounding up may have added."""
    assert windows.pads is not None
    shape, extents = node.shape(found), node.shape(data)[2:]
    most: list[Dim] = []
    for extent, stride, (before, after), covered, count in zip(
        extents, windows.strides, windows.pads, windows.covered, shape[2:], strict=True
    ):
        begun = dims.floor_divide(dims.add(extent, before + stride - 1), stride)
        never = isinstance(covered, int) and after + stride <= covered
        most.append(count if never else dims.minimum(begun, count))
    if all(dims.equal(kept, count) is True for kept, count in zip(most, shape[2:], strict=True)):
        return found
    axes = tuple(range(2, len(shape)))
    numbers = [one for one in most if isinstance(one, int)]
    if len(numbers) == len(most):
        return op.strided_slice(found, [0] * len(axes), numbers, axes=axes)
    sizes = op.strided_slice(op.shape_of(data, dtype="int64"), [2], [len(shape)], axes=(0,))
    rounded = [b + s - 1 for s, (b, _) in zip(windows.strides, windows.pads, strict=True)]
    strides = const(list(windows.strides), "int64")
    ends = op.floor_divide(op.add(sizes, const(rounded, "int64")), strides)
    begins = const([0] * len(axes), "int64")
    return node.let(
        op.strided_slice(found, begins, ends, axes=axes),
        declared=TensorType((*shape[:2], *most), node.dtype(found)),
    )


# --- whole channels ----------------------------------------------------------------------------


@table("GlobalAveragePool")
def global_average_pool(node: Node, data: Expr) -> Expr:
    axes = _spatial(node, data)
    pool = _GLOBAL_MEANS.get(len(axes))
    return op.mean(data, axis=axes, keepdims=True) if pool is None else pool(data)


@table("GlobalMaxPool")
def global_max_pool(node: Node, data: Expr) -> Expr:
    axes = _spatial(node, data)
    pool = _GLOBAL_MAXIMA.get(len(axes))
    return op.max(data, axis=axes, keepdims=True) if pool is None else pool(data)


@table("GlobalLpPool")
def global_lp_pool(node: Node, data: Expr) -> Expr:
    p = node.attribute("p", 2)
    total = op.sum(_powers(node, data, p), axis=_spatial(node, data), keepdims=True)
    return _root(node, total, data, p)


def _spatial(node: Node, data: Expr) -> tuple[int, ...]:
    if node.rank(data) < 3:
        raise node.refused("data has no spatial axes", "3 axes or more", str(node.type_of(data)))
    return tuple(range(2, node.rank(data)))


# --- back again --------------------------------------------------------------------------------


@table("MaxUnpool")
def max_unpool(node: Node, data: Expr, places: Expr, wanted: Expr | None = None) -> Expr:
    """Elements where they stood before a pool, among zeros. Their places count in what the windows
    cover; where more is wanted, the rest is behind it."""
    rank = node.rank(data)
    count, sizes = rank - 2, node.required("kernel_shape")
    if count < 1 or len(sizes) != count:
        raise node.refused("`kernel_shape` does not fit", f"{count} sizes", str(sizes))
    strides, pads = node.numbers("strides", count, 1), node.numbers("pads", 2 * count)
    more = [
        size - stride - pads[axis] - pads[axis + count]
        for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True))
    ]
    covered = [
        dims.add(dims.multiply(extent, stride), rest)
        for extent, stride, rest in zip(node.shape(data)[2:], strides, more, strict=True)
    ]
    shape = (*node.shape(data)[:2], *covered)
    factors, rest = const([1, 1, *strides], "int64"), const([0, 0, *more], "int64")
    own = node.let(op.add(op.multiply(op.shape_of(data, dtype="int64"), factors), rest))
    if all(isinstance(one, int) for one in shape):
        own = const([one for one in shape if isinstance(one, int)], "int64")
    empty = node.let(op.dyn.zeros(op.prod(own, axis=0, keepdims=True), node.dtype(data)))
    chosen = in_range(node, node.let(op.reshape(op.cast(places, "int64"), (-1,))), empty)
    flat = op.scatter_elements(empty, chosen, op.reshape(data, (-1,)), axis=0)
    found = node.let(
        op.reshape(flat, own, allowzero=True), declared=TensorType(shape, node.dtype(data))
    )
    if wanted is None:
        return found
    wanted = node.of_length(wanted, rank, "the sizes")
    known = node.elements(wanted) or (None,) * rank
    behind = op.subtract(op.cast(wanted, "int64"), own)
    widths = op.stack([op.zeros_like(behind), behind], axis=1)
    declared = tuple(dims.ANY if one is None else one for one in known)
    return node.let(
        op.nn.pad(found, node.let(widths), node.number(0, data)),
        declared=TensorType(declared, node.dtype(data)),
    )
