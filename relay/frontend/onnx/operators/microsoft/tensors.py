"""Operators of com.microsoft that are nearly operators of the standard."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from relay import op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.common.indices import in_range
from relay.frontend.onnx.computations.standard import standard
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr

table = Converters("com.microsoft")
table.add_unary({"Inverse": op.matrix_inverse})


@table("Trilu")
def trilu(node: Node, data: Expr, diagonal: Expr | None = None) -> Expr:
    return standard(node, "Trilu", data, diagonal)[0]


@table("GridSample")
def grid_sample(node: Node, data: Expr, grid: Expr) -> Expr:
    return standard(node, "GridSample", data, grid, version=16)[0]


@table("GatherND")
def gather_nd(node: Node, data: Expr, indices: Expr) -> Expr:
    return standard(node, "GatherND", data, node.let(op.cast(indices, "int64")))[0]


@table("ExpandDims")
def expand_dims(node: Node, data: Expr, axis: Expr) -> Expr:
    (place,) = node.integers(axis, "the axis")
    return op.expand_dims(data, node.axis_of(place, node.rank(data) + 1))


@table("Range")
def arange(node: Node, start: Expr, limit: Expr, delta: Expr | None = None) -> Expr:
    step = node.number(1, start) if delta is None else delta
    return standard(node, "Range", start, limit, step)[0]


@table("Pad")
def pad(node: Node, data: Expr, widths: Expr, value: Expr | None = None) -> Expr:
    if node.rank(widths) == 2:
        widths = node.let(op.reshape(widths, (-1,)))
    return standard(node, "Pad", data, widths, value, version=11)[0]


@table("Unique")
def unique(node: Node, data: Expr) -> Sequence[Expr]:
    """The unique elements in their order, the inverse indices, and the counts."""
    names = ["values", "first", "numbers", "counts"]
    found = standard(node, "Unique", data, attributes={"sorted": 0}, outputs=names)
    return [found[0], found[2], found[3]]


@table("UnfoldTensor")
def unfold(node: Node, data: Expr) -> Expr:
    """Sliding windows along an axis, as a new last axis."""
    rank = node.rank(data)
    axis = node.axis_of(node.attribute("dim", -1), rank)
    size, step = node.required("size"), node.attribute("step", 1)
    last = node.let(op.transpose(data, (*(one for one in range(rank) if one != axis), axis)))
    windows = node.let(op.sliding_window(last, rank - 1, (size,), (step,)))
    back = [*range(axis), rank - 1, *range(axis, rank - 1), rank]
    return op.transpose(windows, tuple(back))


@table("CDist")
def distances(node: Node, left: Expr, right: Expr) -> Expr:
    """The distance of every row of one matrix to every row of another."""
    metrics = ("sqeuclidean", "euclidean")
    metric = node.choice("metric", "sqeuclidean", metrics, "distance")
    rows, columns = node.let(op.expand_dims(left, 1)), node.let(op.expand_dims(right, 0))
    difference = node.let(op.subtract(*broadcastable(node, rows, columns)))
    squares = op.sum(difference * difference, axis=2)
    return squares if metric == "sqeuclidean" else op.sqrt(squares)


@table("IsAllFinite")
def is_all_finite(node: Node, *values: Expr) -> Expr:
    tests = (("isinf_only", op.isinf), ("isnan_only", op.isnan))
    chosen = [test for name, test in tests if node.attribute(name, 0)]
    good = (op.logical_not(chosen[0](one)) if chosen else op.isfinite(one) for one in values)
    found = [node.let(op.all(one)) for one in good]
    return reduce(lambda left, right: node.let(op.logical_and(left, right)), found)


@table("Rfft")
def rfft(node: Node, data: Expr) -> Expr:
    """The nonnegative frequencies of a real signal along the last axis."""
    _only_one_axis(node)
    pairs = node.let(op.expand_dims(data, node.rank(data)))
    return standard(node, "DFT", pairs, attributes={"onesided": 1})[0]


@table("Irfft")
def irfft(node: Node, data: Expr) -> Expr:
    """The real signal of its nonnegative frequencies."""
    _only_one_axis(node)
    found = standard(node, "DFT", data, attributes={"onesided": 1, "inverse": 1})[0]
    return op.squeeze(found, (node.rank(data) - 1,))


def _only_one_axis(node: Node) -> None:
    if node.attribute("signal_ndim", 1) != 1 or node.attribute("normalized", 0):
        raise node.refused("signals have one axis, and sums are not divided", "signal_ndim = 1")


@table("ComplexMul", "ComplexMulConj")
def complex_multiply(node: Node, left: Expr, right: Expr) -> Expr:
    """The product of complex numbers, the second one conjugated for ComplexMulConj."""
    left, right = broadcastable(node, left, right)
    last = node.rank(left) - 1
    (a, b), (c, d) = (
        node.fields(op.split(one, 2, axis=node.rank(one) - 1).astuple(), 2) for one in (left, right)
    )
    if node.operator == "ComplexMulConj":
        d = node.let(-d)
    real = a * c - b * d
    imaginary = a * d + b * c
    return op.concatenate([real, imaginary], axis=last)


@table("CropAndResize")
def crop_and_resize(node: Node, data: Expr, boxes: Expr, images: Expr, size: Expr) -> Expr:
    """Boxes (top, left, bottom, right) of images, from 0 to 1, at one size."""
    mode = node.choice("mode", "bilinear", ("bilinear", "nearest"))
    height, width = node.integers(size, "the size")
    return op.image.crop_and_resize(
        data,
        boxes,
        node.let(op.cast(in_range(node, images, data), "int32")),
        crop_size=(height, width),
        layout="NCHW",
        method="bilinear" if mode == "bilinear" else "nearest_neighbor",
        extrapolation_value=node.attribute("extrapolation_value", 0.0),
    )
