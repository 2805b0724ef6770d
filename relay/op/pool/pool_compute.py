"""Pooling as tensor expressions: a reduction over the window of each element.

pad[n, c, y]    =  data[n, c, y - before], or padding: the lowest value, or 0
pool[n, c, y]   =  max(pad[n, c, y * stride + k * step])
mean[n, c, y]   =  sum(pad[n, c, y * stride + k * step]) / the number of elements in data
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from relay import dtypes, te
from relay.immutable import frozen
from relay.op.building import elements, views
from relay.op.building.contraction import converted
from relay.op.building.layouts import Layout, read_layout
from relay.op.building.scalars import divide, wide
from relay.op.building.window import AvgPoolAttrs, PoolAttrs, pad_pairs

# --- sliding windows ----------------------------------------------------------------------------


@frozen
class Slide:
    """The sliding windows of an axis."""

    size: int
    stride: int
    step: int
    before: int
    after: int
    ceil_mode: bool  # whether the last window may end beyond the padding

    def start(self, position: te.Expr) -> te.Expr:
        """The start of a window relative to data."""
        return position * self.stride - self.before

    def counted(self, position: te.Expr, positions: te.Expr, extent: te.Expr) -> te.Expr:
        """The number of elements of a window in data of that extent."""
        start = self.start(position)
        first, last = te.index(0), te.index(self.size)
        if self.before:
            first = te.maximum(-(start // self.step), 0)
        may_end_outside = bool(self.after) or self.ceil_mode
        if may_end_outside and not _is_true(self.reach(positions) <= extent):
            last = te.minimum((extent - 1 - start) // self.step + 1, self.size)
        return te.maximum(last - first, 0)

    def reach(self, positions: te.Expr) -> te.Expr:
        """The end of the last window."""
        return self.start(positions - 1) + self.reach_of_one

    @property
    def reach_of_one(self) -> int:
        """The elements from the start of a window to its end."""
        return (self.size - 1) * self.step + 1


def slides(known: PoolAttrs) -> dict[str, Slide]:
    """The sliding windows of each spatial axis."""
    pads = pad_pairs(known.padding, known.axes)
    return {
        letter: Slide(size, stride, step, before, after, known.ceil_mode)
        for letter, size, stride, step, (before, after) in zip(
            known.spatial, known.pool_size, known.strides, known.dilation, pads, strict=True
        )
    }


def _is_true(condition: te.Expr) -> bool:
    return isinstance(condition, te.Const) and bool(condition.value)


def window_elements(
    data: views.View, axes: Mapping[str, Slide], out: te.Spec, target: Layout, value: te.Scalar
) -> tuple[Callable[[views.LayoutIndex], te.Expr], tuple[te.Axis, ...]]:
    """The elements of the window of a place, and the reduction axes over it; padding is `value`."""
    extents = {}
    for letter, slide in axes.items():
        extents[letter] = data.extent(letter) + (slide.before + slide.after)
        if slide.ceil_mode:
            end = slide.reach(views.extent_in(target, out.shape, letter)) + slide.before
            extents[letter] = te.maximum(extents[letter], end)
    starts = {letter: slide.before for letter, slide in axes.items()}
    images = views.laid_out(data, extents, starts, value=value)
    taps = _taps(axes)

    def element(place: views.LayoutIndex) -> te.Expr:
        inside = {
            letter: place[letter].whole * slide.stride + taps[letter] * slide.step
            for letter, slide in axes.items()
        }
        return images.at(N=place["N"], C=place["C"], **inside)

    return element, tuple(taps.values())


def max_pool(data: te.Tensor, out: te.Spec, known: PoolAttrs) -> te.Tensor:
    """The maximum of each window."""
    axes, target = slides(known), read_layout(known.out_layout or known.layout)
    lowest = te.lowest(data.dtype)
    element, taps = window_elements(views.view(data, known.layout), axes, out, target, lowest)
    return views.fill(out.shape, target, lambda place: te.max(element(place), taps), "pool")


def avg_pool(data: te.Tensor, out: te.Spec, known: AvgPoolAttrs) -> te.Tensor:
    """The mean of each window."""
    axes, images = slides(known), views.view(data, known.layout)
    target = read_layout(known.out_layout or known.layout)
    element, taps = window_elements(images, axes, out, target, 0)
    dtype = sum_dtype(data.dtype, prod(slide.size for slide in axes.values()))

    def mean(place: views.LayoutIndex) -> te.Expr:
        total = te.sum(te.cast(element(place), dtype), taps)
        count = counted(images, axes, place, out.shape, target, known.count_include_pad)
        return te.cast(divide(total, te.cast(count, dtype)), out.dtype)

    return views.fill(out.shape, target, mean, "mean")


def counted(
    data: views.View,
    axes: Mapping[str, Slide],
    place: views.LayoutIndex,
    shape: Sequence[te.Expr],
    target: Layout,
    count_include_pad: bool,
) -> te.Expr:
    """The number of elements that count in the window of a place; at least 1."""
    total: te.Expr = te.index(1)
    for letter, slide in axes.items():
        extent, positions = data.extent(letter), views.extent_in(target, shape, letter)
        if count_include_pad:
            extent = extent + (slide.before + slide.after)
            slide = replace(slide, before=0, after=0)
        total = total * slide.counted(place[letter].whole, positions, extent)
    return te.maximum(total, 1)


def sum_dtype(dtype: str, count: int | None) -> str:
    """The type to add up `count` elements in without overflow, as far as possible."""
    if dtypes.is_float(dtype):
        return wide(dtype)
    if count is not None and count <= 2**15 and te.width(dtype) <= 16:
        return "int32"
    return "uint64" if dtype in dtypes.UNSIGNED else "int64"


# --- adaptive windows ------------------------------------------------------------------------


@frozen
class Segments:
    """Window i of `count` over an axis reaches from floor(i * x / count) to
    ceil((i + 1) * x / count)."""

    extent: te.Expr
    count: te.Expr

    @property
    def even(self) -> te.Expr | None:
        """The length of all windows, if it is known to be the same without overlap."""
        if self.extent == self.count:
            return te.index(1)
        is_even = te.equal(self.extent % self.count, 0) == te.const(True, "bool")
        return self.extent // self.count if is_even else None

    @property
    def longest(self) -> te.Expr:
        """An upper bound of the lengths."""
        length = (self.extent + self.count - 1) // self.count + 1
        return te.minimum(length, self.extent) if self.even is None else self.even

    def start(self, position: te.Expr) -> te.Expr:
        if self.count == te.index(1):
            return te.index(0)
        even = self.even
        return position * self.extent // self.count if even is None else position * even

    def length(self, position: te.Expr) -> te.Expr:
        if (even := self.even) is not None:
            return even
        end = ((position + 1) * self.extent + self.count - 1) // self.count
        return end - self.start(position)


def _segments(
    data: te.Tensor, out: te.Spec, known: Any, value: te.Scalar
) -> tuple[
    Callable[[views.LayoutIndex], te.Expr], dict[str, Segments], tuple[te.Axis, ...], Layout
]:
    """The elements of the window of a place, padded by `value`; the segments of each axis, the
    reduction axes, and the layout of the result."""
    images, target = views.view(data, known.layout), read_layout(known.out_layout or known.layout)
    cuts = {
        letter: Segments(images.extent(letter), views.extent_in(target, out.shape, letter))
        for letter in known.spatial
    }
    taps = {letter: te.axis(cut.longest, f"k{letter.lower()}") for letter, cut in cuts.items()}

    def element(place: views.LayoutIndex) -> te.Expr:
        inside = [
            taps[letter] < cut.length(place[letter].whole)
            for letter, cut in cuts.items()
            if cut.even is None
        ]
        where = {
            letter: cut.start(place[letter].whole) + taps[letter] for letter, cut in cuts.items()
        }
        return te.select(te.every(*inside), images.at(N=place["N"], C=place["C"], **where), value)

    return element, cuts, tuple(taps.values()), target


def adaptive_max_pool(data: te.Tensor, out: te.Spec, known: Any) -> te.Tensor:
    """The maximum of each window."""
    lowest = te.lowest(data.dtype)
    element, _cuts, taps, target = _segments(data, out, known, lowest)
    return views.fill(out.shape, target, lambda place: te.max(element(place), taps), "pool")


def adaptive_avg_pool(data: te.Tensor, out: te.Spec, known: Any) -> te.Tensor:
    """The mean of each window."""
    element, cuts, taps, target = _segments(data, out, known, 0)
    most = elements.size([cut.longest for cut in cuts.values()])
    dtype = sum_dtype(data.dtype, int(most.value) if isinstance(most, te.Const) else None)

    def mean(place: views.LayoutIndex) -> te.Expr:
        total = te.sum(te.cast(element(place), dtype), taps)
        count = elements.size([cut.length(place[letter].whole) for letter, cut in cuts.items()])
        return te.cast(divide(total, te.cast(count, dtype)), out.dtype)

    return views.fill(out.shape, target, mean, "mean")


# --- positions of maxima ----------------------------------------------------------------------


def max_pool_positions(data: te.Tensor, out: te.Spec, known: PoolAttrs) -> te.Tensor:
    """The position of the first maximum of each window in its channel."""
    axes, images = slides(known), views.view(data, known.layout)
    target = read_layout(known.out_layout or known.layout)
    extents = [images.extent(letter) for letter in axes]
    first = _first_maximum(
        images,
        axes,
        _taps(axes),
        out.shape,
        target,
        lambda where: elements.position(list(where.values()), extents),
    )
    nothing = te.highest("int64")
    return te.compute(
        out.shape,
        lambda *i: te.select(te.equal(first[i], nothing), te.const(-1, "int64"), first[i]),
    )


def _first_maximum(
    images: views.View,
    axes: Mapping[str, Slide],
    taps: Mapping[str, te.Axis],
    shape: Sequence[te.Expr],
    target: Layout,
    number_of: Callable[[Mapping[str, te.Expr]], te.Expr],
) -> te.Tensor:
    """The number of the first maximum of each window; the highest int64 for a window outside of
    data."""

    def greatest(*i: te.Expr) -> tuple[te.Expr, ...]:
        place = views.place_in(target, i, shape)
        inside, where = [], {}
        for letter, slide in axes.items():
            where[letter] = slide.start(place[letter].whole) + taps[letter] * slide.step
            inside += [where[letter] >= 0, where[letter] < images.extent(letter)]
        exists = te.every(*inside)
        value = images.at(N=place["N"], C=place["C"], **where)
        # padding ties with the lowest values of data, but never comes first
        return te.argmax(
            te.select(exists, value, te.lowest(value.dtype)),
            te.select(exists, number_of(where), te.highest("int64")),
            tuple(taps.values()),
        )

    _, first = te.compute_many(shape, greatest, "greatest")
    return first


# --- gradients ---------------------------------------------------------------------------------


def max_pool_gradient(
    out_grad: te.Tensor, data: te.Tensor, out: te.Spec, known: PoolAttrs
) -> te.Tensor:
    """The gradient of a window goes to its first maximum."""
    axes, images = slides(known), views.view(data, known.layout)
    grad = views.view(out_grad, known.out_layout or known.layout)
    numbers = views.View(_first_number(images, axes, out_grad, grad.layout), grad.layout)

    def share(place: views.LayoutIndex, tap: te.Expr) -> te.Expr:
        return te.select(te.equal(numbers.at(**place), te.cast(tap, "int32")), grad.at(**place), 0)

    return _shared(share, axes, grad, out, images.layout)


def _first_number(
    images: views.View, axes: Mapping[str, Slide], pooled: te.Tensor, target: Layout
) -> te.Tensor:
    """The position of the first maximum in each window, as an int32."""
    spec = te.Spec(pooled.shape, images.tensor.dtype)
    element, taps = window_elements(images, axes, spec, target, te.lowest(spec.dtype))
    greatest = views.View(
        views.fill(spec.shape, target, lambda place: te.max(element(place), taps), "greatest"),
        target,
    )
    element, taps = window_elements(images, axes, spec, target, te.lowest(spec.dtype))
    named = dict(zip(axes, taps, strict=True))
    number = te.cast(_number(named, axes), "int32")

    def numbered(place: views.LayoutIndex) -> te.Expr:
        value = element(place)
        is_greatest = te.some(te.equal(value, greatest.at(**place)), te.not_equal(value, value))
        inside = []
        for letter, slide in axes.items():
            where = slide.start(place[letter].whole) + named[letter] * slide.step
            inside += [where >= 0, where < images.extent(letter)]
        hit = te.every(is_greatest, *inside)
        return te.min(te.select(hit, number, te.highest("int32")), taps)

    return views.fill(spec.shape, target, numbered, "first")


def avg_pool_gradient(
    out_grad: te.Tensor, data: te.Tensor, out: te.Spec, known: AvgPoolAttrs
) -> te.Tensor:
    """The gradient of a window is divided evenly among its elements."""
    axes, images = slides(known), views.view(data, known.layout)
    grad = views.view(out_grad, known.out_layout or known.layout)
    dtype = wide(out.dtype)

    def part(place: views.LayoutIndex) -> te.Expr:
        count = counted(images, axes, place, out_grad.shape, grad.layout, known.count_include_pad)
        return te.cast(grad.at(**place), dtype) / te.cast(count, dtype)

    parts = views.View(views.fill(out_grad.shape, grad.layout, part, "parts"), grad.layout)
    return _shared(lambda place, _: parts.at(**place), axes, grad, out, images.layout)


def _shared(
    share: Callable[[views.LayoutIndex, te.Expr], te.Expr],
    axes: Mapping[str, Slide],
    grad: views.View,
    out: te.Spec,
    layout: Layout,
) -> te.Tensor:
    """The sum over the windows that contain an element; `share` also gets the position of the
    element in the window, as a number."""
    dtype = wide(out.dtype)
    # the last window that begins before an element, and so many before that
    behind = {
        letter: te.axis(-(-slide.reach_of_one // slide.stride), f"w{letter.lower()}")
        for letter, slide in axes.items()
    }

    def element(place: views.LayoutIndex) -> te.Expr:
        where, holds, taps = dict(place), [], {}
        for letter, slide in axes.items():
            positions = grad.extent(letter)
            start = place[letter].whole + slide.before
            window = start // slide.stride - behind[letter]
            offset = start - window * slide.stride
            holds += [window >= 0, window < positions, offset < slide.reach_of_one]
            if slide.step > 1:
                holds.append(te.equal(offset % slide.step, 0))
            taps[letter] = offset // slide.step
            where[letter] = views.along(window, positions)
        number = elements.position(list(taps.values()), _sizes(axes))
        return te.sum(
            te.select(te.every(*holds), te.cast(share(where, number), dtype), 0),
            tuple(behind.values()),
        )

    sums = views.fill(out.shape, layout, element, "gradient")
    return converted(sums, out.dtype)


def _taps(axes: Mapping[str, Slide]) -> dict[str, te.Axis]:
    return {letter: te.axis(slide.size, f"k{letter.lower()}") for letter, slide in axes.items()}


def _number(taps: Mapping[str, te.Axis], axes: Mapping[str, Slide]) -> te.Expr:
    """The row-major position in the window."""
    return elements.position(list(taps.values()), _sizes(axes))


def _sizes(axes: Mapping[str, Slide]) -> list[te.Expr]:
    return [te.index(slide.size) for slide in axes.values()]
