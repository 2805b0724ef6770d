"""Affine grids and grid sampling."""

from __future__ import annotations

from relay import dtypes, op
from relay.errors import VALUE
from relay.frontend.common.builder import int64
from relay.frontend.common.checking import within
from relay.frontend.common.grids import affine_places
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.shaping import whole_shape
from relay.ir.expr import Expr

table = Converters()


@table("AffineGrid")
def affine_grid(node: Node, matrices: Expr, size: Expr) -> Expr:
    """The position that each element of an image or a volume is read from: matrices times
    (x, y, 1) or (x, y, z, 1), where x, y and z run from -1 to 1 along the last axes."""
    count = node.length(size := whole_shape(node, size), "the size") - 2
    if count not in (2, 3):
        raise node.refused("a grid is for images or volumes", "4 or 5 sizes", str(count + 2))
    node.must_have_axes(matrices, 3, "matrices")
    aligned = bool(node.attribute("align_corners", 0))
    known = node.elements(size) or (None,) * (count + 2)
    size = within(node, size, 1, None, "a size is not positive", "1 or more")
    images = node.let(op.take(op.cast(size, "int64"), int64(0), axis=0))
    batch = node.size(matrices, 0)
    message = "there is not a matrix for each image"
    size = node.checked(size, op.equal(images, batch), message, VALUE, VALUE, batch, images)
    sizes = [
        (new, node.let(op.take(op.cast(size, "int64"), int64(axis + 2), axis=0)))
        for axis, new in enumerate(known[2:])
    ]
    return affine_places(node, matrices, sizes, aligned)


_MODES = {
    "nearest": "nearest",
    "linear": "bilinear",
    "bilinear": "bilinear",
    "cubic": "bicubic",
    "bicubic": "bicubic",
}


@table("GridSample")
def grid_sample(node: Node, data: Expr, grid: Expr) -> Expr:
    """Signals, images or volumes; the grid has the position of each element along its last axis."""
    mode = node.choice("mode", "bilinear", _MODES)
    paddings = ("zeros", "border", "reflection")
    padding = node.choice("padding_mode", "zeros", paddings, "padding")
    rank, aligned = node.rank(data), bool(node.attribute("align_corners", 0))
    if rank not in (3, 4, 5):
        expected = "one to three axes after those of images and channels"
        raise node.misfit("what is read has other axes", expected, str(node.type_of(data)))
    node.must_have_axes(grid, rank, "the places")
    dtype = node.dtype(data)
    positions = op.transpose(grid, (0, rank - 1, *range(1, rank - 1)))
    images = data if dtypes.is_float(dtype) else op.cast(data, "float64")
    if rank == 3:
        # a signal as an image of one row
        images, positions = op.expand_dims(images, 2), op.expand_dims(positions, 2)
        positions = op.concatenate([positions, op.zeros_like(positions)], axis=1)
    found = op.image.grid_sample(
        images,
        positions,
        method=_MODES[mode],
        layout="NCDHW" if rank == 5 else "NCHW",
        padding_mode=padding,
        align_corners=aligned,
    )
    if rank == 3:
        found = op.squeeze(found, (2,))
    return found if dtypes.is_float(dtype) else op.cast(found, dtype)
