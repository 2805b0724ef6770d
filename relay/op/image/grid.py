"""Spatial transformers: affine_grid and grid_sample."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import Any, Literal

import numpy as np

from relay import te
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Expr, const
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building import layouts, sampling_rules
from relay.op.building.interpolation import cubic_weights, in_floats
from relay.op.building.interpolation_compute import Taps, real
from relay.op.building.interpolation_compute import cubic_weights as cubic_weights_compute
from relay.op.building.numerics import rounded_once
from relay.op.building.scalars import wide
from relay.op.building.views import LayoutIndex, fill, view
from relay.op.gradient_rules import ArgumentGradient, Backward, Composed, build, relaid
from relay.op.image.resize import require_elements
from relay.op.opdef import FusionKind, Tensor, define, sample
from relay.op.site import FLOATING, Site

# --- affine_grid -------------------------------------------------------------------------------


@attrs
class AffineGridAttrs(Attrs):
    """target_shape: the height and width of the grid"""

    target_shape: tuple[int, ...]


def _affine_grid_type(site: Site) -> Type | None:
    """(n, 2, 3) -> (n, 2, height, width)"""
    site.require_elements(0, FLOATING)
    shape = site.attrs.target_shape
    site.require(
        len(shape) == 2 and all(extent > 0 for extent in shape),
        "`target_shape` does not fit",
        "2 values of 1 or more",
        f"target_shape = {shape}",
    )
    if (data := site.tensor(0, rank=3)) is None:
        return None
    batch, *_ = site.expect(0, (data.shape[0], 2, 3), data.dtype).shape
    return TensorType((batch, 2, *shape), data.dtype)


def _from_end_to_end(count: int) -> np.ndarray:
    """Positions from -1 to 1; a single one is in the middle."""
    return np.linspace(-1.0, 1.0, count) if count > 1 else np.zeros(count)


def _affine_grid(data: np.ndarray, target_shape: Sequence[int]) -> Any:
    height, width = target_shape
    y, x = np.meshgrid(_from_end_to_end(height), _from_end_to_end(width), indexing="ij")
    places = np.stack((x, y, np.ones_like(x))).astype(data.dtype)
    return np.einsum("nij,jhw->nihw", data, places)


def _affine_grid_compute(data: te.Tensor, out: te.Spec, target_shape: Sequence[int]) -> te.Tensor:
    dtype = wide(out.dtype)
    height, width = target_shape

    def from_end_to_end(index: te.Expr, count: int) -> te.Expr:
        if count == 1:
            return te.const(0, dtype)
        return te.cast(real(index) * (2 / (count - 1)) - 1, dtype)

    def element(n: te.Expr, i: te.Expr, y: te.Expr, x: te.Expr) -> te.Expr:
        row = [te.cast(data[n, i, j], dtype) for j in range(3)]
        place = row[0] * from_end_to_end(x, width) + row[1] * from_end_to_end(y, height) + row[2]
        return te.cast(place, out.dtype)

    return te.compute(out.shape, element, "grid")


def _affine_grid_gradient(site: Backward) -> Sequence[ArgumentGradient]:
    """The sums of the gradient times (x, y, 1)."""
    height, width = site.attrs.target_shape
    y, x = np.meshgrid(_from_end_to_end(height), _from_end_to_end(width), indexing="ij")
    places = const(np.stack((x, y, np.ones_like(x))), site.type.dtype)
    return [build("einsum", [site.gradient, places], equation="nihw,jhw->nij")]


affine_grid = define(
    "image.affine_grid",
    doc="For each element of an image its source position under an affine map: matrix times (x, y, "
    "1), where x and y run from -1 to 1.",
    arguments=[("data", "a matrix of 2 x 3 for each image")],
    attrs=AffineGridAttrs,
    relation=_affine_grid_type,
    reference=rounded_once(_affine_grid),
    compute=_affine_grid_compute,
    fusion=FusionKind.INJECTIVE,
    samples=[
        sample((2, 2, 3), target_shape=(3, 4)),
        sample((1, 2, 3), target_shape=(5, 2), dtype="float64"),
        sample((3, 2, 3), target_shape=(1, 2), dtype="float16"),
    ],
    gradient=_affine_grid_gradient,
)

# --- grid_sample -------------------------------------------------------------------------------


@attrs
class GridSampleAttrs(Attrs):
    """method: the interpolation; nearest rounds ties to even
    layout: the order of the axes of data and of the result
    padding_mode: outside of data 0 ("zeros"), the nearest element ("border"), or data reflected
    ("reflection")
    align_corners: -1 and 1 are the centers of the first and last elements, otherwise their edges
    """

    method: Literal["nearest", "bilinear", "bicubic"] = "bilinear"
    layout: str = "NCHW"
    padding_mode: Literal["zeros", "border", "reflection"] = "zeros"
    align_corners: bool = True


def _grid_sample_type(site: Site) -> Type | None:
    """((n, c, x…), (n, axes, y…)) -> (n, c, y…)"""
    known: GridSampleAttrs = site.attrs
    site.require_elements(0, FLOATING)
    site.require_elements(1, FLOATING)
    letters = "NCDHW" if "D" in known.layout else "NCHW"
    layout = layouts.require_layout(site, "layout", known.layout, letters)
    data, grid = site.tensor(0), site.tensor(1, rank=len(letters))
    extents = layouts.unblocked_shape(site, 0, layout, letters)
    if data is None or extents is None or grid is None:
        return None
    wanted = (extents[0], len(letters) - 2, *grid.shape[2:])
    batch, _, *places = site.expect(1, wanted, grid.dtype).shape
    require_elements(site, extents[2:], letters[2:])
    shape = layouts.blocked_shape(site, (batch, extents[1], *places), letters, layout)
    return TensorType(shape, data.dtype)


def _mirrored(places: np.ndarray, extent: int, align_corners: bool) -> Any:
    """Positions reflected into the axis at its ends."""
    start, length = (0.0, extent - 1) if align_corners else (-0.5, extent)
    if length == 0:
        return np.zeros_like(places)
    return length - np.abs(np.abs(places - start) % (2 * length) - length) + start


def _axis_taps(
    places: np.ndarray, extent: int, method: str, padding_mode: str, align_corners: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The indices along an axis and their weights, with one more axis than positions."""
    if align_corners:
        places = (places + 1) * (extent - 1) / 2
    else:
        places = ((places + 1) * extent - 1) / 2

    def brought_in(where: np.ndarray) -> np.ndarray:
        if padding_mode == "reflection":
            where = _mirrored(where, extent, align_corners)
        return where if padding_mode == "zeros" else np.clip(where, 0, extent - 1)

    if method == "bicubic":
        # each index is reflected or clamped by itself
        low = np.floor(places)
        positions = brought_in(low[..., None] + np.arange(-1, 3))
        weights = cubic_weights(places - low, -0.75)
    elif method == "bilinear":
        places = brought_in(places)
        low = np.floor(places)
        positions = np.stack((low, low + 1), -1)
        weights = np.stack((1 - (places - low), places - low), -1)
    else:
        positions = np.rint(brought_in(places))[..., None]
        weights = np.ones(positions.shape)
    exists = (positions >= 0) & (positions < extent)
    return np.where(exists, positions, 0).astype(np.int64), np.where(exists, weights, 0)


def _grid_sample(data: np.ndarray, grid: np.ndarray, known: GridSampleAttrs) -> Any:
    letters = "NCDHW" if "D" in known.layout else "NCHW"
    images = np.moveaxis(in_floats(layouts.unblocked(data, known.layout, letters)), 1, -1)
    extents = images.shape[1:-1]
    # the grid is in order x, y; data in order y, x
    along = np.moveaxis(grid.astype(np.float64), 1, 0)[::-1]
    taps = [
        _axis_taps(places, extent, known.method, known.padding_mode, known.align_corners)
        for places, extent in zip(along, extents, strict=True)
    ]
    batch = np.arange(len(images)).reshape(-1, *(1,) * len(extents))
    total = np.zeros((*grid.shape[:1], *grid.shape[2:], images.shape[-1]), images.dtype)
    for chosen in product(*(range(positions.shape[-1]) for positions, _ in taps)):
        where = tuple(positions[..., k] for (positions, _), k in zip(taps, chosen, strict=True))
        weight = np.prod([w[..., k] for (_, w), k in zip(taps, chosen, strict=True)], axis=0)
        total += images[(batch, *where)] * weight[..., None].astype(images.dtype)
    return layouts.blocked(np.moveaxis(total, -1, 1).astype(data.dtype), letters, known.layout)


def _axis_taps_compute(
    place: te.Expr, extent: te.Expr, method: str, padding_mode: str, align_corners: bool
) -> Taps:
    """The taps along an axis; elements out of range have weight 0."""
    size = real(extent)
    place = (place + 1) * (size - 1) / 2 if align_corners else ((place + 1) * size - 1) / 2

    def brought_in(where: te.Expr) -> te.Expr:
        if padding_mode == "zeros":
            return where
        if padding_mode == "reflection":
            where = _mirrored_compute(where, extent, align_corners)
        return te.minimum(te.maximum(where, 0), size - 1)

    if method == "bicubic":
        low = te.call("floor", place)
        positions = [brought_in(low + step) for step in (-1, 0, 1, 2)]
        weights = cubic_weights_compute(place - low, -0.75)
    elif method == "bilinear":
        place = brought_in(place)
        low = te.call("floor", place)
        positions, weights = [low, low + 1], [1 - (place - low), place - low]
    else:
        positions, weights = [te.call("round", brought_in(place))], [real(1)]
    exist = [te.every(position >= 0, position < size) for position in positions]
    return [
        (te.cast(te.select(exists, position, 0), "int64"), te.select(exists, weight, 0))
        for exists, position, weight in zip(exist, positions, weights, strict=True)
    ]


def _mirrored_compute(place: te.Expr, extent: te.Expr, align_corners: bool) -> te.Expr:
    start, length = (0.0, real(extent - 1)) if align_corners else (-0.5, real(extent))
    turned = te.call("fmod", te.absolute(place - start), 2 * length)
    return te.select(te.equal(length, 0), 0, length - te.absolute(turned - length) + start)


def _grid_sample_compute(
    data: te.Tensor, grid: te.Tensor, out: te.Spec, known: GridSampleAttrs
) -> te.Tensor:
    """The taps of each axis are computed once for all channels."""
    images, spatial = view(data, known.layout), layouts.spatial_axes(known.layout)
    dtype = wide(data.dtype)

    def table(axis: int, letter: str) -> tuple[te.Tensor, ...]:
        # the grid is in order x, y; data in order y, x
        number = len(spatial) - 1 - axis

        def body(n: te.Expr, *place: te.Expr) -> tuple[te.Expr, ...]:
            taps = _axis_taps_compute(
                real(grid[(n, te.index(number), *place)]),
                images.extent(letter),
                known.method,
                known.padding_mode,
                known.align_corners,
            )
            return (*(at for at, _ in taps), *(te.cast(weight, dtype) for _, weight in taps))

        return te.compute_many((grid.shape[0], *grid.shape[2:]), body, f"along_{letter}")

    tables = [table(axis, letter) for axis, letter in enumerate(spatial)]

    def element(place: LayoutIndex) -> te.Expr:
        where = (place["N"].whole, *(place[letter].whole for letter in spatial))
        read = [[tensor[where] for tensor in tensors] for tensors in tables]
        axes = [list(zip(r[: len(r) // 2], r[len(r) // 2 :], strict=True)) for r in read]
        terms = []
        for chosen in product(*axes):
            source = {letter: at for letter, (at, _) in zip(spatial, chosen, strict=True)}
            value = images.at(N=place["N"], C=place["C"], **source)
            weight = reduce(operator.mul, (weight for _, weight in chosen))
            terms.append(te.cast(value, dtype) * weight)
        return te.cast(reduce(operator.add, terms), out.dtype)

    return fill(out.shape, images.layout, element, "sampled")


def _sampled(site: Backward) -> Expr:
    """The same in arithmetic on positions."""
    data, grid = site.args
    known: GridSampleAttrs = site.attrs
    spatial = layouts.spatial_axes(known.layout)
    places = grid.astype(sampling_rules.REAL)
    counts = sampling_rules.sizes(site, known.layout, spatial)
    taps = [
        _axis_taps_in_arithmetic(
            build("take", places, const(len(spatial) - 1 - axis), axis=1), count, known
        )
        for axis, count in enumerate(counts)
    ]
    batch = site.tensor_type(grid).shape[0]
    image = sampling_rules.counted(grid, 0, batch)
    image = sampling_rules.spread(image, 0, len(spatial) + 1)
    dtype = sampling_rules.wide(site.type)
    rows = sampling_rules.rows(data, known.layout, spatial).astype(dtype)
    made = sampling_rules.read(rows, image, counts, taps)
    return relaid(made.astype(site.type.dtype), f"N{spatial}C", known.layout)


def _axis_taps_in_arithmetic(
    place: Expr, count: Expr, known: GridSampleAttrs
) -> sampling_rules.Taps:
    number = sampling_rules.number
    extent = count.astype(sampling_rules.REAL)
    last = extent - number(1)
    if known.align_corners:
        place = (place + number(1)) * last / number(2)
    else:
        place = ((place + number(1)) * extent - number(1)) / number(2)

    def brought_in(where: Expr) -> Expr:
        if known.padding_mode == "zeros":
            return where
        if known.padding_mode == "reflection":
            start, length = (number(0), last) if known.align_corners else (number(-0.5), extent)
            # an axis of one element is there only
            some = build("maximum", length, number(1e-30))
            turned = build("floor_mod", build("abs", where - start), some + some)
            where = length - build("abs", turned - length) + start
        return sampling_rules.clipped(where, count)

    if known.method == "nearest":
        return [sampling_rules.existing(build("round", brought_in(place)), None, count)]
    if known.method == "bilinear":
        return sampling_rules.linear_taps_inside(brought_in(place), count)
    low = build("floor", place)
    weights = sampling_rules.cubic_weights(place - low, -0.75)
    return [
        sampling_rules.existing(brought_in(low + number(step)), weight, count)
        for step, weight in zip((-1, 0, 1, 2), weights, strict=True)
    ]


grid_sample = define(
    "image.grid_sample",
    doc="data sampled at positions x and y, or x, y and z, each from -1 to 1 within data.",
    arguments=[
        ("data", "images, or volumes"),
        ("grid", "positions: (n, 2, height, width), or (n, 3, depth, height, width)"),
    ],
    attrs=GridSampleAttrs,
    relation=_grid_sample_type,
    reference=with_attrs(GridSampleAttrs, _grid_sample),
    compute=with_attrs(GridSampleAttrs, _grid_sample_compute),
    fusion=FusionKind.INJECTIVE,
    samples=[
        *(
            sample(
                (2, 3, 4, 5),
                Tensor((2, 2, 3, 2), low=-3, high=3),
                method=method,
                padding_mode=padding_mode,
                align_corners=align_corners,
            )
            for method in ("nearest", "bilinear", "bicubic")
            for padding_mode in ("zeros", "border", "reflection")
            for align_corners in (True, False)
        ),
        *(
            sample(
                (2, 1, 3, 4, 2),
                Tensor((2, 3, 2, 1, 3), low=-1.5, high=1.5),
                layout="NCDHW",
                method=method,
                padding_mode=padding_mode,
                dtype="float64",
            )
            for method in ("nearest", "bilinear", "bicubic")
            for padding_mode in ("zeros", "border", "reflection")
        ),
        sample((2, 4, 5, 3), Tensor((2, 2, 3, 2)), layout="NHWC", dtype="float16"),
        sample((1, 3, 4, 2, 2), Tensor((1, 3, 2, 1, 3)), layout="NDHWC", align_corners=False),
        sample((1, 2, 1, 1), Tensor((1, 2, 2, 2)), padding_mode="reflection"),
    ],
    gradient=Composed(_sampled),
)
