"""Pooling, adaptive pooling and unpooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from relay import dtypes, op
from relay.frontend.common.builder import int64
from relay.frontend.common.indices import in_range
from relay.frontend.common.partial_windows import inside_data
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Size
from relay.frontend.pytorch.shapes import dimensions, in_batch, per_axis, to_shape, volume
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.expr import Expr, const

table = Converters()

Operators = Sequence[Callable[..., Expr]]  # by the number of spatial axes


def _operators(name: str) -> Operators:
    return [getattr(op.nn, name.format(axes)) for axes in (1, 2, 3)]


_MAXIMA, _POSITIONS = _operators("max_pool{}d"), _operators("max_pool{}d_positions")
_MEANS = _operators("avg_pool{}d")
_ADAPTIVE_MAXIMA = _operators("adaptive_max_pool{}d")
_ADAPTIVE_MEANS = _operators("adaptive_avg_pool{}d")


@frozen
class Windows:
    """Sizes, strides, padding and dilations per spatial axis."""

    sizes: Sequence[int]
    strides: Sequence[int]
    pads: Sequence[int]
    dilations: Sequence[int]

    @classmethod
    def of(cls, node: Node, size: Any, stride: Any, padding: Any, dilation: Any = 1) -> Windows:
        count = axes_of(node)
        sizes = per_axis(node, size, count, "kernel_size")
        strides = per_axis(node, stride or sizes, count, "stride")
        pads = per_axis(node, padding, count, "padding", 0)
        return cls(sizes, strides, pads, per_axis(node, dilation, count, "dilation"))

    def pooled(
        self, node: Node, operators: Operators, data: Expr, ceil_mode: bool, **more: Any
    ) -> Expr:
        """A pool of data with a batch axis; no window begins after the data."""
        found = operators[len(self.sizes) - 1](
            data,
            pool_size=tuple(self.sizes),
            strides=tuple(self.strides),
            dilation=tuple(self.dilations),
            padding=(*self.pads, *self.pads),
            ceil_mode=ceil_mode,
            **more,
        )
        found = node.let(found)
        if not ceil_mode:
            return found
        covered = [(k - 1) * d + 1 for k, d in zip(self.sizes, self.dilations, strict=True)]
        pads = [(pad, pad) for pad in self.pads]
        return node.let(inside_data(node, found, data, self.strides, pads, covered))


def axes_of(node: Node) -> int:
    """The number of spatial axes of the operator: max_pool2d has 2."""
    return next(int(one) for one in node.operator if one in "123")


# --- maxima --------------------------------------------------------------------------------------


@table("max_pool1d", "max_pool2d", "max_pool3d")
def max_pool(
    node: Node,
    self: Expr,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Expr:
    windows = Windows.of(node, kernel_size, stride, padding, dilation)

    def compute(data: Expr) -> Expr:
        return windows.pooled(node, _MAXIMA, data, ceil_mode)

    return in_batch(node, self, len(windows.sizes) + 2, compute)  # type: ignore[no-any-return]


@table("max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool_with_indices(
    node: Node,
    self: Expr,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> list[Expr]:
    """The maxima, and where they are in their channel."""
    windows = Windows.of(node, kernel_size, stride, padding, dilation)

    def compute(data: Expr) -> list[Expr]:
        return [windows.pooled(node, one, data, ceil_mode) for one in (_MAXIMA, _POSITIONS)]

    return in_batch(node, self, len(windows.sizes) + 2, compute)  # type: ignore[no-any-return]


@table("max_unpool2d", "max_unpool3d")
def max_unpool(
    node: Node,
    self: Expr,
    indices: Expr,
    output_size: Sequence[Size],
    *_: Any,
    reduction: str = "update",
) -> Expr:
    """max_unpool: zeros with the elements at their indices in each channel."""
    ahead = dimensions(node, self, 0, node.rank(self) - len(output_size))
    inside = volume(node, dimensions(node, self, len(ahead)))
    data = to_shape(node, self, [*ahead, inside])
    places = to_shape(node, node.as_dtype(indices, "int64"), [*ahead, inside])
    whole = volume(node, output_size)
    empty = op.broadcast_to(node.number(0, self), node.sizes([*ahead, whole]))
    shape = (*node.shape(self)[: len(ahead)], node.known(whole))
    zeros = node.declare(empty, shape, node.dtype(self))
    places = in_range(node, places, zeros, (len(ahead),))
    flat = node.let(op.scatter_elements(zeros, places, data, len(ahead), reduction))
    return to_shape(node, flat, [*ahead, *output_size])


# --- means ---------------------------------------------------------------------------------------


@table("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(
    node: Node,
    self: Expr,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Expr:
    windows = Windows.of(node, kernel_size, stride, padding)
    size = prod(windows.sizes)

    def compute(data: Expr) -> Expr:
        if divisor_override is None:
            return windows.pooled(
                node, _MEANS, data, ceil_mode, count_include_pad=count_include_pad
            )
        # partial windows count as whole ones: their sums are means of windows in more zeros
        behind = [
            pad + (s - 1 if ceil_mode else 0)
            for pad, s in zip(windows.pads, windows.strides, strict=True)
        ]
        is_whole = dtypes.is_integer(node.dtype(data))
        means = _MEANS[len(windows.sizes) - 1](
            node.as_dtype(data, "float64") if is_whole else data,
            pool_size=tuple(windows.sizes),
            strides=tuple(windows.strides),
            padding=(*windows.pads, *behind),
            count_include_pad=True,
        )
        if is_whole:
            total = op.cast(op.round(means * const(float(size), "float64")), node.dtype(data))
            found = node.let(op.trunc_divide(total, node.number(divisor_override, data)))
        else:
            factor = node.number(size / divisor_override, data)
            found = node.let(op.multiply(means, factor))
        if not ceil_mode:
            return found
        pads = list(zip(windows.pads, windows.pads, strict=True))
        return inside_data(node, found, data, windows.strides, pads, windows.sizes)

    return in_batch(node, self, len(windows.sizes) + 2, compute)  # type: ignore[no-any-return]


# --- as many windows as asked for ----------------------------------------------------------------


@table(
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "_adaptive_avg_pool2d",
    "_adaptive_avg_pool3d",
)
def adaptive_avg_pool(node: Node, self: Expr, output_size: Any) -> Expr:
    count = axes_of(node)
    if _stays(node, self, output_size):
        return self
    sizes = per_axis(node, output_size, count, "output_size")

    def compute(data: Expr) -> Expr:
        return _ADAPTIVE_MEANS[count - 1](data, output_size=tuple(sizes))

    return in_batch(node, self, count + 2, compute)  # type: ignore[no-any-return]


def _stays(node: Node, data: Expr, output_size: Any) -> bool:
    """Whether every window is one element."""
    given = output_size if isinstance(output_size, list) else [output_size]
    extents = node.shape(data)[-axes_of(node) :]
    return len(given) == len(extents) and all(
        not isinstance(one, Expr) and dims.equal(one, own) is True
        for one, own in zip(given, extents, strict=True)
    )


@table("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(node: Node, self: Expr, output_size: Any) -> list[Expr]:
    """The maxima, and where they are in their channel."""
    count = axes_of(node)
    sizes = per_axis(node, output_size, count, "output_size")

    def compute(data: Expr) -> list[Expr]:
        maxima = _ADAPTIVE_MAXIMA[count - 1](data, output_size=tuple(sizes))
        return [node.let(maxima), _adaptive_positions(node, data, sizes)]

    return in_batch(node, self, count + 2, compute)  # type: ignore[no-any-return]


def _adaptive_positions(node: Node, data: Expr, sizes: Sequence[int]) -> Expr:
    if all(one == 1 for one in sizes):
        whole = volume(node, dimensions(node, data, 2))
        flat = to_shape(node, data, [*dimensions(node, data, 0, 2), whole])
        found = node.let(op.cast(op.argmax(flat, axis=(2,)), "int64"))
        return node.let(op.expand_dims(found, 2, num_newaxis=len(sizes)))
    extents = [
        node.static_extent(data, 2 + axis, "extents of adaptive windows")
        for axis in range(len(sizes))
    ]
    starts = [np.arange(n) * extent // n for n, extent in zip(sizes, extents, strict=True)]
    ends = [-(-(np.arange(n) + 1) * extent // n) for n, extent in zip(sizes, extents, strict=True)]
    widest = [int((end - start).max(initial=0)) for start, end in zip(starts, ends, strict=True)]
    # the last element of a shorter window again, which is never the first maximum
    places = [
        const(np.minimum(start[:, None] + np.arange(wide), end[:, None] - 1), "int64")
        for start, end, wide in zip(starts, ends, widest, strict=True)
    ]
    return of_windows(node, data, extents, places)[1]


def of_windows(
    node: Node, data: Expr, extents: Sequence[int], places: Sequence[Expr]
) -> tuple[Expr, Expr]:
    """The maxima of the windows with these places along each axis, (windows, elements), and where
    they are."""
    count = len(places)
    windows, position = data, None
    for axis, (extent, place) in enumerate(zip(extents, places, strict=True)):
        windows = node.let(op.take(windows, place, axis=2 + 2 * axis))
        own = node.let(place)
        for _ in range(2 * axis):
            own = node.let(op.expand_dims(own, 0))
        own = node.let(
            op.expand_dims(own, 2 * axis + 2, num_newaxis=2 * (count - 1 - axis))
            if axis < count - 1
            else own
        )
        position = own if position is None else node.let(position * int64(extent) + own)
    assert position is not None
    order = [*range(0, 2 * count, 2), *range(1, 2 * count, 2)]
    counts = [node.static_extent(place, 0, "windows") for place in places]
    elements = prod(node.static_extent(place, 1, "windows") for place in places)
    numbers = op.reshape(op.transpose(position, order), (prod(counts), elements))
    whole = op.transpose(windows, (0, 1, *(2 + axis for axis in order)))
    flat = to_shape(node, node.let(whole), [*dimensions(node, data, 0, 2), prod(counts), elements])
    first = node.let(op.cast(op.argmax(flat, axis=(3,)), "int64"))
    rows = int64((np.arange(prod(counts)) * elements).tolist())
    found = op.take(op.reshape(node.let(numbers), (-1,)), first + rows, axis=0)
    shape = [*dimensions(node, data, 0, 2), *counts]
    maxima = to_shape(node, node.let(op.max(flat, axis=(3,))), shape)
    return maxima, to_shape(node, node.let(found), shape)


@table("fractional_max_pool2d", "fractional_max_pool3d")
def fractional_max_pool(
    node: Node, self: Expr, kernel_size: Any, output_size: Any, random_samples: Expr
) -> list[Expr]:
    """Maxima of windows whose starts follow from a sample for each channel and axis."""
    count = axes_of(node)
    sizes = per_axis(node, kernel_size, count, "kernel_size")
    counts = per_axis(node, output_size, count, "output_size")

    def compute(data: Expr) -> list[Expr]:
        extents = [
            node.static_extent(data, 2 + axis, "extents of windows") for axis in range(count)
        ]
        position: Expr | None = None
        for axis in range(count):
            # samples count axes from the back for images, from the front for volumes
            place = count - 1 - axis if count == 2 else axis
            sample = node.let(op.take(random_samples, int64(place), axis=2))
            starts = _fractional(node, sample, extents[axis], sizes[axis], counts[axis])
            own = op.expand_dims(starts, 3) + int64([[[[*range(sizes[axis])]]]])
            front, back = 2 * axis, 2 * (count - 1 - axis)
            own = node.let(own)
            own = node.let(
                op.reshape(
                    own, (0, 0, *[1] * front, 0 if not front else -1, sizes[axis], *[1] * back)
                )
            )
            position = own if position is None else node.let(position * int64(extents[axis]) + own)
        assert position is not None
        order = [*range(2, 2 + 2 * count, 2), *range(3, 2 + 2 * count, 2)]
        ahead = dimensions(node, data, 0, 2)
        apart = node.let(op.transpose(position, (0, 1, *order)))
        places = to_shape(node, apart, [*ahead, prod(counts) * prod(sizes)])
        values = node.let(op.gather(to_shape(node, data, [*ahead, -1]), 2, places))
        shape = [*ahead, prod(counts), prod(sizes)]
        values, places = to_shape(node, values, shape), to_shape(node, places, shape)
        first = node.let(op.cast(op.argmax(values, axis=(3,), keepdims=True), "int64"))
        chosen = node.let(op.squeeze(op.gather(places, 3, first), (3,)))
        result = [*ahead, *counts]
        maxima = node.let(op.max(values, axis=(3,)))
        return [to_shape(node, maxima, result), to_shape(node, chosen, result)]

    return in_batch(node, self, count + 2, compute)  # type: ignore[no-any-return]


def _fractional(node: Node, sample: Expr, extent: int, size: int, count: int) -> Expr:
    """The starts of windows: (batch, channels, count)."""
    last = extent - size
    if count == 1:
        return node.let(op.expand_dims(op.cast(op.zeros_like(sample), "int64") + int64(last), 2))
    step = node.number(last / (count - 1), sample)
    numbers = node.let(const([[[*range(count)]]], node.dtype(sample)))
    steps = op.expand_dims(sample, 2)
    moved = op.cast((numbers + steps) * step, "int64") - op.cast(steps * step, "int64")
    is_last = node.let(const([[[place == count - 1 for place in range(count)]]], "bool"))
    return node.let(op.where(is_last, int64(last), moved))
