"""Shapes, reshapes, transpositions, constants and inputs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relay import op
from relay.frontend.common.broadcast import of_shape
from relay.frontend.common.builder import int64, static
from relay.frontend.common.known_elements import pairs
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.frontend.tensorflow.values import Complex, Nothing, Value, with_parts
from relay.ir.expr import Constant, Expr, const
from relay.nd import NDArray

table = Table()


@table("Const")
def constant(node: Node) -> Value:
    weight = node.importer.weights.get(node.info.name) if not node.context.prefix else None
    if weight is not None:
        return weight
    dtype = node.info.attribute("dtype", "float32")
    if dtype in ("string", "resource", "variant"):
        return Nothing()
    data = node.attribute("value", None, np.ndarray)
    if dtype in ("complex64", "complex128"):
        parts = (Constant(NDArray(np.array(data[..., one]))) for one in (0, 1))
        return Complex(*(node.let(one) for one in parts))
    return Constant(NDArray(np.asarray(data, order="C")))


@table("Placeholder", "PlaceholderV2", "_Arg")
def placeholder(node: Node) -> Value:
    raise node.refused("it is no input of the model")


@table("Shape")
def shape(node: Node, data: Expr | Complex) -> Expr:
    data = data.real if isinstance(data, Complex) else data
    dtype = node.named_type("out_type", "int32")
    if (extents := static(node.shape(data))) is not None:
        return const(np.array(extents, dtype), dtype)
    return op.shape_of(data, dtype)


@table("ShapeN")
def shape_n(node: Node, *parts: Expr) -> list[Expr]:
    return [shape(node, one) for one in parts]


@table("Rank")
def rank(node: Node, data: Expr | Complex) -> Expr:
    return const(node.rank(data.real if isinstance(data, Complex) else data), "int32")


@table("Size")
def size(node: Node, data: Expr) -> Expr:
    return op.ndarray_size(data, node.named_type("out_type", "int32"))


def moved(node: Node, data: Expr | Complex, move: Callable[[Expr], Expr]) -> Value:
    """Operators that only move elements, applied to both parts of complex numbers."""
    if isinstance(data, Complex):
        return with_parts(data, [node.let(move(one)) for one in (data.real, data.imaginary)])
    return move(data)


@table("Reshape")
def reshape(node: Node, data: Expr | Complex, wanted: Expr) -> Value:
    return moved(node, data, lambda one: node.reshaped(one, wanted))


@table("Squeeze")
def squeeze(node: Node, data: Expr | Complex) -> Value:
    axes = node.integers("squeeze_dims") or node.integers("axis")
    return moved(node, data, lambda one: node.without_axes(one, axes))


@table("ExpandDims")
def expand_dims(node: Node, data: Expr | Complex, axis: Expr) -> Value:
    first = data.real if isinstance(data, Complex) else data
    place = node.axis(axis, node.rank(first) + 1)
    return moved(node, data, lambda one: op.expand_dims(one, place))


@table("Transpose")
def transpose(node: Node, data: Expr | Complex, order: Expr) -> Value:
    first = data.real if isinstance(data, Complex) else data
    known = node.known.of(order)
    given = static(known)
    if given is None:
        given = tuple(int(one) for one in node.numbers(order, "the order"))
    axes = node.axes_of(given, node.rank(first), distinct=True)
    if len(axes) != node.rank(first):
        text = "the order is not that of all axes"
        raise node.refused(text, f"{node.rank(first)}", f"{axes}")
    return moved(node, data, lambda one: op.transpose(one, axes))


@table("ConjugateTranspose")
def conjugate_transpose(node: Node, data: Expr | Complex, order: Expr) -> Value:
    found = transpose(node, data, order)
    if isinstance(found, Complex):
        return Complex(found.real, node.let(op.negative(found.imaginary)))
    return found


@table("BroadcastTo")
def broadcast_to(node: Node, data: Expr, wanted: Expr) -> Expr:
    return node.broadcast(data, wanted)


@table("BroadcastArgs")
def broadcast_args(node: Node, left: Expr, right: Expr) -> Expr:
    """The shape that two shapes broadcast to."""
    counts = [node.static_extent(one, 0, "how many axes there are") for one in (left, right)]
    dtype, most = node.dtype(left), max(counts)
    first, second = (
        one
        if count == most
        else node.let(op.concatenate([const(np.ones(most - count, dtype), dtype), one], axis=0))
        for one, count in zip((left, right), counts, strict=True)
    )
    return op.where(op.equal(first, const(1, dtype)), second, first)


@table("Tile")
def tile(node: Node, data: Expr, times: Expr) -> Expr:
    elements = node.known.of(times)
    if (known := static(elements)) is not None:
        return op.tile(data, known)
    wanted = [
        None if one is None else extent * one
        for extent, one in zip(node.shape(data), elements or (), strict=False)
    ]
    found = op.tile(data, node.sizes(times))
    return node.declare(found, wanted or (None,) * node.rank(data), node.dtype(data))


@table("Fill")
def fill(node: Node, wanted: Expr, value: Expr) -> Expr:
    return node.filled(value, wanted)


@table("Empty")
def empty(node: Node, wanted: Expr) -> Expr:
    return node.filled(const(0, node.named_type("dtype")), wanted)


@table("Range")
def range_(node: Node, start: Expr, limit: Expr, delta: Expr) -> Expr:
    first, last, by = (node.scalar(one) for one in (start, limit, delta))
    dtype = node.dtype(start)
    found = node.let(op.arange(first, last, by, dtype=dtype))
    known = [node.known.of(one) for one in (first, last, by)]
    if known[0] == (0,) and known[2] == (1,) and known[1] and known[1][0] is not None:
        return node.declare(found, (known[1][0],), dtype)
    return found


@table("LinSpace")
def linspace(node: Node, start: Expr, stop: Expr, count: Expr) -> Expr:
    (number,) = node.numbers(count, "how many numbers there are")
    if number < 1:
        raise node.refused("there is one number at least", "1 or more", str(number))
    first, last = node.scalar(start), node.scalar(stop)
    if number == 1:
        return op.reshape(first, (1,))
    places = const(np.arange(number), node.dtype(first))
    by = (last - first) / node.number(number - 1, first)
    inner = node.let(first + by * places)
    is_last = const(np.arange(number) == number - 1, "bool")
    return op.where(is_last, last, inner)


@table("InvertPermutation")
def invert_permutation(node: Node, data: Expr) -> Expr:
    return op.invert_permutation(data)


# --- blocks --------------------------------------------------------------------------------------


@table("DepthToSpace", "SpaceToDepth")
def by_blocks(node: Node, data: Expr) -> Expr:
    layout = node.choice("data_format", "NHWC", ("NHWC", "NCHW"))
    to = op.nn.depth_to_space if node.operator == "DepthToSpace" else op.nn.space_to_depth
    return to(data, block_size=node.integer("block_size"), layout=layout)


@table("SpaceToBatchND")
def space_to_batch_nd(node: Node, data: Expr, block: Expr, pads: Expr) -> Expr:
    sizes = node.numbers(block, "the block")
    widths = [int64([[0, 0]]), node.as_dtype(pads, "int64")]
    if after := node.rank(data) - 1 - len(sizes):
        widths.append(int64([[0, 0]] * after))
    around = node.let(op.concatenate(widths, axis=0))
    padded = node.let(node.padded(data, around, node.number(0, data)))
    shape = node.shape(data)
    ends = node.shape(padded)
    outer = [shape[0], *ends[1 : 1 + len(sizes)], *shape[1 + len(sizes) :]]
    padded = of_shape(node, padded, outer)
    return op.nn.space_to_batch_nd(padded, sizes, [(0, 0)] * len(sizes))


@table("BatchToSpaceND")
def batch_to_space_nd(node: Node, data: Expr, block: Expr, crops: Expr) -> Expr:
    sizes = node.numbers(block, "the block")
    known = node.constant(crops)
    if known is not None:
        return op.nn.batch_to_space_nd(data, sizes, pairs(known.reshape(-1).tolist()))
    whole = node.let(op.nn.batch_to_space_nd(data, sizes, [(0, 0)] * len(sizes)))
    axes = tuple(range(1, 1 + len(sizes)))
    first, last = node.fields(op.split(node.as_dtype(crops, "int64"), 2, axis=1).astuple(), 2)
    begin = node.let(op.reshape(first, (-1,)))
    extents = node.extents(whole, 1, 1 + len(sizes))
    end = node.let(extents - op.reshape(last, (-1,)))
    found = op.strided_slice(whole, begin, end, axes=axes)
    shape = node.shape(whole)
    opened = [None if axis in axes else one for axis, one in enumerate(shape)]
    return node.declare(found, opened, node.dtype(data))


@table("DataFormatDimMap")
def dim_map(node: Node, axes: Expr) -> Expr:
    """Axes of one layout as those of another."""
    source, target = node.text("src_format", "NHWC"), node.text("dst_format", "NCHW")
    if sorted(source) != sorted(target):
        raise node.refused("the layouts have other axes", source, target)
    order = [target.index(letter) for letter in source]
    places = op.floor_mod(axes, node.number(len(source), axes))
    return op.take(const(order, node.dtype(axes)), node.let(places), axis=0)


@table("DataFormatVecPermute")
def vec_permute(node: Node, values: Expr) -> Expr:
    """Numbers per axis of one layout in the order of another."""
    source, target = node.text("src_format", "NHWC"), node.text("dst_format", "NCHW")
    count = node.static_extent(values, 0, "how many axes there are")
    if count == len(source) - 2:
        source, target = (
            "".join(letter for letter in one if letter not in "NC") for one in (source, target)
        )
    if sorted(source) != sorted(target) or count != len(source):
        raise node.refused("the layouts have other axes", source, target)
    return op.take(values, int64([source.index(letter) for letter in target]), axis=0)


# --- padding -------------------------------------------------------------------------------------


@table("Pad", "PadV2")
def pad(node: Node, data: Expr, widths: Expr, value: Expr | None = None) -> Expr:
    filling = node.number(0, data) if value is None else node.scalar(value)
    return node.padded(data, widths, filling)


@table("MirrorPad")
def mirror_pad(node: Node, data: Expr, widths: Expr) -> Expr:
    mode = node.choice("mode", "REFLECT", ("REFLECT", "SYMMETRIC"))
    return op.nn.mirror_pad(data, pairs(node.numbers(widths, "padding")), mode)


@table("Roll")
def roll(node: Node, data: Expr, shift: Expr, axis: Expr) -> Expr:
    """Roll: cyclic shift along axes."""
    shifts = [int(one) for one in node.numbers(shift, "by how much")]
    axes = node.axes_of(node.numbers(axis, "the axes"), node.rank(data))
    if len(shifts) != len(axes):
        raise node.refused("there are other axes than shifts", str(len(shifts)), str(len(axes)))
    for by, place in zip(shifts, axes, strict=True):
        extent = node.size(data, place)
        steps = node.positions(data, place)
        whole = op.floor_mod(steps - int64(by), op.maximum(extent, int64(1)))
        data = node.let(op.take(data, node.let(whole), axis=place))
    return data
