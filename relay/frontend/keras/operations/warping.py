"""Resampled images: by coordinates, projections, scales."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product as choices
from typing import Any

import numpy as np

from relay import dtypes, op
from relay.frontend.common.builder import int64
from relay.frontend.common.products import product
from relay.frontend.keras.converters import Operations
from relay.frontend.keras.node import Node
from relay.frontend.keras.promotion import floating, promoted
from relay.ir.expr import Expr, const

table = Operations()

ORDERS = {"nearest": 0, "bilinear": 1}
FILLS = ("constant", "nearest", "wrap", "mirror", "reflect")


def _mirrored(index: Expr, size: int) -> Expr:
    last = int64(size - 1)
    turned = op.floor_mod(index + last, int64(max(2 * (size - 1), 1)))
    return op.abs(turned - last)


def _inside(index: Expr, size: int, fill: str) -> Expr:
    """A coordinate outside of an axis, mapped into it."""
    match fill:
        case "wrap":
            return op.floor_mod(index, int64(size))
        case "mirror":
            return _mirrored(index, size)
        case "reflect":
            doubled = _mirrored(index * int64(2) + int64(1), 2 * size + 1)
            return op.floor_divide(doubled - int64(1), int64(2))
    return op.clip(index, 0, size - 1)


def read_at(
    node: Node,
    flat: Expr,
    sizes: Sequence[int],
    places: Sequence[Expr],
    fill: str,
    value: float,
    order: int,
    batch: int,
) -> Expr:
    """Elements at places between others, one place for each axis of `sizes`, which are merged in
    `flat` behind `batch` axes; more axes may follow."""
    if fill not in FILLS:
        raise node.refused("there is no such way to fill", ", ".join(FILLS), fill)
    if order not in (0, 1):
        raise node.refused("there is no such order", "0 or 1", str(order))
    ends: list[list[tuple[Expr, Expr | None]]] = []
    for place in places:
        if order == 0 or not dtypes.is_float(node.dtype(place)):
            whole = op.round(place) if dtypes.is_float(node.dtype(place)) else place
            ends.append([(node.let(op.cast(whole, "int64")), None)])
            continue
        low = node.let(op.floor(place))
        part = node.let(place - low)
        index = node.let(op.cast(low, "int64"))
        rest = node.let(node.number(1, part) - part)
        ends.append([(index, rest), (node.let(index + int64(1)), part)])
    dtype = node.dtype(flat)
    wide = dtype if dtypes.is_float(dtype) else "float32"
    data = node.as_dtype(flat, wide)
    behind = node.rank(flat) - batch - 1
    total: Expr | None = None
    for corner in choices(*ends):
        where: Expr = int64(0)
        valid: Expr | None = None
        weight: Expr | None = None
        for (index, share), size in zip(corner, sizes, strict=True):
            where = where * int64(size) + _inside(index, size, fill)
            if fill == "constant":
                held = op.logical_and(index >= int64(0), index < int64(size))
                valid = held if valid is None else op.logical_and(valid, held)
            if share is not None:
                weight = share if weight is None else weight * share
        taken = node.let(op.take(data, node.let(where), axis=batch, batch_dims=batch))
        if valid is not None:
            shown = op.expand_dims(valid, -1, num_newaxis=behind) if behind else valid
            taken = node.let(op.where(shown, taken, node.number(value, data)))
        if weight is not None:
            share = op.expand_dims(weight, -1, num_newaxis=behind) if behind else weight
            taken = node.let(taken * node.as_dtype(node.let(share), wide))
        total = taken if total is None else node.let(total + taken)
    assert total is not None
    found = total if dtypes.is_float(dtype) or order == 0 else node.let(op.round(total))
    return node.as_dtype(found, dtype)


@table("image.MapCoordinates")
def map_coordinates(node: Node, inputs: Expr, coordinates: Any) -> Expr:
    sizes = node.static_shape(inputs, "data")
    if isinstance(coordinates, Expr):
        places = [node.let(op.take(coordinates, int64(at), axis=0)) for at in range(len(sizes))]
    else:
        places = [node.tensor(one) for one in coordinates]
    if len(places) != len(sizes):
        raise node.refused("there is no place for each axis", str(len(sizes)), str(len(places)))
    flat = node.let(op.reshape(inputs, (-1,)))
    value = float(node.option("fill_value", 0.0)) if node.config.get("fill_value") else 0.0
    fill = node.option("fill_mode", "constant")
    return read_at(node, flat, sizes, places, fill, value, node.option("order", 1), 0)


def _images(node: Node, images: Expr) -> tuple[Expr, bool]:
    """Images with a batch and channels last, and whether they had no batch."""
    single = node.rank(images) == 3
    data = node.let(op.expand_dims(images, 0)) if single else images
    return (data if node.channels_last else node.let(op.transpose(data, (0, 2, 3, 1)))), single


def _back(node: Node, found: Expr, single: bool) -> Expr:
    found = found if node.channels_last else node.let(op.transpose(found, (0, 3, 1, 2)))
    return op.squeeze(found, (0,)) if single else found


def _projected(node: Node, images: Expr, factors: Expr, fill: str) -> Expr:
    """Element (x, y) is read at (a x + b y + c, d x + e y + f) / (g x + h y + 1)."""
    data, single = _images(node, images)
    _, height, width, _ = (
        0, *(node.static_extent(data, axis, "the size of images") for axis in (1, 2, 3))
    )  # fmt: skip
    wide = node.dtype(factors)
    a, b, c, d, e, f, g, h = (
        node.let(op.expand_dims(op.take(factors, int64([at]), axis=1), 2)) for at in range(8)
    )
    x = const(np.arange(width)[None, :], wide)
    y = const(np.arange(height)[:, None], wide)
    scale = node.let(g * x + h * y + const(1, wide))
    across = node.let((a * x + b * y + c) / scale)
    down = node.let((d * x + e * y + f) / scale)
    # one projection may be for all images
    ones = node.let(op.zeros_like(op.take(op.take(data, int64([0]), axis=1), int64(0), axis=3)))
    ones = node.as_dtype(ones, wide)
    across, down = node.let(across + ones), node.let(down + ones)
    flat = node.let(op.reshape(data, (0, -3, 0)))
    kind = node.option("interpolation", "bilinear")
    if kind not in ORDERS:
        raise node.refused("there is no such interpolation", "nearest or bilinear", kind)
    value = float(node.config.get("fill_value") or 0)
    sizes = (height, width)
    found = read_at(node, flat, sizes, (down, across), fill, value, ORDERS[kind], 1)
    return _back(node, found, single)


@table("image.AffineTransform")
def affine_transform(node: Node, images: Expr, transform: Any) -> Expr:
    factors = node.tensor(transform)
    factors = node.let(op.expand_dims(factors, 0)) if node.rank(factors) == 1 else factors
    factors = floating(node, factors)
    # without a projection, whatever the last two numbers are
    linear = op.strided_slice(factors, [0], [6], axes=(1,))
    factors = node.let(op.nn.pad(node.let(linear), [(0, 0), (0, 2)], node.number(0, factors)))
    return _projected(node, images, factors, node.option("fill_mode", "constant"))


@table("image.PerspectiveTransform")
def perspective_transform(node: Node, images: Expr, start_points: Any, end_points: Any) -> Expr:
    """The projection that moves four points to four others."""
    begin, end = (floating(node, node.tensor(one)) for one in (start_points, end_points))
    begin, end = (
        node.let(op.expand_dims(one, 0)) if node.rank(one) == 2 else one for one in (begin, end)
    )
    one = op.ones_like(op.strided_slice(end, [0], [1], axes=(2,)))
    place = node.let(op.concatenate([end, one], axis=2))
    empty = node.let(op.zeros_like(place))
    rows = []
    for axis in (0, 1):
        target = node.let(op.take(begin, int64([axis]), axis=2))
        parts = [place, empty] if axis == 0 else [empty, place]
        rows.append(node.let(op.concatenate([*parts, op.negative(target * end)], axis=2)))
    matrix = node.let(op.reshape(node.let(op.stack(rows, axis=2)), (0, 8, 8)))
    right = node.let(op.reshape(begin, (0, 8, 1)))
    found = node.let(product(node, node.let(op.matrix_inverse(matrix)), right))
    return _projected(node, images, node.let(op.reshape(found, (0, 8))), "constant")


def _triangle(node: Node, x: Expr) -> Expr:
    return op.maximum(node.number(0, x), node.number(1, x) - x)


def _cubic(node: Node, x: Expr) -> Expr:
    def c(value: float) -> Expr:
        return node.number(value, x)

    near = ((c(1.5) * x - c(2.5)) * x) * x + c(1)
    far = ((c(-0.5) * x + c(2.5)) * x - c(4)) * x + c(2)
    return op.where(x >= c(2), c(0), op.where(x >= c(1), far, near))


def _lanczos(radius: float) -> Any:
    def kernel(node: Node, x: Expr) -> Expr:
        def c(value: float) -> Expr:
            return node.number(value, x)

        y = c(radius) * op.sin(c(math.pi) * x) * op.sin(c(math.pi / radius) * x)
        by = op.where(op.not_equal(x, c(0)), c(math.pi**2) * x * x, c(1))
        return op.where(x > c(radius), c(0), op.where(x > c(1e-3), y / by, c(1)))

    return kernel


KERNELS = {
    "linear": _triangle, "bilinear": _triangle, "trilinear": _triangle, "cubic": _cubic,
    "bicubic": _cubic, "tricubic": _cubic, "lanczos3": _lanczos(3.0), "lanczos5": _lanczos(5.0),
}  # fmt: skip


@table("image.ScaleAndTranslate")
def scale_and_translate(
    node: Node, images: Expr, output_shape: Any, scale: Any, translation: Any
) -> Expr:
    """Axis by axis, a product with the weights of the elements around."""
    method = node.option("method", "linear")
    if method not in KERNELS:
        raise node.refused("there is no such method", ", ".join(KERNELS), method)
    scales, moves = (floating(node, one) for one in promoted(node, scale, translation))
    rank = node.rank(images)
    axes = node.axes_of(node.config.get("spatial_dims") or (), rank)
    dtype = node.dtype(images)
    data = floating(node, images)
    for place, axis in enumerate(axes):
        before = node.static_extent(images, axis, "the size of images")
        after = int(output_shape[axis])
        one = node.number(1, scales)
        inverse = node.let(one / op.take(scales, int64(place), axis=0))
        by = node.let(op.maximum(inverse, one)) if node.option("antialias", True) else one
        steps = const(np.arange(after) + 0.5, node.dtype(scales))
        move = op.take(moves, int64(place), axis=0)
        at = node.let(steps * inverse - move * inverse - node.number(0.5, scales))
        rows = const(np.arange(before)[:, None], node.dtype(scales))
        weights = node.let(KERNELS[method](node, node.let(op.abs(at - rows) / by)))
        sums = node.let(op.sum(weights, axis=(0,), keepdims=True))
        zero = node.number(0, sums)
        enough = op.abs(sums) > node.number(1000 * float(np.finfo("float32").eps), sums)
        safe = op.where(op.not_equal(sums, zero), sums, one)
        weights = node.let(op.where(enough, weights / safe, zero))
        inside = op.logical_and(at >= node.number(-0.5, at), at <= node.number(before - 0.5, at))
        weights = node.as_dtype(node.let(op.where(inside, weights, zero)), node.dtype(data))
        order = [*(other for other in range(rank) if other != axis), axis]
        back = sorted(range(rank), key=lambda one, order=order: order[one])  # type: ignore[misc]
        moved = node.let(op.transpose(data, tuple(order)))
        data = node.let(op.transpose(node.let(op.nn.matmul(moved, weights)), tuple(back)))
    if dtypes.is_float(dtype):
        return data
    low, high = (op.cast(one(images), node.dtype(data)) for one in (op.min, op.max))
    return node.as_dtype(node.let(op.minimum(op.maximum(op.round(data), low), high)), dtype)
