"""Deterministic preprocessing: rescaling, resizing, lookup tables, bins."""

from __future__ import annotations

from typing import Any

import numpy as np

from relay import op
from relay.frontend.keras.converters import Table
from relay.frontend.keras.layers.reshaping import scaled
from relay.frontend.keras.node import Node
from relay.ir.expr import Expr, const

table = Table()


@table("Rescaling", keeps_mask=False)
def rescaling(node: Node, inputs: Expr) -> Expr:
    data = node.as_dtype(inputs, node.compute_dtype)
    scale, offset = (
        node.as_dtype(node.tensor(_plain(node.config.get(name, default)), data), node.dtype(data))
        for name, default in (("scale", 1.0), ("offset", 0.0))
    )
    return data * scale + offset


def _plain(value: Any) -> Any:
    """Numbers, also those that Keras wraps."""
    if isinstance(value, dict) and isinstance(value.get("config"), dict):
        return value["config"].get("value")
    return value


@table("MaxNumBoundingBoxes", "AugMix", "CutMix", "Equalization", "MixUp", "RandAugment",
       "RandomBrightness", "RandomColorDegeneration", "RandomColorJitter", "RandomContrast",
       "RandomCrop", "RandomElasticTransform",
       "RandomErasing", "RandomFlip", "RandomGaussianBlur", "RandomGrayscale", "RandomHue",
       "RandomInvert", "RandomPerspective", "RandomPosterization", "RandomRotation",
       "RandomSaturation", "RandomSharpness", "RandomShear", "RandomTranslation", "RandomZoom",
       "Solarization")  # fmt: skip
def augmentation(node: Node, inputs: Expr, **_: Any) -> Expr:
    """Augmentation layers: the identity at inference."""
    return inputs


@table("Discretization")
def discretization(node: Node, inputs: Expr) -> Expr:
    """Discretization: the index of the bin of a value."""
    bounds = _plain(node.config.get("bin_boundaries"))
    if not isinstance(bounds, list):
        raise node.refused("it has no bins", hint="adapt it to data before it is saved")
    data = node.as_dtype(inputs, "float32")
    ordered = node.let(const(np.asarray(sorted(bounds), "float32")))
    found = node.let(op.searchsorted(ordered, data, right=True, dtype="int32"))
    return encoded(node, found, node.option("output_mode", "int"), len(bounds) + 1, None)


@table("CategoryEncoding")
def category_encoding(node: Node, inputs: Expr, count_weights: Expr | None = None) -> Expr:
    count = node.option("num_tokens", 0)
    mode = node.option("output_mode", "multi_hot")
    return encoded(node, node.as_dtype(inputs, "int32"), mode, count, count_weights)


def encoded(
    node: Node, numbers: Expr, mode: str, depth: int, weights: Expr | None, dtype: str = ""
) -> Expr:
    """Category encoding: one-hot, multi-hot or counts."""
    if mode == "int":
        return numbers
    dtype = dtype or node.compute_dtype
    if node.rank(numbers) == 0 and mode != "one_hot":
        numbers = node.let(op.expand_dims(numbers, 0))
    rows = node.let(rows_of(node, numbers, depth, dtype))
    if weights is not None:
        rows = node.let(rows * op.expand_dims(node.as_dtype(weights, dtype), -1))
    if mode == "one_hot":
        rank = node.rank(numbers)
        return op.squeeze(rows, (rank - 1,)) if rank and node.shape(numbers)[-1] == 1 else rows
    if node.rank(numbers) == 1 and mode in ("multi_hot", "count"):
        return op.max(rows, axis=(0,)) if mode == "multi_hot" else op.sum(rows, axis=(0,))
    if mode == "multi_hot":
        return op.max(rows, axis=(-2,))
    if mode == "count":
        return op.sum(rows, axis=(-2,))
    raise node.refused("there is no such mode", "int, one_hot, multi_hot or count", mode)


def rows_of(node: Node, numbers: Expr, depth: int, dtype: str) -> Expr:
    """One-hot rows."""
    one, zero = const(1, dtype), const(0, dtype)
    return op.one_hot(numbers, one, zero, depth, -1, dtype)


@table("IntegerLookup")
def integer_lookup(node: Node, inputs: Expr) -> Expr:
    """IntegerLookup: the index of a number in an unsorted vocabulary."""
    if node.option("invert", False):
        raise node.refused("it gives numbers back for places", hint="invert=False")
    words = _vocabulary(node)
    outside = node.option("num_oov_indices", 1)
    mask = node.config.get("mask_token")
    mode = node.option("output_mode", "int")
    if outside != 1:
        raise node.refused("it has other than one place for what is not there", "1", str(outside))
    first = 1 if mask is None or mode != "int" else 2
    # sorted, so that a search finds the place
    order = np.argsort(words, kind="stable")
    known, places = np.asarray(words, "int64")[order], order + first
    data = node.as_dtype(inputs, "int64")
    near = node.let(op.searchsorted(node.let(const(known, "int64")), data, dtype="int32"))
    near = node.let(op.clip(near, 0, len(known) - 1))
    is_known = op.equal(op.take(node.let(const(known, "int64")), near, axis=0), data)
    own = op.take(node.let(const(places, "int32")), near, axis=0)
    found = node.let(op.where(is_known, own, const(first - 1, "int32")))
    if mask is None:
        return encoded(node, found, mode, len(words) + 1, None, "int64")
    hidden = node.let(op.equal(data, const(int(mask), "int64")))
    if mode == "int":
        return op.where(hidden, const(0, "int32"), found)
    counts = node.let(op.cast(op.logical_not(hidden), "int64"))
    return encoded(node, found, mode, len(words) + 1, counts, "int64")


def _vocabulary(node: Node) -> list[int]:
    """The numbers that are known: of the configuration, or of a file beside the weights."""
    given = _plain(node.config.get("vocabulary"))
    if isinstance(given, list):
        words = given
    else:
        name = f"/{node.info.name}/vocabulary.txt"
        text = next(
            (data for path, data in node.importer.assets.items() if path.endswith(name)), None
        )
        if text is None:
            raise node.refused(
                "it has no vocabulary", hint="give it in the constructor of the layer"
            )
        words = text.decode("utf-8", errors="replace").split()
    try:
        return [int(one) for one in words]
    except (TypeError, ValueError):
        raise node.refused("a word of its vocabulary is no number") from None


@table("Resizing")
def resizing(node: Node, inputs: Expr) -> Expr:
    if node.option("crop_to_aspect_ratio", False) or node.option("pad_to_aspect_ratio", False):
        raise node.refused("it keeps the ratio of the sides", hint="resize to sizes of that ratio")
    sizes = [node.option(name, 0) for name in ("height", "width")]
    mode = node.option("interpolation", "bilinear")
    data = node.as_dtype(inputs, node.compute_dtype)
    first = node.rank(data) - (3 if node.channels_last else 2)
    antialias = bool(node.option("antialias", False))
    return scaled(node, data, first, sizes, mode, antialias=antialias)


@table("CenterCrop")
def center_crop(node: Node, inputs: Expr) -> Expr:
    """The middle of images; smaller ones are refused, since they would be enlarged."""
    sizes = [node.option(name, 0) for name in ("height", "width")]
    first = node.rank(inputs) - (3 if node.channels_last else 2)
    data = node.as_dtype(inputs, node.compute_dtype)
    begins = []
    for place, size in enumerate(sizes):
        extent = node.static_extent(data, first + place, "the size of images")
        if extent < size:
            raise node.refused("an image is smaller than the crop", f"{size}", f"{extent}")
        begins.append((extent - size) // 2)
    ends = [begin + size for begin, size in zip(begins, sizes, strict=True)]
    return op.strided_slice(data, begins, ends, axes=(first, first + 1))
