"""Pooling of regions of interest (ROI): roi_align and roi_pool."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from relay.ir.attrs import Attrs, attrs
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building import layouts
from relay.op.building.interpolation import Taps, linear_taps, resampled
from relay.op.building.layout_rules import WHOLE_IMAGE
from relay.op.building.numerics import widened
from relay.op.gradient_rules import Composed
from relay.op.image.resize import require_elements
from relay.op.opdef import FusionKind, define, sample
from relay.op.site import FLOATING, Site
from relay.op.vision import roi_loops
from relay.op.vision.roi_rules import MOST_PLACES, aligned_samples, largest_elements


@attrs
class ROIPoolAttrs(Attrs):
    """pooled_size: the height and width of the result
    spatial_scale: the size of the feature map divided by that of the image of the boxes
    layout: the order of the axes of data and of the result
    """

    pooled_size: tuple[int, ...]
    spatial_scale: float
    layout: str = "NCHW"


@attrs
class ROIAlignAttrs(Attrs):
    """pooled_size: the height and width of the result
    spatial_scale: the size of the feature map divided by that of the image of the boxes
    sample_ratio: the number of samples in each cell along each axis; 0 or less is about one per
    element of data
    layout: the order of the axes of data and of the result
    mode: the mean or the maximum of the samples of a cell; "max_term" is the maximum of the four
    weighted neighbors of all samples, without adding them up
    aligned: shift boxes by half an element, from edges to centers; a region may then be smaller
    than an element
    """

    pooled_size: tuple[int, ...]
    spatial_scale: float
    sample_ratio: int = -1
    layout: str = "NCHW"
    mode: Literal["avg", "max", "max_term"] = "avg"
    aligned: bool = False


def _roi_type(site: Site) -> Type | None:
    """((n, c, h, w), (regions, 5)) -> (regions, c, *pooled_size)"""
    known = site.attrs
    site.require_elements(0, FLOATING)
    layout = layouts.require_layout(site, "layout", known.layout, "NCHW")
    site.require(
        len(known.pooled_size) == 2 and all(size > 0 for size in known.pooled_size),
        "`pooled_size` does not fit",
        "2 values of 1 or more",
        f"pooled_size = {known.pooled_size}",
    )
    site.require_finite("spatial_scale", known.spatial_scale)
    data, rois = site.tensor(0), site.tensor(1, rank=2)
    extents = layouts.unblocked_shape(site, 0, layout, "NCHW")
    if data is None or extents is None or rois is None:
        return None
    regions, _ = site.expect(1, (rois.shape[0], 5), data.dtype).shape
    require_elements(site, (extents[0], *extents[2:]), "NHW", (regions,))
    shape = layouts.blocked_shape(site, (regions, extents[1], *known.pooled_size), "NCHW", layout)
    return TensorType(shape, data.dtype)


def _roi_align_type(site: Site) -> Type | None:
    """((n, c, h, w), (regions, 5)) -> (regions, c, *pooled_size)"""
    ratio = site.attrs.sample_ratio
    site.require(
        ratio <= MOST_PLACES,
        "`sample_ratio` is too large",
        f"at most {MOST_PLACES}",
        f"sample_ratio = {ratio}",
    )
    return _roi_type(site)


def _chosen(images: np.ndarray, region: np.ndarray) -> Any:
    """The image of a region; its index is clamped."""
    return images[int(np.clip(region[0], 0, len(images) - 1))]


# --- roi_align ---------------------------------------------------------------------------------


def _cell_taps(
    start: float, end: float, cells: int, extent: int, ratio: int, aligned: bool
) -> tuple[int, list[Taps]]:
    """The number of samples of each cell along an axis, and the taps of those inside of data; none
    for an infinite region."""
    length = end - start if aligned else max(end - start, 1.0)
    if not math.isfinite(length):
        return 0, []
    each = ratio if ratio > 0 else max(math.ceil(min(length / cells, roi_loops.FAR)), 0)
    step = length / max(cells * each, 1)
    found = []
    for cell in range(cells):
        begin = start + (cell * each + 0.5) * step
        first, last = 0, each
        if step > 0:  # skip samples far outside of data
            first = min(max(math.floor((-1 - begin) / step) - 1, 0), each)
            last = min(max(math.ceil((extent - begin) / step) + 2, first), each)
        places = start + (cell * each + np.arange(first, last) + 0.5) * step
        places = places[(places >= -1) & (places <= extent)]
        found.append(linear_taps(np.clip(places, 0, extent - 1), extent))
    return each, found


def _roi_align(data: np.ndarray, rois: np.ndarray, known: ROIAlignAttrs) -> Any:
    ratio, mode, aligned = known.sample_ratio, known.mode, known.aligned
    images = widened(layouts.unblocked(data, known.layout, "NCHW"))
    height, width = known.pooled_size
    pooled = np.zeros((len(rois), images.shape[1], height, width), images.dtype)
    for result, region in zip(pooled, rois.astype(np.float64), strict=True):
        left, top, right, bottom = region[1:] * known.spatial_scale - (0.5 if aligned else 0.0)
        image = _chosen(images, region)
        down, rows = _cell_taps(top, bottom, height, image.shape[1], ratio, aligned)
        across, columns = _cell_taps(left, right, width, image.shape[2], ratio, aligned)
        for y, x in np.ndindex(height, width) if down and across else ():
            count = len(rows[y].positions) * len(columns[x].positions)
            if not count:
                continue
            if mode == "max_term":
                read = _terms(image, rows[y], columns[x]).max((2, 4))
            else:
                read = resampled(resampled(image, 1, rows[y]), 2, columns[x])
            if mode == "avg":
                result[:, y, x] = read.sum((1, 2)) / (down * across)
            else:  # samples outside are 0
                found = read.max((1, 2))
                result[:, y, x] = found if count == down * across else np.maximum(found, 0)
    return layouts.blocked(pooled.astype(data.dtype), "NCHW", known.layout)


def _terms(image: np.ndarray, rows: Taps, columns: Taps) -> Any:
    """The weighted neighbors of each sample: (channels, rows, 2, columns, 2)."""
    weights = rows.weights[:, :, None, None] * columns.weights
    found = image[:, rows.positions[:, :, None, None], columns.positions]
    return found * weights.astype(image.dtype)


_REGIONS = (
    np.array([[0, 1, 2, 8, 9], [1, -3, 0, 5, 30], [1, 6, 6, 6, 6]], "float32"),
    np.array([[0, 0.5, 0.2, 3.3, 2.8], [9, 2, 1, 20, 4]], "float64"),
    np.array([[0, 3, 1, 7, 6]], "float16"),
)

roi_align = define(
    "vision.roi_align",
    doc="A region is divided into cells; each is the mean or maximum of evenly spaced samples, "
    "interpolated bilinearly. A sample more than one element outside of data is 0. A region is at "
    "least one element high and wide, unless `aligned`; one without samples gives 0.",
    arguments=[
        ("data", "feature maps"),
        ("rois", "for each region the index of the image, left, top, right and bottom"),
    ],
    attrs=ROIAlignAttrs,
    relation=_roi_align_type,
    reference=with_attrs(ROIAlignAttrs, _roi_align),
    compute=with_attrs(ROIAlignAttrs, roi_loops.roi_align),
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    layout=WHOLE_IMAGE,
    samples=[
        sample((2, 3, 6, 7), _REGIONS[0], pooled_size=(2, 3), spatial_scale=0.5),
        sample((2, 2, 5, 5), _REGIONS[0], pooled_size=(3, 3), spatial_scale=0.7, sample_ratio=2),
        sample((2, 2, 5, 5), _REGIONS[0], pooled_size=(2, 2), spatial_scale=0.5, mode="max"),
        sample(
            (1, 5, 6, 2),
            _REGIONS[1],
            pooled_size=(2, 1),
            spatial_scale=1.0,
            layout="NHWC",
            dtype="float64",
        ),
        sample((1, 2, 5, 6), _REGIONS[2], pooled_size=(2, 2), spatial_scale=0.6, dtype="float16"),
        *(
            sample(
                (2, 2, 5, 5),
                _REGIONS[0],
                pooled_size=(2, 3),
                spatial_scale=0.5,
                mode=mode,
                aligned=True,
            )
            for mode in ("avg", "max", "max_term")
        ),
        sample(
            (2, 2, 5, 5),
            _REGIONS[0],
            pooled_size=(2, 3),
            spatial_scale=0.5,
            sample_ratio=2,
            mode="max_term",
        ),
    ],
    gradient=Composed(aligned_samples),
)

# --- roi_pool ----------------------------------------------------------------------------------


def _rounded(value: float) -> int:
    """Round to the nearest integer, ties away from zero."""
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def _cell_bounds(start: float, end: float, cells: int, extent: int) -> list[tuple[int, int]]:
    """The elements of an axis that each cell covers; adjacent cells may share one."""
    first = _rounded(start)
    length = max(_rounded(end) - first + 1, 1)
    return [
        (
            min(max(first + cell * length // cells, 0), extent),
            min(max(first - (-(cell + 1) * length // cells), 0), extent),
        )
        for cell in range(cells)
    ]


def _roi_pool(data: np.ndarray, rois: np.ndarray, known: ROIPoolAttrs) -> Any:
    images = layouts.unblocked(data, known.layout, "NCHW")
    pooled = np.zeros((len(rois), images.shape[1], *known.pooled_size), data.dtype)
    for result, region in zip(pooled, rois.astype(np.float64), strict=True):
        left, top, right, bottom = region[1:] * known.spatial_scale
        image = _chosen(images, region)
        rows = _cell_bounds(top, bottom, known.pooled_size[0], image.shape[1])
        columns = _cell_bounds(left, right, known.pooled_size[1], image.shape[2])
        for y, (above, below) in enumerate(rows):
            for x, (before, after) in enumerate(columns):
                if above < below and before < after:
                    cell = widened(image[:, above:below, before:after])
                    result[:, y, x] = cell.max((1, 2)).astype(data.dtype)
    return layouts.blocked(pooled, "NCHW", known.layout)


roi_pool = define(
    "vision.roi_pool",
    doc="A region, with its corners rounded to elements, is divided into cells; each is the "
    "maximum of its elements, or 0 if it has none.",
    arguments=[
        ("data", "feature maps"),
        ("rois", "for each region the index of the image, left, top, right and bottom"),
    ],
    attrs=ROIPoolAttrs,
    relation=_roi_type,
    reference=with_attrs(ROIPoolAttrs, _roi_pool),
    compute=with_attrs(ROIPoolAttrs, roi_loops.roi_pool),
    fusion=FusionKind.OUT_ELEMWISE_FUSABLE,
    layout=WHOLE_IMAGE,
    samples=[
        sample((2, 3, 6, 7), _REGIONS[0], pooled_size=(2, 3), spatial_scale=0.5),
        sample((2, 2, 5, 5), _REGIONS[0], pooled_size=(3, 3), spatial_scale=0.7),
        sample(
            (1, 5, 6, 2),
            _REGIONS[1],
            pooled_size=(2, 1),
            spatial_scale=1.0,
            layout="NHWC",
            dtype="float64",
        ),
        sample((1, 2, 5, 6), _REGIONS[2], pooled_size=(4, 3), spatial_scale=0.6, dtype="float16"),
    ],
    gradient=Composed(largest_elements),
)
