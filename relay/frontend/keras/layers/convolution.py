"""Convolutions over one, two and three axes: plain, depthwise, separable and transposed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from relay import op
from relay.frontend.common.windows import Windows
from relay.frontend.keras.activations import activated
from relay.frontend.keras.converters import Table
from relay.frontend.keras.layers.core import biased
from relay.frontend.keras.node import Node
from relay.frontend.keras.slots import Slot, bias, kernel_bias
from relay.ir.dims import Dim
from relay.ir.expr import Expr

table = Table()

SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
CONVOLUTIONS = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}
TRANSPOSED = {1: op.nn.conv1d_transpose, 2: op.nn.conv2d_transpose, 3: op.nn.conv3d_transpose}


def layout_of(rank: int, channels_last: bool) -> str:
    """The layout of data with that number of spatial axes."""
    return f"N{SPATIAL[rank]}C" if channels_last else f"NC{SPATIAL[rank]}"


def windows_of(
    node: Node,
    data: Expr,
    sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str,
    channels_last: bool,
) -> Windows:
    """Sliding windows with the padding of that name; that of `same` may be dynamic."""
    if min(*sizes, *strides, *dilations) < 1:
        given = f"{[*sizes]}, {[*strides]}, {[*dilations]}"
        raise node.refused("sizes, strides and dilations are positive", found=given)
    first = 1 if channels_last else 2
    found = Windows(sizes, strides, dilations, "SAME_UPPER", None, first)
    match padding:
        case "valid":
            return found.with_pads([(0, 0)] * len(sizes))
        case "causal" if len(sizes) == 1:
            return found.with_pads([(dilations[0] * (sizes[0] - 1), 0)])
        case "same":
            return found.same(node.shape(data))
    raise node.refused("there is no such padding", "valid, same or causal", padding)


def convolved(
    node: Node,
    data: Expr,
    weight: Expr,
    windows: Windows,
    groups: int,
    channels: int,
    kernel_layout: str,
    channels_last: bool,
) -> Expr:
    """A convolution, whose result is declared where its padding is dynamic."""
    rank = len(windows.sizes)
    shape = node.shape(data)
    if windows.pads is None:
        data = windows.padded(node, data, node.number(0, data))
    sums = CONVOLUTIONS[rank](
        data,
        weight,
        strides=tuple(windows.strides),
        padding=windows.padding,
        dilation=tuple(windows.dilations),
        groups=groups,
        channels=channels,
        kernel_size=tuple(windows.sizes),
        data_layout=layout_of(rank, channels_last),
        kernel_layout=kernel_layout,
    )
    found = node.let(sums)
    if windows.pads is not None:
        return found
    counts = windows.same_counts(windows.extents(shape))
    return declared(node, found, shape[0], counts, channels, channels_last)


def declared(
    node: Node, value: Expr, batch: Dim, counts: Sequence[Dim], channels: Dim, last: bool
) -> Expr:
    """A result with the sizes that its padding makes."""
    shape = (batch, *counts, channels) if last else (batch, channels, *counts)
    return node.declare(value, shape, node.dtype(value))


def channels_of(node: Node, data: Expr, last: bool) -> int:
    return node.static_extent(data, -1 if last else 1, "how many channels there are")


@table("Conv1D", "Conv2D", "Conv3D", "Convolution1D", "Convolution2D", "Convolution3D",
       variables=kernel_bias, keeps_mask=False)  # fmt: skip
def convolution(node: Node, inputs: Expr) -> Expr:
    rank, last = rank_of(node, inputs), node.channels_last
    kernel = node.needed("kernel")
    node.must_have_axes(kernel, rank + 2, "kernels")
    *sizes, depth, units = node.static_shape(kernel, "the kernel")
    channels = channels_of(node, inputs, last)
    if depth < 1 or channels % depth:
        raise node.refused(
            "the kernel does not fit the channels", f"a divisor of {channels}", f"{depth}"
        )
    windows = _windows(node, inputs, sizes, last)
    groups = channels // depth
    kernel_layout = f"{SPATIAL[rank]}IO"
    found = convolved(node, inputs, kernel, windows, groups, units, kernel_layout, last)
    return _finished(node, found, last)


def rank_of(node: Node, inputs: Expr) -> int:
    """How many spatial axes the layer has, by the rank of its input."""
    rank = node.rank(inputs) - 2
    named = next((int(one) for one in node.operator if one.isdigit()), rank)
    if rank != named or rank not in SPATIAL:
        raise node.refused("the input has another rank", f"{named + 2}", f"{rank + 2}")
    return rank


def _windows(node: Node, data: Expr, sizes: Sequence[int], last: bool) -> Windows:
    rank = len(sizes)
    strides, dilations = (node.whole_numbers(one, rank) for one in ("strides", "dilation_rate"))
    padding = node.option("padding", "valid").lower()
    return windows_of(node, data, sizes, strides, dilations, padding, last)


def _finished(node: Node, found: Expr, last: bool) -> Expr:
    return activated(node, biased(node, found, node.weight("bias"), -1 if last else 1))


def _depthwise_slots(config: Mapping[str, Any]) -> Sequence[Slot]:
    return (Slot("kernel"), *bias(config))


@table("DepthwiseConv1D", "DepthwiseConv2D", variables=_depthwise_slots)
def depthwise(node: Node, inputs: Expr) -> Expr:
    rank_of(node, inputs)
    last = node.channels_last
    found = by_channel(node, inputs, node.needed("kernel"), last, None)
    return _finished(node, found, last)


def by_channel(node: Node, data: Expr, kernel: Expr, last: bool, windows: Windows | None) -> Expr:
    """A depthwise convolution; the kernel is (sizes…, channels, multiplier)."""
    rank = node.rank(data) - 2
    node.must_have_axes(kernel, rank + 2, "kernels")
    *sizes, channels, multiplier = node.static_shape(kernel, "the kernel")
    if channels != channels_of(node, data, last):
        expected = str(channels_of(node, data, last))
        raise node.refused("the kernel does not fit the channels", expected, f"{channels}")
    if windows is None:
        windows = _windows(node, data, sizes, last)
    units = channels * multiplier
    apart = node.let(op.reshape(kernel, (*sizes, 1, units)))
    layout = f"{SPATIAL[rank]}IO"
    return convolved(node, data, apart, windows, channels, units, layout, last)


def _separable_slots(config: Mapping[str, Any]) -> Sequence[Slot]:
    return (Slot("depthwise_kernel"), Slot("pointwise_kernel"), *bias(config))


@table("SeparableConv1D", "SeparableConv2D", "SeparableConvolution1D", "SeparableConvolution2D",
       variables=_separable_slots)  # fmt: skip
def separable(node: Node, inputs: Expr) -> Expr:
    rank_of(node, inputs)
    last = node.channels_last
    found = by_channel(node, inputs, node.needed("depthwise_kernel"), last, None)
    return _finished(node, pointwise(node, found, node.needed("pointwise_kernel"), last), last)


def pointwise(node: Node, data: Expr, kernel: Expr, last: bool) -> Expr:
    """A convolution with windows of one element."""
    rank = node.rank(data) - 2
    ones = [1] * rank
    windows = windows_of(node, data, ones, ones, ones, "valid", last)
    units = node.static_extent(kernel, -1, "the units of the layer")
    return convolved(node, data, kernel, windows, 1, units, f"{SPATIAL[rank]}IO", last)


# --- transposed ----------------------------------------------------------------------------------


@table("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose", "Convolution1DTranspose",
       "Convolution2DTranspose", "Convolution3DTranspose", variables=kernel_bias)  # fmt: skip
def transposed(node: Node, inputs: Expr) -> Expr:
    rank, last = rank_of(node, inputs), node.channels_last
    kernel = node.needed("kernel")
    strides, dilations = (node.whole_numbers(one, rank) for one in ("strides", "dilation_rate"))
    more = node.config.get("output_padding")
    extra = None if more is None else node.whole_numbers("output_padding", rank)
    padding = node.option("padding", "valid").lower()
    found = spread(node, inputs, kernel, strides, dilations, padding, extra, last)
    return _finished(node, found, last)


def spread(
    node: Node,
    data: Expr,
    kernel: Expr,
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str,
    extra: Sequence[int] | None,
    last: bool,
) -> Expr:
    """A transposed convolution; the kernel is (sizes…, outputs, inputs).

    Steps between elements of the kernel are zeros in it.
    """
    rank = node.rank(data) - 2
    node.must_have_axes(kernel, rank + 2, "kernels")
    *sizes, units, _ = node.static_shape(kernel, "the kernel")
    if padding not in ("valid", "same"):
        raise node.refused("there is no such padding", "valid or same", padding)
    if max(dilations) > 1:
        kernel = node.let(op.nn.dilate(kernel, (*dilations, 1, 1)))
        sizes = [(size - 1) * step + 1 for size, step in zip(sizes, dilations, strict=True)]
    before, after, rest = [], [], []
    for place, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        own = None if extra is None else extra[place]
        cut_before, cut_after, more = _cut(size, stride, padding == "same", own)
        before.append(cut_before)
        after.append(cut_after)
        rest.append(more)
    found = node.let(
        TRANSPOSED[rank](
            data,
            kernel,
            strides=tuple(strides),
            padding=(*before, *after),
            output_padding=tuple(
                min(one, step - 1) for one, step in zip(rest, strides, strict=True)
            ),
            channels=units,
            kernel_size=tuple(sizes),
            data_layout=layout_of(rank, last),
            kernel_layout=f"{SPATIAL[rank]}OI",
        )
    )
    missing = [max(0, one - step + 1) for one, step in zip(rest, strides, strict=True)]
    if any(missing):
        pads = [(0, one) for one in missing]
        whole = [(0, 0), *pads, (0, 0)] if last else [(0, 0), (0, 0), *pads]
        found = node.let(op.nn.pad(found, whole, node.number(0, found)))
    return found


def _cut(size: int, stride: int, is_same: bool, extra: int | None) -> tuple[int, int, int]:
    """What is cut off before and after an axis of all `(n - 1) * stride + size` sums, and how many
    zeros come after it."""
    if not is_same:
        more = max(size, stride) - size if extra is None else extra
        return 0, 0, more
    if extra is None:
        total = size - stride  # the result has `n * stride` elements
        before = max(total, 0) // 2
    else:
        total = size - size % 2 - extra
        before = max(total, 0) // 2
    rest = total - before
    return before, max(rest, 0), max(-rest, 0)
