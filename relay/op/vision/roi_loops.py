"""Loops of `relay.op.vision.roi`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from relay import te
from relay.immutable import frozen
from relay.op.building import scalars
from relay.op.building.views import View, along, extent_in, indices_in, view
from relay.op.loop_nest import nest, spread


@frozen
class Cell:
    """A cell of a region, for all channels. Lists have an entry for rows and columns."""

    images: View
    image: te.Expr  # the image of the region
    region: list[tuple[te.Expr, te.Expr]]  # start and end, in elements
    place: list[te.Expr]  # index of the cell
    put: Callable[[te.Expr, te.Expr], None]  # (channel, value) stores the result

    @property
    def extents(self) -> list[te.Expr]:
        return [self.images.extent(letter) for letter in "HW"]

    @property
    def channels(self) -> te.Expr:
        return self.images.extent("C")

    def read(self, channel: te.Expr, y: te.Expr, x: te.Expr) -> te.Expr:
        return scalars.widened(self.images.at(N=self.image, C=channel, H=y, W=x))


def _cell_by_cell(
    data: te.Tensor,
    rois: te.Tensor,
    out: te.Spec,
    known: Any,
    fill: Callable[[te.Builder, Cell], None],
    shift: float = 0.0,
) -> te.Tensor:
    """The result, with cells written by `fill`; boxes are shifted by `shift`."""
    images = view(data, known.layout)

    def write(b: te.Builder, result: te.Buffer) -> None:
        with spread(b, (rois.shape[0], *known.pooled_size)) as (region, *place):
            last = te.cast(images.extent("N") - 1, "float64")
            number = te.cast(rois[region, 0], "float64")
            image = b.let(te.cast(te.minimum(te.maximum(number, 0.0), last), "int64"))
            count = images.extent("N")
            named = te.every(number >= 0.0, number <= last)
            b.expect(named, te.cast(number, "int64"), count, "the number of an image")
            left, top, right, bottom = (
                b.let(te.cast(rois[region, i], "float64") * known.spatial_scale - shift)
                for i in range(1, 5)
            )

            def put(channel: te.Expr, value: te.Expr) -> None:
                digits = {
                    letter: along(index, extent_in(images.layout, out.shape, letter))
                    for letter, index in zip("NCHW", (region, channel, *place), strict=True)
                }
                b.store(result, indices_in(images.layout, digits), te.cast(value, out.dtype))

            fill(b, Cell(images, image, [(top, bottom), (left, right)], place, put))

    return te.procedure([data, rois], [(out.shape, out.dtype)], write, "regions")[0]


# --- roi_align ---------------------------------------------------------------------------------


def roi_align(data: te.Tensor, rois: te.Tensor, out: te.Spec, known: Any) -> te.Tensor:
    """`vision.roi_align`"""
    wide, mode = scalars.wide(data.dtype), known.mode
    combined = _largest if mode == "max_term" else _weighted

    def fill(b: te.Builder, cell: Cell) -> None:
        samples = [
            _samples(b, start, end, cells, known.sample_ratio, known.aligned)
            for (start, end), cells in zip(cell.region, known.pooled_size, strict=True)
        ]
        inside = [
            _inside(b, start, count, step, index, extent)
            for (start, _), (count, step), index, extent in zip(
                cell.region, samples, cell.place, cell.extents, strict=True
            )
        ]
        totals = b.local(wide, (cell.channels,), "totals")
        with b.loop(cell.channels) as c:
            b.store(totals, c, 0.0 if mode == "avg" else te.lowest(wide))
        with nest(b, [last - first for first, last in inside]) as numbers:
            rows, columns = (
                _taps(b, _place(start, count, step, index, first + n), extent, wide)
                for (start, _), (count, step), index, (first, _), n, extent in zip(
                    cell.region, samples, cell.place, inside, numbers, cell.extents, strict=True
                )
            )
            with b.loop(cell.channels) as c:
                value = combined(
                    (combined((cell.read(c, y, x), down) for y, down in rows), across)
                    for x, across in columns
                )
                together = totals[c] + value if mode == "avg" else te.maximum(totals[c], value)
                b.store(totals, c, together)
        counts = [te.cast(count, "float64") for count, _ in samples]
        number = b.let(te.cast(te.maximum(counts[0] * counts[1], 1.0), wide))
        read = [last - first for first, last in inside]
        some = b.let(te.every(*(count > 0 for count in read)))
        every = b.let(
            te.every(*(te.equal(n, count) for n, (count, _) in zip(read, samples, strict=True)))
        )
        with b.loop(cell.channels) as c:
            if mode == "avg":
                cell.put(c, totals[c] / number)
            else:  # samples outside are 0
                least = te.maximum(totals[c], 0.0)
                cell.put(c, te.select(some, te.select(every, totals[c], least), 0.0))

    return _cell_by_cell(data, rois, out, known, fill, 0.5 if known.aligned else 0.0)


def _samples(
    b: te.Builder, start: te.Expr, end: te.Expr, cells: int, ratio: int, aligned: bool
) -> tuple[te.Expr, te.Expr]:
    """The number of samples of each cell along an axis, and their distance."""
    length = b.let(end - start if aligned else te.maximum(end - start, 1.0))
    count = te.index(ratio)
    if ratio <= 0:
        each = te.minimum(length / float(cells), FAR)
        count = te.maximum(te.cast(te.call("ceil", each), "int64"), 0)
    # an infinite region has no samples
    count = b.let(te.select(te.call("isfinite", length), count, 0))
    return count, b.let(length / te.cast(count * cells, "float64"))


FAR = 1e15  # samples: a region that large has none in data except at one end


def _place(
    start: te.Expr, count: te.Expr, step: te.Expr, cell: te.Expr, number: te.Expr
) -> te.Expr:
    """The position of a sample of a cell."""
    return start + (te.cast(cell * count + number, "float64") + 0.5) * step


def _inside(
    b: te.Builder, start: te.Expr, count: te.Expr, step: te.Expr, cell: te.Expr, extent: te.Expr
) -> tuple[te.Expr, te.Expr]:
    """The range of samples inside of data, up to rounding: a region may be far larger than data."""
    begin = b.let(_place(start, count, step, cell, te.index(0)))
    forward = b.let(te.every(step > 0.0, count > 0))
    most = te.cast(count, "float64")

    def number(place: te.Expr, more: float) -> te.Expr:
        steps = te.call("floor", (place - begin) / te.select(forward, step, 1.0)) + more
        return te.cast(te.minimum(te.maximum(steps, 0.0), most), "int64")

    first = b.let(te.select(forward, number(te.const(-1.0, "float64"), -1.0), 0))
    last = number(te.cast(extent, "float64"), 3.0)
    return first, b.let(te.maximum(te.select(forward, last, count), first))


def _taps(
    b: te.Builder, place: te.Expr, extent: te.Expr, dtype: str
) -> list[tuple[te.Expr, te.Expr]]:
    """The elements on both sides of a position, and their weights."""
    place = b.let(place)
    inside = b.let(te.minimum(te.maximum(place, 0.0), te.cast(extent - 1, "float64")))
    low = b.let(te.cast(te.call("floor", inside), "int64"))
    high = b.let(te.minimum(low + 1, extent - 1))
    share = b.let(inside - te.cast(low, "float64"))
    exists = b.let((place >= -1.0) & (place <= te.cast(extent, "float64")))
    weights = [
        b.let(te.cast(te.select(exists, weight, 0.0), dtype)) for weight in (1.0 - share, share)
    ]
    return list(zip((low, high), weights, strict=True))


def _weighted(terms: Iterable[tuple[te.Expr, te.Expr]]) -> te.Expr:
    first, second = (value * weight for value, weight in terms)
    return first + second


def _largest(terms: Iterable[tuple[te.Expr, te.Expr]]) -> te.Expr:
    """The larger of two weighted terms; weights are not negative."""
    first, second = (value * weight for value, weight in terms)
    return te.maximum(first, second)


# --- roi_pool ----------------------------------------------------------------------------------


def roi_pool(data: te.Tensor, rois: te.Tensor, out: te.Spec, known: Any) -> te.Tensor:
    """`vision.roi_pool`"""
    wide = scalars.wide(data.dtype)

    def fill(b: te.Builder, cell: Cell) -> None:
        bounds = [
            _bounds(b, *region, place, cells, extent)
            for region, place, cells, extent in zip(
                cell.region, cell.place, known.pooled_size, cell.extents, strict=True
            )
        ]
        (above, height), (before, width) = bounds
        with b.loop(cell.channels) as c:
            best = b.variable(wide, te.lowest(wide), "best")
            with nest(b, (height, width)) as (y, x):
                b.store(best, (), te.maximum(best[()], cell.read(c, above + y, before + x)))
            cell.put(c, te.select((height > 0) & (width > 0), best[()], 0.0))

    return _cell_by_cell(data, rois, out, known, fill)


def _bounds(
    b: te.Builder, start: te.Expr, end: te.Expr, cell: te.Expr, cells: int, extent: te.Expr
) -> tuple[te.Expr, te.Expr]:
    """The first element of an axis that a cell covers, and their number."""
    first = b.let(_rounded(start))
    length = b.let(te.maximum(_rounded(end) - first + 1, 1))
    begin, stop = (
        b.let(te.minimum(te.maximum(place, 0), extent))
        for place in (first + cell * length // cells, first - (-(cell + 1) * length // cells))
    )
    return begin, b.let(te.maximum(stop - begin, 0))


def _rounded(value: te.Expr) -> te.Expr:
    """Round to the nearest integer, ties away from zero."""
    size = te.call("floor", te.absolute(value) + 0.5)
    return te.cast(te.call("copysign", size, value), "int64")
