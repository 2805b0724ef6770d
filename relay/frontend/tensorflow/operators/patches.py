"""Patches of images and volumes, and images read through projections."""

from __future__ import annotations

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.common.windows import Windows
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.frontend.tensorflow.operators.windows import spatial
from relay.ir.expr import Expr, const

table = Table()


@table("ExtractImagePatches", "ExtractVolumePatches")
def extract_patches(node: Node, data: Expr) -> Expr:
    """The elements of each window, one after the other, as channels."""
    count = node.rank(data) - 2
    ones = [1] * (count + 2)
    sizes = spatial(node, node.integers("ksizes", ones), "windows", count)
    strides = spatial(node, node.integers("strides", ones), "strides", count)
    rates = spatial(node, node.integers("rates", ones), "rates", count)
    windows = Windows(sizes, strides, rates, "SAME_UPPER", None, first=1)
    channels = node.static_extent(data, -1, "how many channels there are")
    if node.choice("padding", "VALID", ("SAME", "VALID")) == "SAME":
        same = windows.same(node.shape(data))
        if same.pads is None:
            raise node.refused("the size of images must be known", hint=node.give_sizes)
        data = node.let(op.nn.pad(data, [(0, 0), *same.pads, (0, 0)], node.number(0, data)))
    order = (0, count + 1, *range(1, count + 1))
    first = node.let(op.transpose(data, order))
    reach = tuple((size - 1) * rate + 1 for size, rate in zip(sizes, rates, strict=True))
    found = node.let(op.sliding_window(first, 2, reach, tuple(strides)))
    inside = tuple(range(2 + count, 2 + 2 * count))
    if max(rates) > 1:
        found = node.let(
            op.strided_slice(found, [0] * count, list(reach), list(rates), axes=inside)
        )
    places = tuple(range(2, 2 + count))
    turned = node.let(op.transpose(found, (0, *places, *inside, 1)))
    total = channels
    for size in sizes:
        total *= size
    return op.reshape(turned, (*[0] * (1 + count), total))


@table("ImageProjectiveTransformV2", "ImageProjectiveTransformV3")
def projective_transform(
    node: Node, images: Expr, transforms: Expr, size: Expr, filling: Expr | None = None
) -> Expr:
    """Each element is read from where a projection puts it: (a x + b y + c) / (g x + h y + 1)."""
    mode = node.choice("fill_mode", "CONSTANT", ("CONSTANT", "NEAREST"))
    method = node.choice("interpolation", "NEAREST", ("NEAREST", "BILINEAR"))
    batch, rows, columns, _ = node.static_shape(images, "images")
    height, width = (int(one) for one in node.numbers(size, "the size"))
    dtype = node.dtype(images)
    floats = node.as_dtype(images, "float32")
    if node.shape(transforms)[0] == 1 != batch:
        transforms = node.let(op.repeat(transforms, batch, axis=0))
    parts = [
        node.let(op.expand_dims(op.take(transforms, int64([place]), axis=1), 2))
        for place in range(8)
    ]
    x = op.expand_dims(op.arange(const(width, "float32"), dtype="float32"), 0)
    y = op.expand_dims(op.arange(const(height, "float32"), dtype="float32"), 1)
    scale = node.let(parts[6] * x + parts[7] * y + const(1.0))
    across = node.let((parts[0] * x + parts[1] * y + parts[2]) / scale)
    down = node.let((parts[3] * x + parts[4] * y + parts[5]) / scale)
    if mode == "NEAREST":
        across = node.let(op.clip(across, 0.0, float(columns - 1)))
        down = node.let(op.clip(down, 0.0, float(rows - 1)))
    value = const(0.0) if filling is None else node.as_dtype(node.scalar(filling), "float32")

    def read(at_x: Expr, at_y: Expr) -> Expr:
        inside = op.logical_and(
            op.logical_and(at_x >= const(0.0), at_x <= const(float(columns - 1))),
            op.logical_and(at_y >= const(0.0), at_y <= const(float(rows - 1))),
        )
        where = op.clip(at_y, 0.0, float(rows - 1)) * const(float(columns)) + op.clip(
            at_x, 0.0, float(columns - 1)
        )
        flat = node.let(op.reshape(floats, (0, -3, 0)))
        places = node.let(op.reshape(op.cast(where, "int64"), (0, -1)))
        taken = node.let(op.take(flat, places, axis=1, batch_dims=1))
        whole = op.reshape(taken, (0, height, width, -1))
        return node.let(op.where(op.expand_dims(node.let(inside), 3), whole, value))

    if method == "NEAREST":
        half = const(0.5)
        return op.cast(
            read(node.let(op.floor(across + half)), node.let(op.floor(down + half))), dtype
        )
    left, top = node.let(op.floor(across)), node.let(op.floor(down))
    right, bottom = node.let(left + const(1.0)), node.let(top + const(1.0))
    a = node.let(op.expand_dims(across - left, 3))
    b = node.let(op.expand_dims(down - top, 3))
    one = const(1.0)
    above = node.let((one - a) * read(left, top) + a * read(right, top))
    below = node.let((one - a) * read(left, bottom) + a * read(right, bottom))
    return op.cast((one - b) * above + b * below, dtype)
