"""Regions of interest, non-maximum suppression, and blocks of images."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul

from relay import dtypes, op
from relay.errors import REAL_VALUE
from relay.frontend.common.broadcast import trailing_axes
from relay.frontend.common.builder import int64
from relay.frontend.common.indices import in_range
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr, TupleGetItem, const

table = Converters()


@table("RoiAlign")
def roi_align(node: Node, data: Expr, regions: Expr, images: Expr) -> Expr:
    """`max` is that of the weighted neighbors of positions, not of the interpolated values, as in
    the standard and its tests."""
    modes = {"avg": "avg", "max": "max_term"}
    mode = node.choice("mode", "avg", modes)
    coordinates = "output_half_pixel"
    if node.version >= 16:
        name, options = "coordinate_transformation_mode", ("half_pixel", "output_half_pixel")
        coordinates = node.choice(name, "half_pixel", options, "transformation")
    node.must_have_axes(data, 4, "feature maps")
    node.must_have_axes(regions, 2, "regions")
    dtype = node.dtype(data)
    # float16 does not represent all image indices
    wide = dtype if dtypes.bits(dtype) >= 32 else "float32"
    numbers = op.expand_dims(op.cast(in_range(node, images, data), wide), 1)
    found = op.vision.roi_align(
        node.as_dtype(data, wide),
        op.concatenate([numbers, op.cast(regions, wide)], axis=1),
        pooled_size=(node.attribute("output_height", 1), node.attribute("output_width", 1)),
        spatial_scale=node.attribute("spatial_scale", 1.0),
        sample_ratio=node.attribute("sampling_ratio", 0),
        mode=modes[mode],
        aligned=coordinates == "half_pixel",
    )
    return op.cast(found, dtype) if wide != dtype else found


@table("MaxRoiPool")
def max_roi_pool(node: Node, data: Expr, regions: Expr) -> Expr:
    """Corners are scaled in their own element type, since they are rounded afterwards."""
    scale = node.attribute("spatial_scale", 1.0)
    scaled = regions * const([1.0, *[scale] * 4], node.dtype(regions))
    size = tuple(node.required("pooled_shape"))
    return op.vision.roi_pool(data, scaled, pooled_size=size, spatial_scale=1.0)


@table("NonMaxSuppression")
def non_max_suppression(
    node: Node,
    boxes: Expr,
    scores: Expr,
    most: Expr | None = None,
    overlap: Expr | None = None,
    least: Expr | None = None,
) -> Expr:
    """The boxes kept in each class of each image; none without a maximum number."""
    if node.attribute("center_point_box", 0):
        boxes = _corners(boxes)
    zero = int64(0)
    count = zero if most is None else op.maximum(op.reshape(op.cast(most, "int64"), ()), zero)
    if overlap is not None:
        overlap = _checked_overlap(node, overlap)
    rows = node.let(
        op.vision.all_class_non_max_suppression(
            boxes,
            scores,
            count,
            const(0.0, "float32") if overlap is None else op.reshape(overlap, ()),
            const(float("-inf"), "float32") if least is None else op.reshape(least, ()),
        ).astuple()
    )
    kept, length = (TupleGetItem(rows, place) for place in (0, 1))
    return op.strided_slice(kept, int64([0]), length, int64([1]))


def _checked_overlap(node: Node, overlap: Expr) -> Expr:
    """The threshold of the overlap, checked to be from 0 to 1."""
    share = node.let(op.cast(op.reshape(overlap, ()), "float64"))
    zero, one = const(0.0, "float64"), const(1.0, "float64")
    fits = op.logical_and(share >= zero, share <= one)
    message = "the threshold of overlap is out of range"
    return node.checked(overlap, fits, message, "0 to 1", REAL_VALUE, share)


def _corners(boxes: Expr) -> Expr:
    """Boxes as two corners (y, x), from their center (x, y) and size."""
    x, y, width, height = (
        op.strided_slice(boxes, [place], [place + 1], axes=(2,)) for place in range(4)
    )
    half = const(0.5, "float32")
    across, down = width * half, height * half
    return op.concatenate([y - down, x - across, y + down, x + across], axis=2)


@table("Col2Im")
def col2im(node: Node, data: Expr, image_shape: Expr, block_shape: Expr) -> Expr:
    """Blocks added to an image at the positions they were cut from.

    Each element of each block has a flat position in the image; one more position at the end takes
    those in the padding.
    """
    node.must_have_axes(data, 3, "blocks")
    rank = node.length(image_shape, "the shape of images")
    if node.length(block_shape, "the shape of blocks") != rank:
        raise node.refused("blocks and images have different axes", str(rank))
    pads = node.numbers("pads", 2 * rank)
    strides, dilations = node.numbers("strides", rank, 1), node.numbers("dilations", rank, 1)
    zero = int64(0)
    images, blocks = (
        [node.let(op.take(op.cast(sizes, "int64"), int64(axis), axis=0)) for axis in range(rank)]
        for sizes in (image_shape, block_shape)
    )
    place: Expr = zero
    inside: Expr = const(True, "bool")
    for axis in range(rank):
        reach = (blocks[axis] - int64(1)) * int64(dilations[axis]) + int64(1)
        room = images[axis] + int64(pads[axis] + pads[axis + rank]) - reach
        stops = node.let(op.floor_divide(room, int64(strides[axis])) + int64(1))
        starts = op.arange(stops, dtype="int64") * int64(strides[axis]) - int64(pads[axis])
        steps = op.arange(blocks[axis], dtype="int64") * int64(dilations[axis])
        # the axes of blocks, then the axes along which they are placed
        along = trailing_axes(steps, 2 * rank - 1 - axis) + trailing_axes(starts, rank - 1 - axis)
        along = node.let(along)
        fits = op.logical_and(along >= zero, along < images[axis])
        inside = op.logical_and(inside, fits)
        place = place * images[axis] + along
    area, elements = _product(node, images), _product(node, blocks)
    positions = node.let(op.reshape(op.where(inside, place, area), (1, -1)))
    batch, channels = node.size(data, 0), node.let(op.floor_divide(node.size(data, 1), elements))
    rows = node.let(batch * channels)
    updates = node.let(op.reshape(data, _sizes(node, rows, int64(-1))))
    empty = op.full(node.number(0, data), _sizes(node, rows, area + int64(1)), node.dtype(data))
    where = op.broadcast_to(positions, op.shape_of(updates, dtype="int64"))
    filled = op.scatter_elements(node.let(empty), node.let(where), updates, axis=1, reduction="add")
    kept = op.strided_slice(node.let(filled), int64([0]), op.reshape(area, (1,)), axes=(1,))
    found = op.reshape(node.let(kept), _sizes(node, batch, channels, *images))
    known = node.elements(image_shape) or (None,) * rank
    number = node.constant(channels)
    declared = (node.shape(data)[0], None if number is None else int(number), *known)
    return node.declare(found, declared, node.dtype(data))


def _product(node: Node, sizes: Sequence[Expr]) -> Expr:
    return node.let(reduce(mul, sizes, int64(1)))


def _sizes(node: Node, *sizes: Expr) -> Expr | tuple[int, ...]:
    """A shape of scalars: static where all of them are constant."""
    known = [node.constant(size) for size in sizes]
    if any(one is None for one in known):
        return node.let(op.stack(list(sizes), axis=0))
    return tuple(int(one) for one in known if one is not None)
