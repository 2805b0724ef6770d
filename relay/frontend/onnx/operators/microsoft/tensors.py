"""Operators of the domain com.microsoft that are, or nearly are, operators of the standard."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.onnx.computations.broadcast import broadcastable
from relay.frontend.onnx.computations.indices import in_range
from relay.frontend.onnx.computations.standing_in import standard
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr, TupleGetItem

table = Converters("com.microsoft")


@table("Trilu")
def trilu(node: Node, data: Expr, diagonal: Expr | None = None) -> Expr:
    return standard(node, "Trilu", data, diagonal)[0]


@table("Inverse")
def inverse(node: Node, data: Expr) -> Expr:
    return op.matrix_inverse(data)


@table("GridSample")
def grid_sample(node: Node, data: Expr, grid: Expr) -> Expr:
    return standard(node, "GridSample", data, grid, version=16)[0]


@table("GatherND")
def gather_nd(node: Node, data: Expr, indices: Expr) -> Expr:
    return standard(node, "GatherND", data, node.let(op.cast(indices, "int64")))[0]


@table("ExpandDims")
def expand_dims(node: Node, data: Expr, axis: Expr) -> Expr:
    (place,) = node.integers(axis, "the axis")
    rank = node.rank(data) + 1
    if not -rank <= place < rank:
        raise node.refused("the axis is out of range", f"an axis of {rank}", str(place))
    return op.expand_dims(data, place % rank)


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
    """The elements in the order in which they come, where they are, and how many there are."""
    names = ["values", "first", "numbers", "counts"]
    found = standard(node, "Unique", data, attributes={"sorted": 0}, outputs=names)
    return [found[0], found[2], found[3]]


@table("UnfoldTensor")
def unfold(node: Node, data: Expr) -> Expr:
    """Windows along an axis, each along a new last one."""
    rank = node.rank(data)
    axis = node.attribute("dim", -1)
    if not -rank <= axis < rank:
        raise node.refused("the axis is out of range", f"an axis of {rank}", str(axis))
    axis %= rank
    size, step = node.required("size"), node.attribute("step", 1)
    last = node.let(op.transpose(data, (*(one for one in range(rank) if one != axis), axis)))
    windows = node.let(op.sliding_window(last, rank - 1, (size,), (step,)))
    back = [*range(axis), rank - 1, *range(axis, rank - 1), rank]
    return op.transpose(windows, tuple(back))


@table("CDist")
def distances(node: Node, left: Expr, right: Expr) -> Expr:
    """The distance of every row of one matrix from every row of another."""
    metric = node.attribute("metric", "sqeuclidean")
    if metric not in ("sqeuclidean", "euclidean"):
        raise node.refused("there is no such distance", "sqeuclidean or euclidean", str(metric))
    rows, columns = node.let(op.expand_dims(left, 1)), node.let(op.expand_dims(right, 0))
    difference = node.let(op.subtract(*broadcastable(node, rows, columns)))
    squares = op.sum(op.multiply(difference, difference), axis=2)
    return squares if metric == "sqeuclidean" else op.sqrt(squares)


@table("IsAllFinite")
def is_all_finite(node: Node, *values: Expr) -> Expr:
    tests = (("isinf_only", op.isinf), ("isnan_only", op.isnan))
    chosen = [test for name, test in tests if node.attribute(name, 0)]
    found = []
    for value in values:
        good = op.logical_not(chosen[0](value)) if chosen else op.isfinite(value)
        found.append(node.let(op.all(good)))
    whole = found[0]
    for one in found[1:]:
        whole = node.let(op.logical_and(whole, one))
    return whole


# --- complex numbers ---------------------------------------------------------------------------


@table("Rfft")
def rfft(node: Node, data: Expr) -> Expr:
    """Half of the frequencies of a real signal along the last axis."""
    _only_one_axis(node)
    pairs = node.let(op.expand_dims(data, node.rank(data)))
    return standard(node, "DFT", pairs, attributes={"onesided": 1})[0]


@table("Irfft")
def irfft(node: Node, data: Expr) -> Expr:
    """The real signal of half of its frequencies."""
    _only_one_axis(node)
    found = standard(node, "DFT", data, attributes={"onesided": 1, "inverse": 1})[0]
    return op.squeeze(found, (node.rank(data) - 1,))


def _only_one_axis(node: Node) -> None:
    if node.attribute("signal_ndim", 1) != 1 or node.attribute("normalized", 0):
        raise node.refused("signals have one axis, and sums are not divided", "signal_ndim = 1")


@table("ComplexMul", "ComplexMulConj")
def complex_multiply(node: Node, left: Expr, right: Expr) -> Expr:
    """Complex numbers one by one, the second ones conjugated where that is asked for."""
    left, right = broadcastable(node, left, right)
    last = node.rank(left) - 1
    (a, b), (c, d) = (_real_and_imaginary(node, one) for one in (left, right))
    if node.operator == "ComplexMulConj":
        d = node.let(op.negative(d))
    real = op.subtract(op.multiply(a, c), op.multiply(b, d))
    imaginary = op.add(op.multiply(a, d), op.multiply(b, c))
    return op.concatenate([real, imaginary], axis=last)


def _real_and_imaginary(node: Node, data: Expr) -> list[Expr]:
    parts = node.let(op.split(data, 2, axis=node.rank(data) - 1).astuple())
    return [node.let(TupleGetItem(parts, place)) for place in range(2)]


@table("CropAndResize")
def crop_and_resize(node: Node, data: Expr, boxes: Expr, images: Expr, size: Expr) -> Expr:
    """Parts of images, (top, left, bottom, right) from 0 to 1, in one size."""
    mode = node.attribute("mode", "bilinear")
    if mode not in ("bilinear", "nearest"):
        raise node.refused("there is no such mode", "bilinear or nearest", str(mode))
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
