"""crop_and_resize: crop boxes of images and resize them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from relay import dtypes, te
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Expr, const
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building import layouts, sampling_rules
from relay.op.building.helper import REQUIRED, helper
from relay.op.building.interpolation import Method, as_dtype, outside, read, region_places
from relay.op.building.interpolation_compute import Grid, Places, Region, inside, real, resampled
from relay.op.building.numerics import convert
from relay.op.building.views import LayoutIndex, along, view
from relay.op.gradient_rules import Backward, Composed, arange, build, relaid
from relay.op.image.resize import require_elements
from relay.op.opdef import DType, FusionKind, Selection, Tensor, define, sample
from relay.op.site import FLOATING, INTEGER, NUMERIC, Site


@attrs
class CropAndResizeAttrs(Attrs):
    """crop_size: the height and width of the result
    layout: the order of the axes of data and of the result
    method: the interpolation; nearest_neighbor rounds ties up
    extrapolation_value: the result outside of the image
    out_dtype: the element type of the result; None is that of data
    """

    crop_size: tuple[int, ...]
    layout: str = "NCHW"
    method: Literal["bilinear", "nearest_neighbor"] = "bilinear"
    extrapolation_value: float = 0.0
    out_dtype: DType | None = None


def _crop_and_resize_type(site: Site) -> Type | None:
    """((n, c, h, w), (boxes, 4), (boxes,)) -> (boxes, c, *crop_size)"""
    known: CropAndResizeAttrs = site.attrs
    site.require_elements(0, NUMERIC)
    site.require_elements(1, FLOATING)
    site.require_elements(2, INTEGER)
    layout = layouts.require_layout(site, "layout", known.layout, "NCHW")
    site.require(
        len(known.crop_size) == 2 and all(extent > 0 for extent in known.crop_size),
        "`crop_size` does not fit",
        "2 values of 1 or more",
        f"crop_size = {known.crop_size}",
    )
    data, boxes, indices = site.tensor(0), site.tensor(1, rank=2), site.tensor(2, rank=1)
    extents = layouts.unblocked_shape(site, 0, layout, "NCHW")
    if data is None or extents is None or boxes is None or indices is None:
        return None
    count, _ = site.expect(1, (indices.shape[0], 4), boxes.dtype).shape
    require_elements(site, (extents[0], *extents[2:]), "NHW", (count,))
    shape = layouts.blocked_shape(site, (count, extents[1], *known.crop_size), "NCHW", layout)
    return TensorType(shape, known.out_dtype or data.dtype)


def _crop_and_resize(
    data: np.ndarray, boxes: np.ndarray, box_indices: np.ndarray, known: CropAndResizeAttrs
) -> np.ndarray:
    dtype = known.out_dtype or dtypes.canonical(data.dtype)
    images = layouts.unblocked(data, known.layout, "NCHW")
    extents = images.shape[2:]
    how = Method("linear" if known.method == "bilinear" else known.method)
    beyond_value = convert(np.array(known.extrapolation_value), dtype)
    crops = np.empty((len(boxes), images.shape[1], *known.crop_size), dtypes.to_numpy(dtype))
    chosen = np.clip(box_indices.astype(np.int64), 0, len(images) - 1)
    for crop, image, (top, left, bottom, right) in zip(
        crops, chosen, boxes.astype(np.float64), strict=True
    ):
        places = [
            region_places(count, extent, start, end)
            for count, extent, start, end in zip(
                known.crop_size, extents, (top, left), (bottom, right), strict=True
            )
        ]
        values = as_dtype(read(images[image], places, how), dtype)
        crop[:] = np.where(outside(places, extents), beyond_value, values)
    return layouts.blocked(crops, "NCHW", known.layout)


def _crop_and_resize_compute(
    data: te.Tensor,
    boxes: te.Tensor,
    box_indices: te.Tensor,
    out: te.Spec,
    known: CropAndResizeAttrs,
) -> te.Tensor:
    images = view(data, known.layout)

    def read(place: LayoutIndex) -> te.Expr:
        image, count = te.cast(box_indices[place["N"].whole], "int64"), images.extent("N")
        return images.at(**{**place, "N": along(inside(image, count), count)})

    def places(axis: int, letter: str) -> Callable[[te.Expr], Places]:
        return lambda box: Region(
            te.index(known.crop_size[axis]),
            images.extent(letter),
            real(boxes[box, axis]),
            real(boxes[box, 2 + axis]),
        )

    grid = Grid(
        read,
        data.dtype,
        {letter: images.extent(letter) for letter in "HW"},
        {letter: places(axis, letter) for axis, letter in enumerate("HW")},
        per_image=True,
    )
    how = Method("linear" if known.method == "bilinear" else known.method)
    beyond = te.cast(real(known.extrapolation_value), out.dtype)
    return resampled(grid, out, images.layout, how, beyond)


def _cropped(site: Backward) -> Expr:
    """The same in arithmetic on positions."""
    data, boxes, indices = site.args
    known: CropAndResizeAttrs = site.attrs
    number, real = sampling_rules.number, sampling_rules.REAL
    counts = sampling_rules.sizes(site, known.layout, "HW")
    edges = boxes.astype(real)
    images = site.tensor_type(data).shape[layouts.read_layout(known.layout).places("N")[0]]
    last = sampling_rules.size(relaid(data, known.layout, "NCHW"), 0, images) - const(1, "int64")
    image = build("maximum", indices.astype("int64"), const(0, "int64"))
    image = sampling_rules.spread(build("minimum", image, last), 0, 3)
    taps: list[sampling_rules.Taps] = []
    inside: list[Expr] = []
    for axis, (count, new) in enumerate(zip(counts, known.crop_size, strict=True)):
        end = count.astype(real) - number(1)
        start, stop = (
            sampling_rules.spread(build("take", edges, const(edge), axis=1), 0, 3) * end
            for edge in (axis, 2 + axis)
        )
        if new == 1:
            place = number(0.5) * (start + stop)
        else:
            steps = sampling_rules.spread(arange(0, new), 1 + axis, 3).astype(real)
            place = start + steps * ((stop - start) / number(new - 1))
        inside.append(
            build(
                "logical_and",
                build("greater_equal", place, number(0)),
                build("less_equal", place, end),
            )
        )
        if known.method == "bilinear":
            taps.append(sampling_rules.linear_taps(place, count))
        else:
            nearest = build("floor", place + number(0.5))
            taps.append([(sampling_rules.clipped(nearest, count).astype("int64"), None)])
    dtype = sampling_rules.wide(site.type)
    rows = sampling_rules.rows(data, known.layout, "HW").astype(dtype)
    made = sampling_rules.read(rows, image, counts, taps)
    whole = build("expand_dims", build("logical_and", *inside), axis=-1)
    made = build("where", whole, made, const(known.extrapolation_value, dtype))
    return relaid(made.astype(site.type.dtype), "NHWC", known.layout)


CROP_AND_RESIZE = define(
    "image.crop_and_resize",
    doc="Boxes of images, resized so that the corners of a box are the centers of the corner "
    "elements; integers are computed in float64 and rounded, ties to even. Image indices are "
    "clamped.",
    arguments=[
        ("data", "images"),
        ("boxes", "top, left, bottom and right of each box, as fractions of the image"),
        ("box_indices", "the image of each box, integers"),
    ],
    attrs=CropAndResizeAttrs,
    relation=_crop_and_resize_type,
    reference=with_attrs(CropAndResizeAttrs, _crop_and_resize),
    compute=with_attrs(CropAndResizeAttrs, _crop_and_resize_compute),
    selects=lambda known, types: [Selection(2, axes=(known.layout.index("N"),))],
    fusion=FusionKind.INJECTIVE,
    samples=[
        sample(
            (2, 3, 5, 6),
            Tensor((4, 4), low=-0.2, high=1.2),
            Tensor((4,), "int32", 0, 2),
            crop_size=(3, 4),
        ),
        sample(
            (1, 4, 5, 2),
            Tensor((3, 4), "float64", low=-0.5, high=1.5),
            Tensor((3,), "int64", -1, 3),
            crop_size=(1, 5),
            layout="NHWC",
            method="nearest_neighbor",
            extrapolation_value=-7.5,
            dtype="int8",
        ),
        sample(
            (2, 1, 3, 3),
            Tensor((2, 4), low=0, high=1),
            Tensor((2,), "int32", 0, 2),
            crop_size=(4, 1),
            extrapolation_value=1.5,
            out_dtype="float32",
            dtype="uint8",
            high=200,
        ),
    ],
    gradient=Composed(_cropped),
)
crop_and_resize = helper(
    CROP_AND_RESIZE, "Crop boxes of images and resize them.", extrapolation_value=0, layout=REQUIRED
)
