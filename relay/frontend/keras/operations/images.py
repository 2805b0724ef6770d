"""Images: sizes, colors, parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay import op
from relay.frontend.keras.converters import Operations
from relay.frontend.keras.layers.convolution import by_channel, windows_of
from relay.frontend.keras.layers.reshaping import scaled
from relay.frontend.keras.node import Node
from relay.frontend.keras.promotion import floating
from relay.ir.expr import Expr, const

table = Operations()


def _first(node: Node, images: Expr) -> int:
    """The axis of rows."""
    return node.rank(images) - (3 if node.channels_last else 2)


@table("image.Resize")
def resize(node: Node, images: Expr) -> Expr:
    if node.option("crop_to_aspect_ratio", False) or node.option("pad_to_aspect_ratio", False):
        raise node.refused("it keeps the ratio of the sides", hint="resize to sizes of that ratio")
    sizes = node.whole_numbers("size", 2)
    mode = node.option("interpolation", "bilinear")
    return scaled(
        node,
        images,
        _first(node, images),
        sizes,
        mode,
        antialias=bool(node.option("antialias", False)),
    )


@table("image.RGBToGrayscale")
def grayscale(node: Node, images: Expr) -> Expr:
    axis = node.rank(images) - 1 if node.channels_last else node.rank(images) - 3
    data = floating(node, images)
    shape = [1] * node.rank(images)
    shape[axis] = 3
    weights = op.reshape(const([0.2989, 0.5870, 0.1140], node.dtype(data)), tuple(shape))
    found = node.let(op.sum(data * weights, axis=(axis,), keepdims=True))
    return node.as_dtype(found, node.dtype(images))


@table("image.PadImages", "image.CropImages")
def framed(node: Node, images: Expr) -> Expr:
    """Images padded or cropped at each side."""
    first = _first(node, images)
    what = "padding" if node.operator == "PadImages" else "cropping"
    pairs: list[tuple[int, int]] = []
    for place, (before, after, size) in enumerate(
        (("top", "bottom", "height"), ("left", "right", "width"))
    ):
        extent = node.static_extent(images, first + place, "the size of images")
        given: list[Any] = [node.config.get(f"{side}_{what}") for side in (before, after)]
        wanted = node.config.get(f"target_{size}")
        if None in given:
            if wanted is None or given == [None, None]:
                raise node.refused("it does not say what is at each side")
            whole = abs(int(wanted) - extent)
            other = next(one for one in given if one is not None)
            given = [whole - other if one is None else one for one in given]
        pairs.append((int(given[0]), int(given[1])))
    if node.operator == "PadImages":
        pads = [(0, 0)] * first + pairs + [(0, 0)] * (node.rank(images) - first - 2)
        return op.nn.pad(images, pads, node.number(0, images))
    ends = [-after if after else 2**31 - 1 for _, after in pairs]
    return op.strided_slice(images, [before for before, _ in pairs], ends, axes=(first, first + 1))


# --- colors --------------------------------------------------------------------------------------


def _planes(node: Node, images: Expr) -> tuple[int, list[Expr]]:
    axis = node.rank(images) - (1 if node.channels_last else 3)
    if node.static_extent(images, axis, "how many channels there are") != 3:
        raise node.refused("images do not have three channels")
    return axis, [node.let(op.take(images, const(at, "int64"), axis=axis)) for at in range(3)]


@table("image.RGBToHSV")
def rgb_to_hsv(node: Node, images: Expr) -> Expr:
    least = node.number(float(np.finfo(node.dtype(images)).eps), images)
    zero, one = node.number(0, images), node.number(1, images)
    data = node.let(op.where(op.abs(images) < least, zero, images))
    axis, (red, green, blue) = _planes(node, data)
    value = node.let(op.maximum(op.maximum(red, green), blue))
    span = node.let(value - op.minimum(op.minimum(red, green), blue))
    positive = node.let(op.greater(span, zero))
    lit = node.let(op.greater(value, zero))
    saturation = op.where(lit, span / op.where(lit, value, one), zero)
    by = node.let(one / (node.number(6, data) * op.where(positive, span, one)))
    third, two_thirds = node.number(2 / 6, data), node.number(4 / 6, data)
    other = op.where(
        op.equal(value, green), by * (blue - red) + third, by * (red - green) + two_thirds
    )
    hue = node.let(op.where(op.equal(value, red), by * (green - blue), other))
    turn = op.cast(op.less(hue, zero), node.dtype(data))
    hue = node.let(op.where(positive, hue, zero) + turn)
    return op.stack([hue, node.let(saturation), value], axis=axis)


@table("image.HSVToRGB")
def hsv_to_rgb(node: Node, images: Expr) -> Expr:
    axis, (hue, saturation, value) = _planes(node, images)
    one, two, three, four, six = (node.number(number, images) for number in (1, 2, 3, 4, 6))
    turn = node.let((hue - op.floor(hue)) * six)
    rest = node.let(one - saturation)
    parts = [op.abs(turn - three) - one, two - op.abs(turn - two), two - op.abs(turn - four)]
    colors = [node.let(value * (rest + saturation * op.clip(part, 0.0, 1.0))) for part in parts]
    return op.stack(colors, axis=axis)


# --- windows -------------------------------------------------------------------------------------


def _depthwise(node: Node, images: Expr, plane: np.ndarray, pads: tuple[int, int]) -> Expr:
    """Each channel convolved with one plane, zeros around it."""
    last = node.channels_last
    channels = node.static_extent(images, -1 if last else 1, "how many channels there are")
    kernel = const(np.repeat(plane[..., None], channels, -1)[..., None], node.dtype(images))
    windows = windows_of(node, images, plane.shape, (1, 1), (1, 1), "valid", last)
    framed = windows.with_pads([(one, one) for one in pads])
    return node.let(by_channel(node, images, node.let(kernel), last, framed))


@table("image.GaussianBlur")
def gaussian_blur(node: Node, images: Expr) -> Expr:
    sizes = node.whole_numbers("kernel_size", 2, 3)
    given: Any = node.config.get("sigma", (1.0, 1.0))
    sigmas = [float(one) for one in (given if isinstance(given, list | tuple) else [given] * 2)]
    bells = []
    for size, sigma in zip(sizes, sigmas, strict=True):
        bell = np.exp(-0.5 * ((np.arange(size) - (size - 1) / 2) / sigma) ** 2)
        bells.append(bell / bell.sum())
    single = node.rank(images) == 3
    data = node.let(op.expand_dims(images, 0)) if single else images
    plane = np.outer(bells[1], bells[0]).reshape(sizes)
    found = _depthwise(node, data, plane, (sizes[0] // 2, sizes[1] // 2))
    return op.squeeze(found, (0,)) if single else found


@table("image.SobelEdges")
def sobel_edges(node: Node, images: Expr) -> Expr:
    """The vertical and horizontal gradients of images."""
    plane = np.array([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    across, down = (_depthwise(node, images, one, (1, 1)) for one in (plane, plane.T))
    return op.stack([down, across], axis=4)


@table("image.ExtractPatches")
def extract_patches(node: Node, images: Expr) -> Expr:
    """The elements of each window, one after the other, as channels."""
    given: Any = node.config.get("size")
    rank = 3 if isinstance(given, list | tuple) and len(given) == 3 else 2
    sizes = node.whole_numbers("size", rank)
    strides = sizes if not node.config.get("strides") else node.whole_numbers("strides", rank)
    rates = node.whole_numbers("dilation_rate", rank)
    single = node.rank(images) == rank + 1
    data = node.let(op.expand_dims(images, 0)) if single else images
    last = node.channels_last
    data = data if last else node.let(op.transpose(data, (0, *range(2, rank + 2), 1)))
    padding = node.option("padding", "valid").lower()
    found = patches(node, data, sizes, strides, rates, padding)
    found = found if last else node.let(op.transpose(found, (0, rank + 1, *range(1, rank + 1))))
    return op.squeeze(found, (0,)) if single else found


def patches(
    node: Node,
    data: Expr,
    sizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
) -> Expr:
    """(batch, windows…, elements of a window and channels) of images with their channels last."""
    rank = len(sizes)
    windows = windows_of(node, data, sizes, strides, rates, padding, True)
    if windows.pads is None:
        raise node.refused("the size of images must be known", hint=node.give_sizes)
    if any(map(any, windows.pads)):
        data = node.let(op.nn.pad(data, [(0, 0), *windows.pads, (0, 0)], node.number(0, data)))
    first = node.let(op.transpose(data, (0, rank + 1, *range(1, rank + 1))))
    reach = tuple((size - 1) * rate + 1 for size, rate in zip(sizes, rates, strict=True))
    found = node.let(op.sliding_window(first, 2, reach, tuple(strides)))
    inside = tuple(range(2 + rank, 2 + 2 * rank))
    if max(rates) > 1:
        cut = op.strided_slice(found, [0] * rank, list(reach), list(rates), axes=inside)
        found = node.let(cut)
    turned = node.let(op.transpose(found, (0, *range(2, 2 + rank), *inside, 1)))
    total = node.static_extent(data, -1, "how many channels there are")
    for size in sizes:
        total *= size
    return node.let(op.reshape(turned, (*[0] * (1 + rank), total)))


@table("nn.Unfold")
def unfold(node: Node, x: Expr) -> Expr:
    """Windows of images as columns: (batch, channels and elements of a window, windows)."""
    sizes, strides = node.whole_numbers("kernel_size", 2), node.whole_numbers("stride", 2)
    rates, pads = node.whole_numbers("dilation", 2), node.whole_numbers("padding", 2, 0)
    around = [(0, 0), (0, 0), *((one, one) for one in pads)]
    data = node.let(op.nn.pad(x, around, node.number(0, x))) if any(pads) else x
    images = node.let(op.transpose(data, (0, 2, 3, 1)))
    found = patches(node, images, sizes, strides, rates, "valid")
    channels = node.static_extent(x, 1, "how many channels there are")
    count = sizes[0] * sizes[1]
    apart = node.let(op.reshape(found, (0, -3, count, channels)))
    turned = node.let(op.transpose(apart, (0, 3, 2, 1)))
    return op.reshape(turned, (0, -3, 0))


@table("nn.Fold")
def fold(node: Node, x: Expr) -> Expr:
    """Columns added up where their windows were."""
    sizes, strides = node.whole_numbers("kernel_size", 2), node.whole_numbers("stride", 2)
    rates, pads = node.whole_numbers("dilation", 2), node.whole_numbers("padding", 2, 0)
    target = node.whole_numbers("output_size", 2)
    _, rows, count = (0, *(node.static_extent(x, axis, "its size") for axis in (1, 2)))
    channels = rows // (sizes[0] * sizes[1])
    wholes = [size + 2 * pad for size, pad in zip(target, pads, strict=True)]
    reach = [(size - 1) * rate + 1 for size, rate in zip(sizes, rates, strict=True)]
    counts = [(a - b) // c + 1 for a, b, c in zip(wholes, reach, strides, strict=True)]
    if counts[0] * counts[1] != count:
        raise node.refused("there are other windows", str(counts[0] * counts[1]), str(count))
    at = [
        np.arange(size)[:, None] * rate + np.arange(many)[None] * stride
        for size, rate, many, stride in zip(sizes, rates, counts, strides, strict=True)
    ]
    places = at[0][:, None, :, None] * wholes[1] + at[1][None, :, None, :]
    flat = node.let(op.reshape(x, (0, channels, -1)))
    first = node.let(op.transpose(flat, (2, 0, 1)))
    like = node.let(op.sum(first, axis=(0,), keepdims=True) * node.number(0, x))
    empty = node.let(op.repeat(like, wholes[0] * wholes[1], axis=0))
    where = const(places.reshape(1, -1), "int64")
    summed = node.let(op.scatter_nd(empty, where, first, "add"))
    back = node.let(op.transpose(summed, (1, 2, 0)))
    whole = node.let(op.reshape(back, (0, channels, *wholes)))
    ends = [pad + size for pad, size in zip(pads, target, strict=True)]
    return op.strided_slice(whole, [*pads], ends, axes=(2, 3))
