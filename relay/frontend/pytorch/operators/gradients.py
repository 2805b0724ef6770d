"""Derivatives of convolutions, pools, norms and embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Size
from relay.frontend.pytorch.operators.convolution import convolve, spread
from relay.frontend.pytorch.operators.normalization import wide_type
from relay.frontend.pytorch.operators.pooling import axes_of, max_unpool
from relay.frontend.pytorch.shapes import dimensions, per_axis, swapped, to_shape, volume
from relay.ir.expr import Expr, const

table = Converters()

Results = list["Expr | None"]


# --- convolutions --------------------------------------------------------------------------------


@table("convolution_backward")
def convolution_backward(
    node: Node,
    grad_output: Expr,
    input: Expr,
    weight: Expr,
    bias_sizes: Sequence[Size] | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Sequence[bool],
) -> Results:
    """The derivatives of the input, of the weight and of the bias."""
    count = node.rank(weight) - 2
    if node.rank(input) == count + 1:
        grad_output, input = (node.let(op.expand_dims(one, 0)) for one in (grad_output, input))
        args = (stride, padding, dilation, transposed, output_padding, groups, output_mask)
        first, *rest = convolution_backward(node, grad_output, input, weight, bias_sizes, *args)
        return [None if first is None else op.squeeze(node.let(first), (0,)), *rest]
    lists = [
        per_axis(node, one, count, what)
        for one, what in ((stride, "stride"), (padding, "padding"), (dilation, "dilation"))
    ]
    found: Results = [None, None, None]
    if output_mask[0] and transposed:
        found[0] = convolve(node, grad_output, weight, None, lists[0], lists[1], lists[2], groups)
    elif output_mask[0]:
        found[0] = _of_input(node, grad_output, input, weight, lists, groups)
    if output_mask[1]:
        data, grad = (grad_output, input) if transposed else (input, grad_output)
        found[1] = _of_weight(node, data, grad, weight, lists, groups)
    if output_mask[2]:
        axes = tuple(axis for axis in range(count + 2) if axis != 1)
        found[2] = op.sum(grad_output, axis=axes)
    return found


def _of_input(
    node: Node, grad: Expr, data: Expr, weight: Expr, lists: Sequence[list[int]], groups: int
) -> Expr:
    strides, pads, dilations = lists
    kernel = node.static_shape(weight, "weights")[2:]
    rows = zip(strides, pads, dilations, kernel, strict=True)
    more = []
    for axis, (stride, pad, dilation, size) in enumerate(rows, 2):
        extent = node.static_extent(data, axis, "extents of the input")
        count = node.static_extent(grad, axis, "extents of the result")
        more.append(extent - ((count - 1) * stride - 2 * pad + dilation * (size - 1) + 1))
    return spread(node, grad, weight, None, strides, pads, more, groups, dilations)


def _of_weight(
    node: Node, data: Expr, grad: Expr, weight: Expr, lists: Sequence[list[int]], groups: int
) -> Expr:
    """The gradient of a weight: data convolved with the derivative, strides as dilations."""
    strides, pads, dilations = lists
    _, each, *kernel = node.static_shape(weight, "weights")
    batch, extents = node.dimension(data, 0), dimensions(node, data, 2)
    apart = to_shape(node, data, [batch, groups, each, *extents])
    order = [2, 1, 0, *range(3, 3 + len(kernel))]
    images = node.let(op.transpose(apart, order))
    images = to_shape(node, images, [each, volume(node, [groups, batch]), *extents])
    windows = swapped(node, grad, 0, 1)
    found = node.let(convolve(node, images, windows, None, dilations, pads, strides, groups))
    whole = node.let(op.transpose(found, [1, 0, *range(2, 2 + len(kernel))]))
    axes = tuple(range(2, 2 + len(kernel)))
    return op.strided_slice(whole, [0] * len(kernel), kernel, axes=axes)


# --- pools ---------------------------------------------------------------------------------------


@table("avg_pool2d_backward", "avg_pool3d_backward")
def avg_pool_backward(
    node: Node,
    grad_output: Expr,
    self: Expr,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Expr:
    """avg_pool: derivatives divided by their window sizes and spread over the windows."""
    count = axes_of(node)
    sizes = per_axis(node, kernel_size, count, "kernel_size")
    strides = per_axis(node, stride or sizes, count, "stride")
    pads = per_axis(node, padding, count, "padding", 0)
    first = node.rank(self) - count
    extents = [node.static_extent(self, first + axis, "extents") for axis in range(count)]
    counts = [node.static_extent(grad_output, first + axis, "extents") for axis in range(count)]
    lengths = []
    for n, extent, size, step, pad in zip(counts, extents, sizes, strides, pads, strict=True):
        starts = np.arange(n) * step - pad
        ends = np.minimum(starts + size, extent + pad)
        if not count_include_pad:
            starts, ends = np.maximum(starts, 0), np.minimum(ends, extent)
        lengths.append(ends - starts)
    divisors = reduce(np.multiply.outer, lengths)
    if divisor_override is not None:
        divisors = np.full_like(divisors, divisor_override)
    dtype = node.dtype(grad_output)
    shares = node.let(grad_output / node.let(const(divisors, dtype)))
    images = to_shape(node, shares, [-1, 1, *counts])
    ones = node.let(const(np.ones((1, 1, *sizes)), dtype))
    whole = node.let(spread(node, images, ones, None, strides))
    reach = [(n - 1) * step + size for n, step, size in zip(counts, strides, sizes, strict=True)]
    widths = [
        (-pad, extent + pad - end) for pad, extent, end in zip(pads, extents, reach, strict=True)
    ]
    found = node.let(op.nn.pad(whole, [(0, 0), (0, 0), *widths]))
    return to_shape(node, found, dimensions(node, self))


@table(
    "max_pool2d_with_indices_backward",
    "max_pool3d_with_indices_backward",
    "adaptive_max_pool2d_backward",
    "adaptive_max_pool3d_backward",
    "fractional_max_pool2d_backward",
    "fractional_max_pool3d_backward",
)
def max_pool_backward(node: Node, grad_output: Expr, self: Expr, *more: Any, **named: Any) -> Expr:
    """max_pool: derivatives added at the positions of the maxima."""
    indices: Expr = named["indices"] if "indices" in named else more[-1]
    wanted = dimensions(node, self)[-axes_of(node) :]
    return max_unpool(node, grad_output, indices, wanted, reduction="add")


@table("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward")
def adaptive_avg_pool_backward(node: Node, grad_output: Expr, self: Expr) -> Expr:
    """Each derivative divided by the size of its window, by a product along each axis."""
    count, rank, found = axes_of(node), node.rank(self), grad_output
    for axis in range(rank - count, rank):
        extent = node.static_extent(self, axis, "extents")
        windows = node.static_extent(grad_output, axis, "extents")
        shares = np.zeros((extent, windows))
        for place in range(windows):
            start, end = place * extent // windows, -(-(place + 1) * extent // windows)
            shares[start:end, place] = 1 / (end - start)
        last = swapped(node, found, axis, -1)
        matrix = node.let(const(shares, node.dtype(grad_output)))
        found = swapped(node, node.let(op.nn.dense(last, matrix)), axis, -1)
    return found


# --- norms ---------------------------------------------------------------------------------------


@table("native_layer_norm_backward")
def layer_norm_backward(
    node: Node,
    grad_out: Expr,
    input: Expr,
    normalized_shape: Sequence[Size],
    mean: Expr,
    rstd: Expr,
    weight: Expr | None,
    bias: Expr | None,
    output_mask: Sequence[bool],
) -> Results:
    dtype, wide = node.dtype(input), wide_type(node, input)
    grad, data, mean, rstd = (node.as_dtype(x, wide) for x in (grad_out, input, mean, rstd))
    rank, ahead = node.rank(input), node.rank(input) - len(normalized_shape)
    normal = node.let((data - mean) * rstd)
    scaled = grad if weight is None else node.let(grad * node.as_dtype(weight, wide))
    found: Results = [None, None, None]
    if output_mask[0]:
        found[0] = node.as_dtype(_centered(node, scaled, normal, rstd, range(ahead, rank)), dtype)
    for place, value in ((1, grad * normal), (2, grad)):
        if output_mask[place]:
            whole = op.sum(value, axis=tuple(range(ahead))) if ahead else value
            found[place] = node.as_dtype(node.let(whole), dtype)
    return found


def _centered(node: Node, grad: Expr, normal: Expr, rstd: Expr, axes: Sequence[int]) -> Expr:
    """The gradient through a normalization along axes."""
    along = {"axis": tuple(axes), "keepdims": True}
    middle = node.let(op.mean(grad, **along))
    share = node.let(op.mean(grad * normal, **along))
    return node.let(rstd * (grad - middle - normal * share))


@table("native_group_norm_backward")
def group_norm_backward(
    node: Node,
    grad_out: Expr,
    input: Expr,
    mean: Expr,
    rstd: Expr,
    weight: Expr | None,
    N: Size,
    C: Size,
    HxW: Size,
    group: int,
    output_mask: Sequence[bool],
) -> Results:
    dtype, wide = node.dtype(input), wide_type(node, input)
    channels = node.static_extent(input, 1, "channels")
    inside = volume(node, dimensions(node, input, 2))
    shape = [node.dimension(input, 0), group, channels // group, inside]
    grad, data = (to_shape(node, node.as_dtype(one, wide), shape) for one in (grad_out, input))
    mean, rstd = (
        node.let(op.expand_dims(node.as_dtype(one, wide), 2, num_newaxis=2)) for one in (mean, rstd)
    )
    normal = node.let((data - mean) * rstd)
    scaled = grad
    if weight is not None:
        factors = op.reshape(node.as_dtype(weight, wide), (1, group, channels // group, 1))
        scaled = node.let(grad * factors)
    found: Results = [None, None, None]
    if output_mask[0]:
        whole = _centered(node, scaled, normal, rstd, (2, 3))
        found[0] = node.as_dtype(to_shape(node, whole, dimensions(node, input)), dtype)
    for place, value in ((1, grad * normal), (2, grad)):
        if output_mask[place]:
            total = node.let(op.sum(value, axis=(0, 3)))
            found[place] = node.as_dtype(node.let(op.reshape(total, (channels,))), dtype)
    return found


@table("native_batch_norm_backward")
def batch_norm_backward(
    node: Node,
    grad_out: Expr,
    input: Expr,
    weight: Expr | None,
    running_mean: Expr | None,
    running_var: Expr | None,
    save_mean: Expr | None,
    save_invstd: Expr | None,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> Results:
    dtype, wide = node.dtype(input), wide_type(node, input)
    grad, data = (node.as_dtype(one, wide) for one in (grad_out, input))
    behind = node.rank(input) - 2

    def vector(value: Expr) -> Expr:
        return node.let(op.reshape(node.as_dtype(value, wide), (-1, *[1] * behind)))

    if train:
        assert save_mean is not None and save_invstd is not None
        mean, rstd = vector(save_mean), vector(save_invstd)
    else:
        assert running_mean is not None and running_var is not None
        mean, spread_of = vector(running_mean), vector(running_var)
        rstd = node.let(op.rsqrt(spread_of + node.number(eps, spread_of)))
    normal = node.let((data - mean) * rstd)
    scaled = grad if weight is None else node.let(grad * vector(weight))
    axes = tuple(axis for axis in range(node.rank(input)) if axis != 1)
    found: Results = [None, None, None]
    if output_mask[0]:
        made = _centered(node, scaled, normal, rstd, axes) if train else node.let(scaled * rstd)
        found[0] = node.as_dtype(made, dtype)
    for place, value in ((1, grad * normal), (2, grad)):
        if output_mask[place]:
            found[place] = op.sum(value, axis=axes)
    return found


# --- embeddings ----------------------------------------------------------------------------------


@table("embedding_dense_backward")
def embedding_dense_backward(
    node: Node,
    grad_output: Expr,
    indices: Expr,
    num_weights: Size,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> Expr:
    """The derivatives added to the rows they belong to, but for that of the padding."""
    width, dtype = node.dimension(grad_output, -1), node.dtype(grad_output)
    count = volume(node, dimensions(node, indices))
    rows = to_shape(node, grad_output, [count, width])
    places = to_shape(node, node.as_dtype(indices, "int64"), [count])
    if scale_grad_by_freq:
        zeros = _zeros(node, [num_weights], "int64")
        ones = node.let(op.ones_like(places))
        totals = node.let(op.scatter_elements(zeros, places, ones, axis=0, reduction="add"))
        each = op.cast(op.take(totals, places, axis=0), dtype)
        rows = node.let(rows / op.expand_dims(each, 1))
    if padding_idx >= 0:
        kept = op.expand_dims(op.not_equal(places, int64(padding_idx)), 1)
        rows = node.let(op.where(kept, rows, node.number(0, rows)))
    zeros = _zeros(node, [num_weights, width], dtype)
    return op.scatter_nd(zeros, op.expand_dims(places, 0), rows, mode="add")


def _zeros(node: Node, sizes: Sequence[Size], dtype: str) -> Expr:
    known = [node.known(one) for one in sizes]
    numbers = [one for one in known if isinstance(one, int)]
    if len(numbers) == len(known):
        return node.let(op.zeros(tuple(numbers), dtype))
    return node.declare(op.dyn.zeros(node.sizes(sizes), dtype), known, dtype)
