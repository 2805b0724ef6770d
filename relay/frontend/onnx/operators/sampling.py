"""Tensors read at places that a grid names, and grids that matrices make."""

from __future__ import annotations

from relay import dtypes, op
from relay.errors import VALUE
from relay.frontend.onnx.computations.checking import within
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.shaping import whole_shape
from relay.ir.expr import Expr, const
from relay.ir.types import TensorType

table = Converters()

# --- grids -------------------------------------------------------------------------------------


@table("AffineGrid")
def affine_grid(node: Node, matrices: Expr, size: Expr) -> Expr:
    """For each element of images, or volumes, the place it is read from: x, y and z run from -1 to
    1 along the last axes, and a matrix is multiplied with (x, y, 1), or (x, y, z, 1)."""
    count = node.length(size := whole_shape(node, size), "the size") - 2
    if count not in (2, 3):
        raise node.refused("a grid is for images or volumes", "4 or 5 sizes", str(count + 2))
    node.must_have_axes(matrices, 3, "matrices")
    aligned, dtype = bool(node.attribute("align_corners", 0)), node.dtype(matrices)
    known = node.elements(size) or (None,) * (count + 2)
    size = within(node, size, 1, None, "a size is not positive", "1 or more")
    images = node.let(op.take(op.cast(size, "int64"), const(0, "int64"), axis=0))
    batch = node.size(matrices, 0)
    message = "there is not a matrix for each image"
    size = node.checked(size, op.equal(images, batch), message, VALUE, VALUE, batch, images)
    column: list[Expr] = [_column(node, matrices, number, count) for number in range(count + 1)]
    place = column[count]
    # x is the last axis, y the one before
    for number in range(count):
        axis = count - 1 - number
        extent = node.let(op.take(op.cast(size, "int64"), const(axis + 2, "int64"), axis=0))
        steps: Expr = op.arange(extent, dtype="int64")
        new = known[axis + 2]
        if new is not None:
            steps = node.let(steps, declared=TensorType((new,), "int64"))
        along = op.cast(_from_end_to_end(steps, extent, aligned), dtype)
        place = place + column[number] * op.expand_dims(along, 1, num_newaxis=number + 1)
    return place


def _column(node: Node, matrices: Expr, number: int, count: int) -> Expr:
    """A column of each matrix, as (n, 1…, count): one axis for each axis of images."""
    taken = op.strided_slice(matrices, [number], [number + 1], axes=(2,))
    return op.expand_dims(op.squeeze(taken, (2,)), 1, num_newaxis=count)


def _from_end_to_end(steps: Expr, extent: Expr, aligned: bool) -> Expr:
    """Numbers from -1 to 1: those are the centres of the first and last of them, or their edges.
    A single one lies in the middle."""
    one, two = const(1, "float64"), const(2, "float64")
    index, count = op.cast(steps, "float64"), op.cast(extent, "float64")
    if not aligned:
        return (two * index + one) / count - one
    last = op.maximum(count - one, one)
    middle = op.equal(count, one)
    return op.where(middle, const(0, "float64"), two * index / last - one)


# --- reading -----------------------------------------------------------------------------------

_MODES = {
    "nearest": "nearest",
    "linear": "bilinear",
    "bilinear": "bilinear",
    "cubic": "bicubic",
    "bicubic": "bicubic",
}


@table("GridSample")
def grid_sample(node: Node, data: Expr, grid: Expr) -> Expr:
    """Signals, images or volumes; the grid has the place of each element along its last axis."""
    mode, padding = node.attribute("mode", "bilinear"), node.attribute("padding_mode", "zeros")
    rank, aligned = node.rank(data), bool(node.attribute("align_corners", 0))
    if mode not in _MODES:
        raise node.refused("there is no such mode", ", ".join(_MODES), mode)
    if padding not in ("zeros", "border", "reflection"):
        raise node.refused("there is no such padding", "zeros, border or reflection", padding)
    if rank not in (3, 4, 5):
        expected = "one to three axes after those of images and channels"
        raise node.refused("what is read has other axes", expected, str(node.type_of(data)))
    node.must_have_axes(grid, rank, "the places")
    dtype = node.dtype(data)
    places = op.transpose(grid, (0, rank - 1, *range(1, rank - 1)))
    images = data
    if not dtypes.is_float(dtype):
        images = op.cast(data, "float64")
    if rank == 3:
        # a signal is an image of one row
        images, places = op.expand_dims(images, 2), op.expand_dims(places, 2)
        places = op.concatenate([places, op.zeros_like(places)], axis=1)
    found = op.image.grid_sample(
        images,
        places,
        method=_MODES[mode],
        layout="NCDHW" if rank == 5 else "NCHW",
        padding_mode=padding,
        align_corners=aligned,
    )
    if rank == 3:
        found = op.squeeze(found, (2,))
    return found if dtypes.is_float(dtype) else op.cast(found, dtype)
