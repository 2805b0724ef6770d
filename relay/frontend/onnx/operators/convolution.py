"""Convolutions and transposed convolutions over any number of spatial axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod

from relay import op
from relay.frontend.common.broadcast import best_known, of_shape
from relay.frontend.common.builder import int64, static
from relay.frontend.common.windows import SAME, Pair, Windows, halves, unknown_window
from relay.frontend.onnx.computations.windows import automatic_padding, windows_of
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.immutable import frozen
from relay.ir.dims import Dim
from relay.ir.expr import Expr

table = Converters()

# by the number of spatial axes
_CONVOLUTIONS = (op.nn.conv1d, op.nn.conv2d, op.nn.conv3d)
_TRANSPOSED = (op.nn.conv1d_transpose, op.nn.conv2d_transpose, op.nn.conv3d_transpose)
MOST = 3  # spatial axes of an operator
MOST_PARTS = 1024  # convolutions that one over more axes is decomposed into


@table("Conv")
def conv(node: Node, data: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    data, weight, groups = operands(node, data, weight, inputs=1)
    windows = windows_of(node, data, node.shape(weight)[2:])
    shape = node.shape(data)
    if windows.pads is None:
        padded = windows.padded(node, data, node.number(0, data))
        found = convolved(node, padded, weight, windows, groups)
        declared = (shape[0], node.shape(weight)[0], *windows.same_counts(shape[2:]))
        found = node.declare(found, declared, node.dtype(data))
    else:
        found = convolved(node, data, weight, windows, groups)
    return found if bias is None else op.nn.bias_add(found, bias)


def operands(node: Node, data: Expr, weight: Expr, inputs: int) -> tuple[Expr, Expr, int]:
    """Data and weight, whose static dimensions refine each other's, and the number of groups;
    `inputs` is the axis of the weight that the channels of data correspond to."""
    shape, rank = node.shape(data), node.rank(data)
    if rank < 3:
        raise node.misfit("data has no spatial axes", "3 axes or more", str(node.type_of(data)))
    node.must_have_axes(weight, rank, "weights")
    groups = int(node.attribute("group", 1))
    if groups < 1:
        raise node.refused("there is one group at least", "1 or more", str(groups))
    kernel = list(node.shape(weight))
    if (given := node.attribute("kernel_shape")) is not None:
        fits = len(given) == rank - 2 and all(
            own == size or not isinstance(own, int)
            for own, size in zip(kernel[2:], given, strict=True)
        )
        if not fits:
            raise node.misfit(
                "`kernel_shape` does not fit", f"that of {node.type_of(weight)}", str(given)
            )
        kernel[2:] = given
    channels, per_group = shape[1], groups if inputs == 1 else 1
    if isinstance(kernel[inputs], int):
        channels = best_known([channels, kernel[inputs] * per_group])
    elif isinstance(channels, int):
        kernel[inputs] = channels // per_group
    data = of_shape(node, data, (shape[0], channels, *shape[2:]))
    return data, of_shape(node, weight, kernel), groups


def convolved(node: Node, data: Expr, weight: Expr, windows: Windows, groups: int) -> Expr:
    """The convolution; its operator pads where the padding is static."""
    count = len(windows.sizes)
    if count > MOST:
        return _convolved_in_parts(node, data, weight, windows, groups)
    outputs = node.shape(weight)[0]
    return _CONVOLUTIONS[count - 1](
        data,
        weight,
        strides=tuple(windows.strides),
        padding=windows.padding,
        dilation=tuple(windows.dilations),
        groups=groups,
        channels=outputs if isinstance(outputs, int) else None,
        kernel_size=static(windows.sizes),
    )


def _convolved_in_parts(
    node: Node, data: Expr, weight: Expr, windows: Windows, groups: int
) -> Expr:
    """A convolution over more than three axes: the sum, over the window positions along the first
    axes, of convolutions over the last three axes of slices of data."""
    count = len(windows.sizes)
    ahead = count - MOST
    outputs, _, *sizes = node.static_shape(weight, "weights")
    pads = list(zip(windows.padding[:count], windows.padding[count:], strict=True))
    front = node.let(op.nn.pad(data, [(0, 0), (0, 0), *pads[:ahead], *[(0, 0)] * MOST]))
    inputs, *extents = inner_extents(node, front)
    steps = list(zip(windows.strides, windows.dilations, strict=True))[:ahead]
    counts = [
        (extent - (size - 1) * dilation - 1) // stride + 1
        for extent, size, (stride, dilation) in zip(extents, sizes, steps, strict=False)
    ]
    if min(counts) < 1:
        raise node.refused("the window is larger than the padded input", found=str(extents))
    if prod(sizes[:ahead]) > MOST_PARTS:
        raise node.refused("the window is too large", f"up to {MOST_PARTS} parts", str(sizes))
    axes = tuple(range(2, 2 + ahead))
    into_batch = (0, *axes, 1, *range(2 + ahead, 2 + count))
    total: Expr | None = None
    for place in product(*map(range, sizes[:ahead])):
        starts = [at * dilation for at, (_, dilation) in zip(place, steps, strict=True)]
        strides = [stride for stride, _ in steps]
        ends = [
            start + (number - 1) * stride + 1
            for start, number, stride in zip(starts, counts, strides, strict=True)
        ]
        part = op.strided_slice(front, starts, ends, strides, axes=axes)
        images = op.reshape(op.transpose(part, into_batch), (-1, inputs, *extents[ahead:]))
        taps = op.strided_slice(weight, list(place), [at + 1 for at in place], axes=axes)
        kernel = node.let(op.squeeze(taps, axes))
        found = convolved(node, node.let(images), kernel, windows.part(ahead, count), groups)
        total = found if total is None else total + found
    assert total is not None
    total = node.let(total)
    apart = op.reshape(total, (-1, *counts, outputs, *inner_extents(node, total)[1:]))
    return op.transpose(apart, (0, 1 + ahead, *range(1, 1 + ahead), *range(2 + ahead, 2 + count)))


def inner_extents(node: Node, data: Expr) -> Sequence[int]:
    """The extents of all axes but the batch, which must not be dynamic."""
    found = static(node.shape(data)[1:])
    if found is None:
        message = f"more than {MOST} spatial axes must have extents that are numbers"
        raise node.refused(message, found=str(node.type_of(data)))
    return found


@table("ConvTranspose")
def conv_transpose(node: Node, data: Expr, weight: Expr, bias: Expr | None = None) -> Expr:
    data, weight, groups = operands(node, data, weight, inputs=0)
    spread = Spread.of(node, data, weight, groups)
    found = spread.apply(node, data, weight)
    if spread.wanted is not None:
        found = _center(node, found, spread.wanted, spread.automatic)
    return found if bias is None else op.nn.bias_add(found, bias)


@frozen
class Spread:
    """The strides, dilations and padding of a transposed convolution."""

    strides: Sequence[int]
    dilations: Sequence[int]
    groups: int
    automatic: str
    pads: Sequence[Pair]  # cropped before and after each axis
    more: Sequence[int]  # the output padding of each axis
    wanted: Sequence[int] | None = None  # the output extents, where the padding is dynamic

    @classmethod
    def of(cls, node: Node, data: Expr, weight: Expr, groups: int) -> Spread:
        """Reads the attributes of a node."""
        extents, sizes = node.shape(data)[2:], node.shape(weight)[2:]
        count = len(sizes)
        strides = node.numbers("strides", count, 1)
        dilations = node.numbers("dilations", count, 1)
        more = node.numbers("output_padding", count)
        automatic = automatic_padding(node)
        found = cls(strides, dilations, groups, automatic, [(0, 0)] * count, more)
        wanted: Sequence[Dim] | None = None
        if (given := node.attribute("output_shape")) is not None:
            # some exporters write the batch and the channels too
            wanted = given[2:] if len(given) == count + 2 else given
            if len(wanted) != count:
                raise node.misfit("`output_shape` does not fit", f"{count} sizes", str(given))
        elif automatic in SAME:
            wanted = [x * stride for x, stride in zip(extents, strides, strict=True)]
        if wanted is None:
            widths = [0] * (2 * count) if automatic == "VALID" else node.numbers("pads", 2 * count)
            return replace(found, pads=list(zip(widths[:count], widths[count:], strict=True)))
        return found._reaching(node, extents, sizes, wanted)

    def _reaching(
        self, node: Node, extents: Sequence[Dim], sizes: Sequence[Dim], wanted: Sequence[Dim]
    ) -> Spread:
        """Pads so that the output has the given extents; an excess is cropped on both sides."""
        pads, more = [], []
        for extent, size, end, stride, step, longer in zip(
            extents, sizes, wanted, self.strides, self.dilations, self.more, strict=True
        ):
            reach = (extent - 1) * stride + (longer + 1)
            reach = reach + (size - 1) * step
            total = reach - end
            if not isinstance(total, int):
                if (numbers := static(wanted)) is None:
                    raise unknown_window(node)
                return replace(self, wanted=numbers)
            pads.append(halves(max(total, 0), self.automatic))
            more.append(longer + max(-total, 0))
        return replace(self, pads=pads, more=more)

    def apply(self, node: Node, data: Expr, weight: Expr) -> Expr:
        """The transposed convolution."""
        count = len(self.strides)
        if count > MOST:
            return self._as_convolution(node, data, weight)
        return _TRANSPOSED[count - 1](
            data,
            weight,
            strides=tuple(self.strides),
            padding=(*(before for before, _ in self.pads), *(after for _, after in self.pads)),
            dilation=tuple(self.dilations),
            groups=self.groups,
            kernel_size=static(node.shape(weight)[2:]),
            output_padding=tuple(self.more),
        )

    def _as_convolution(self, node: Node, data: Expr, weight: Expr) -> Expr:
        """The convolution of data with zeros between its elements by flipped windows."""
        inputs, each, *sizes = node.static_shape(weight, "weights")
        ends = [(size - 1) * step for size, step in zip(sizes, self.dilations, strict=True)]
        widths = [
            (end - before, end - after + longer)
            for end, (before, after), longer in zip(ends, self.pads, self.more, strict=True)
        ]
        apart = op.nn.dilate(data, strides=(1, 1, *self.strides))
        framed = node.let(op.nn.pad(apart, [(0, 0), (0, 0), *widths]))
        rows = op.reshape(weight, (self.groups, inputs // self.groups, each, *sizes))
        order = (0, 2, 1, *range(3, 3 + len(sizes)))
        shape = (self.groups * each, inputs // self.groups, *sizes)
        kernel = op.reshape(op.transpose(rows, order), shape)
        for axis in range(2, 2 + len(sizes)):
            kernel = op.reverse(kernel, axis)
        ones = [1] * len(sizes)
        windows = Windows(sizes, ones, self.dilations, "VALID", [(0, 0)] * len(sizes))
        return convolved(node, framed, node.let(kernel), windows, self.groups)


def _center(node: Node, data: Expr, wanted: Sequence[int], automatic: str) -> Expr:
    """Crops data around its center to the given extents, or pads it at the end."""
    data, count = node.let(data), len(wanted)
    shape = node.shape(data)
    extents = node.extents(data, 2, 2 + count)
    total = node.let(extents - int64(list(wanted)))
    zero = int64(0)
    cut = node.let(op.maximum(total, zero))
    half = op.floor_divide(cut, int64(2))
    first = half if automatic == "SAME_UPPER" else cut - half
    missing = op.maximum(-total, zero)
    axes, sizes = tuple(range(2, 2 + count)), op.minimum(extents, int64(list(wanted)))
    inner = op.strided_slice(data, first, sizes, axes=axes, slice_mode="size")
    kept = node.declare(inner, (*shape[:2], *[None] * count), node.dtype(data))
    behind = op.stack([op.zeros_like(missing), missing], axis=1)
    widths = op.concatenate([int64([[0, 0], [0, 0]]), behind], axis=0)
    return node.declare(
        op.nn.pad(kept, widths, node.number(0, data)), (*shape[:2], *wanted), node.dtype(data)
    )
