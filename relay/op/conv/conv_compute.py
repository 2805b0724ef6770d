"""Convolutions as tensor expressions, in any layout.

    pad[n, c, y, x]    =  data[n, c, y - top, x - left], or 0
    conv[n, o, y, x]   =  sum(pad[n, c, y * s + kh * d, x * s + kw * d] * weight[o, c, kh, kw])

The sum runs over the input channels of a group and the window. With groups the sum has an axis of
groups, and a last stage merges it with the channels; depthwise, the output channels are divided
instead and there is no sum over channels.

A transposed convolution is a convolution of data with zeros between its elements. To avoid products
with these zeros it is computed by phases: results a stride apart use the same elements of the
window, so each phase is a channel of a convolution of data itself,

    conv[n, y, r, o]   =  sum(pad[n, c, y + k] * weight[c, o, r + (last - k) * s])
    y[n, o, y * s + r] =  conv[n, y, r, o]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from relay import te
from relay.immutable import frozen
from relay.op.building import views
from relay.op.building.contraction import converted, product
from relay.op.building.layouts import Layout, read_layout
from relay.op.building.scalars import wide
from relay.op.building.window import KernelAttrs, pad_pairs

BLOCKS = (16, 8, 4)  # of channels, widest vectors first


@frozen
class Output:
    """An output channel: its group, its index in the group, and its index in all."""

    group: views.Digits
    place: views.Digits
    whole: views.Digits


Taps = Mapping[str, te.Expr]  # a position in the window
# The element of data in the window of a place of the result, in an input channel.
Window = Callable[[views.LayoutIndex, views.Digits, Taps], te.Expr]


@frozen
class Filter:
    """A weight: its element for an output channel, an input channel of the group and a position in
    the window; the number and the blocks of input channels of a group; the extents of the
    window."""

    at: Callable[[Output, views.Digits, Taps], te.Expr]
    inputs: te.Expr
    blocks: Sequence[int]
    window: Mapping[str, te.Expr]


def convolution(data: te.Tensor, weight: te.Tensor, out: te.Spec, known: KernelAttrs) -> te.Tensor:
    """The convolution of data with weight."""
    spatial, groups = known.spatial, known.groups
    pads = dict(zip(spatial, pad_pairs(known.padding, known.axes), strict=True))
    images = views.padded(views.view(data, known.data_layout), pads)
    kernel = views.view(weight, known.kernel_layout)
    is_depthwise = _is_depthwise(kernel, images, groups)
    if not isinstance(is_depthwise, te.Const):
        taps = _either_kernel(is_depthwise, kernel, spatial)
    elif is_depthwise.value:
        taps = _depthwise_kernel(kernel, spatial)
    else:
        taps = plain_kernel(kernel, spatial, images.layout.blocks("C"))
    layout = read_layout(known.out_layout or known.data_layout)
    return contract(windows(images, known.strides, known.dilation), taps, out, layout, groups)


def plain_kernel(kernel: views.View, spatial: str, blocks: Sequence[int] = ()) -> Filter:
    """A weight (O, I / groups, window), for data with these blocks of channels."""
    return Filter(
        lambda output, each, taps: kernel.at(O=output.whole, I=each, **taps),
        kernel.extent("I"),
        views.common_blocks(blocks, kernel.layout.blocks("I")),
        {letter: kernel.extent(letter) for letter in spatial},
    )


def _depthwise_kernel(kernel: views.View, spatial: str) -> Filter:
    """A weight (channels, multiplier, …)."""
    return Filter(
        lambda output, _, taps: kernel.at(O=output.group, I=output.place, **taps),
        te.index(1),
        (),
        {letter: kernel.extent(letter) for letter in spatial},
    )


def _either_kernel(is_depthwise: te.Expr, kernel: views.View, spatial: str) -> Filter:
    """A weight that is depthwise or not, depending on dynamic dimensions."""

    def at(output: Output, each: views.Digits, taps: Taps) -> te.Expr:
        row = te.select(is_depthwise, output.group.whole, output.whole.whole)
        column = te.select(is_depthwise, output.place.whole, each.whole)
        return kernel.at(O=row, I=column, **taps)

    inputs = te.select(is_depthwise, te.index(1), kernel.extent("I"))
    return Filter(at, inputs, (), {letter: kernel.extent(letter) for letter in spatial})


def _is_depthwise(kernel: views.View, images: views.View, groups: int) -> te.Expr:
    """Whether a weight is (channels, multiplier, …), with a group per input channel."""
    if groups == 1:
        return te.const(False, "bool")
    return te.every(
        te.not_equal(kernel.extent("I"), 1),
        te.equal(kernel.extent("O"), groups),
        te.equal(images.extent("C"), groups),
    )


def windows(data: views.View, strides: Sequence[int], dilation: Sequence[int]) -> Window:
    """The windows of padded data."""

    def element(place: views.LayoutIndex, channel: views.Digits, taps: Taps) -> te.Expr:
        inside = {
            letter: place[letter].whole * stride + tap * step
            for (letter, tap), stride, step in zip(taps.items(), strides, dilation, strict=True)
        }
        return data.at(N=place["N"], C=channel, **inside)

    return element


def transposed_convolution(
    data: te.Tensor, weight: te.Tensor, out: te.Spec, known: KernelAttrs
) -> te.Tensor:
    """Data with its elements `strides` apart, convolved with the flipped window."""
    spatial, groups = known.spatial, known.groups
    strides, dilation, pads = known.strides, known.dilation, pad_pairs(known.padding, known.axes)
    images, kernel = views.view(data, known.data_layout), views.view(weight, known.kernel_layout)
    layout = read_layout(known.out_layout or known.data_layout)
    if max(strides) > 1 and max(dilation) == 1:
        cuts = [before for before, _ in pads]
        steps = dict(zip(spatial, zip(strides, cuts, strict=True), strict=True))
        return _by_phases(images, kernel, out, layout, steps, groups)
    window = {letter: kernel.extent(letter) for letter in spatial}
    reach = {
        letter: (window[letter] - 1) * step for letter, step in zip(spatial, dilation, strict=True)
    }
    spread = views.laid_out(
        images,
        {letter: views.extent_in(layout, out.shape, letter) + reach[letter] for letter in spatial},
        {letter: reach[letter] - cut for letter, (cut, _) in zip(spatial, pads, strict=True)},
        dict(zip(spatial, strides, strict=True)),
    )

    def turned(output: Output, each: views.Digits, taps: Taps) -> te.Expr:
        places = {letter: window[letter] - 1 - tap for letter, tap in taps.items()}
        return kernel.at(I=output.group.then(each), O=output.place, **places)

    blocks = views.common_blocks(images.layout.blocks("C"), kernel.layout.blocks("I"))
    every = windows(spread, (1,) * len(spatial), dilation)
    taps = Filter(turned, kernel.extent("I") // groups, blocks, window)
    return contract(every, taps, out, layout, groups)


def _by_phases(
    images: views.View,
    kernel: views.View,
    out: te.Spec,
    layout: Layout,
    steps: Mapping[str, tuple[int, int]],
    groups: int,
) -> te.Tensor:
    """A transposed convolution as a convolution with a channel for each output channel and phase.
    `steps`: the stride of each axis, and what is cropped before it."""
    extents = {letter: views.extent_in(layout, out.shape, letter) for letter in layout.letters}
    each = extents["C"] // groups
    phases = prod(stride for stride, _ in steps.values())
    taps, grid, starts = {}, {}, {}
    for letter, (stride, cut) in steps.items():
        taps[letter] = (kernel.extent(letter) + (stride - 1)) // stride
        grid[letter] = (extents[letter] + (cut % stride + stride - 1)) // stride
        starts[letter] = taps[letter] - (1 + cut // stride)
    spread = views.laid_out(images, {one: grid[one] + (taps[one] - 1) for one in steps}, starts)

    def turned(output: Output, inputs: views.Digits, window: Taps) -> te.Expr:
        phase, channel = output.place.divided(each)
        number, places, inside = phase.whole, {}, []
        for letter, (stride, _) in reversed(list(steps.items())):
            places[letter] = (taps[letter] - 1 - window[letter]) * stride + number % stride
            number = number // stride
            if te.equal(kernel.extent(letter) % stride, 0) != te.const(True, "bool"):
                inside.append(places[letter] < kernel.extent(letter))
        value = kernel.at(I=output.group.then(inputs), O=channel, **places)
        return te.select(te.every(*inside), value, 0) if inside else value

    stage = _phase_layout(layout, "".join(steps), each)
    shape = views.shape_in(stage, {**extents, **grid, "C": extents["C"] * phases})
    blocks = views.common_blocks(images.layout.blocks("C"), kernel.layout.blocks("I"))
    every = windows(spread, (1,) * len(steps), (1,) * len(steps))
    window = Filter(turned, kernel.extent("I") // groups, blocks, taps)
    sums = contract(every, window, te.Spec(shape, out.dtype), stage, groups)

    def element(place: views.LayoutIndex) -> te.Expr:
        group, channel = place["C"].divided(each) if groups > 1 else (views.Digits(), place["C"])
        where, number = {"N": place["N"]}, te.index(0)
        for letter, (stride, cut) in steps.items():
            position = place[letter].whole + cut % stride
            where[letter] = views.along(position // stride, grid[letter])
            number = number * stride + position % stride
        where["C"] = group.then(views.along(number, phases)).then(channel)
        return sums[views.indices_in(stage, where)]

    return views.fill(out.shape, layout, element, "result")


def _phase_layout(layout: Layout, spatial: str, each: te.Expr) -> Layout:
    """Vectors run along channels: in blocks, from which a channels-first result is gathered
    locally, or channels last."""
    if layout.axes[-1] != ("C", 0):
        for size in layout.blocks("C") or BLOCKS:
            if te.equal(each % size, 0) == te.const(True, "bool"):
                return read_layout(f"NC{spatial}{size}c")
    return read_layout(f"N{spatial}C")


def contract(
    window: Window, kernel: Filter, out: te.Spec, layout: Layout, groups: int
) -> te.Tensor:
    """The contraction of windows with a weight."""
    total = wide(out.dtype)
    each = views.extent_in(layout, out.shape, "C") // groups
    is_depthwise = groups > 1 and kernel.inputs == te.index(1)
    stage, shape = layout, out.shape
    if groups > 1 and not is_depthwise:
        stage, shape = with_groups(layout, out.shape, "C", groups)
    inputs = views.Digits()
    channels: tuple[te.Axis, ...] = ()
    if not is_depthwise:
        # a group may have part of a block
        whole = groups == 1 or isinstance(kernel.inputs, te.Const)
        inputs, channels = views.running(kernel.inputs, kernel.blocks if whole else (), "c")
    taps = {letter: te.axis(size, f"k{letter.lower()}") for letter, size in kernel.window.items()}

    def output(place: views.LayoutIndex) -> Output:
        if "G" in place:
            return Output(place["G"], place["C"], place["G"].then(place["C"]))
        if is_depthwise:
            return Output(*place["C"].divided(each), place["C"])
        return Output(views.Digits(), place["C"], place["C"])

    def element(place: views.LayoutIndex) -> te.Expr:
        channel = output(place)
        factors = window(place, channel.group.then(inputs), taps), kernel.at(channel, inputs, taps)
        return te.sum(product(factors, total), (*channels, *taps.values()))

    return joined(views.fill(shape, stage, element, "conv"), stage, out, layout, "C", each)


def with_groups(
    layout: Layout, shape: Sequence[te.Expr], letter: str, groups: int
) -> tuple[Layout, tuple[te.Expr, ...]]:
    """The layout and shape with an axis G of groups before an axis of channels."""
    extents = {name: views.extent_in(layout, shape, name) for name in layout.letters}
    each = extents[letter] // groups
    are_even = te.equal(each % prod(layout.blocks(letter)), 0) == te.const(True, "bool")
    stage = views.with_axis_before(
        layout if are_even else views.unblocked_axes(layout, letter), letter, "G"
    )
    return stage, views.shape_in(stage, extents | {letter: each, "G": te.index(groups)})


def joined(
    sums: te.Tensor, stage: Layout, out: te.Spec, layout: Layout, letter: str, each: te.Expr
) -> te.Tensor:
    """The result of sums that may have an axis of groups and a wider element type."""
    if stage == layout:
        return converted(sums, out.dtype)

    def element(place: views.LayoutIndex) -> te.Expr:
        group, inside = place[letter].divided(each)
        where = {**place, "G": group, letter: inside}
        return te.cast(sums[views.indices_in(stage, where)], out.dtype)

    return views.fill(out.shape, layout, element, "result")
