"""Images: sizes, colors, parts."""

from __future__ import annotations

from typing import Any

from relay import op
from relay.frontend.keras.converters import Operations
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
