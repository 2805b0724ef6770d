"""Anchor boxes of single-shot detectors, and the boxes that are predicted from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.expr import Expr, TupleWrapper
from relay.ir.types import TensorType, TupleType, Type
from relay.op.numerics import widened
from relay.op.opdef import FusionKind, Tensor, define, sample
from relay.op.site import FLOATING, Site

# --- anchors -----------------------------------------------------------------------------------


@attrs
class MultiBoxPriorAttrs(Attrs):
    """sizes: heights of anchors, as shares of the image
    ratios: widths of anchors divided by their heights
    steps: the distances between anchors along y and x, as shares of the image; negative for one
    anchor per element
    offsets: where the first anchor lies along y and x, in steps
    clip: cut anchors off at the edges of the image
    """

    sizes: tuple[float, ...] = (1.0,)
    ratios: tuple[float, ...] = (1.0,)
    steps: tuple[float, float] = (-1.0, -1.0)
    offsets: tuple[float, float] = (0.5, 0.5)
    clip: bool = False


def _multibox_prior_type(site: Site) -> Type | None:
    """(n, c, h, w) -> (1, h * w * anchors, 4)"""
    site.require_elements(0, FLOATING)
    for name in ("sizes", "ratios"):
        values = site.attrs[name]
        site.require(
            bool(values) and all(value > 0 for value in values),
            f"`{name}` does not fit",
            "at least one, all positive",
            f"{name} = {values}",
        )
    if (data := site.tensor(0, rank=4)) is None:
        return None
    anchors = len(site.attrs.sizes) + len(site.attrs.ratios) - 1
    count = dims.multiply(dims.multiply(data.shape[2], data.shape[3]), anchors)
    return TensorType((1, count, 4), data.dtype)


def _multibox_prior(
    data: np.ndarray,
    sizes: Sequence[float],
    ratios: Sequence[float],
    steps: Sequence[float],
    offsets: Sequence[float],
    clip: bool,
) -> np.ndarray:
    height, width = data.shape[2:]
    centres = [
        (np.arange(extent) + offset) * (step if step > 0 else 1 / max(extent, 1))
        for extent, step, offset in zip((height, width), steps, offsets, strict=True)
    ]
    y, x = (c[..., None] for c in np.meshgrid(*centres, indexing="ij"))
    roots = np.sqrt([1.0] * len(sizes) + list(ratios[1:]))
    scales = np.array([*sizes, *[sizes[0]] * (len(ratios) - 1)])
    half_width = scales * roots * height / max(width, 1) / 2
    half_height = scales / roots / 2
    boxes = np.stack((x - half_width, y - half_height, x + half_width, y + half_height), -1)
    result: np.ndarray = np.clip(boxes, 0, 1) if clip else boxes
    return result.reshape(1, -1, 4).astype(data.dtype)


multibox_prior = define(
    "vision.multibox_prior",
    doc="Anchors (left, top, right, bottom) for every element of a feature map: one for each size, "
    "and one of the first size for each ratio but the first.",
    arguments=[("data", "the feature map, of which only the extents matter")],
    attrs=MultiBoxPriorAttrs,
    relation=_multibox_prior_type,
    reference=_multibox_prior,
    fusion=FusionKind.OPAQUE,
    samples=[
        sample((2, 3, 2, 4)),
        sample((1, 1, 3, 2), sizes=(0.5, 0.2), ratios=(1.0, 2.0, 0.5), clip=True, dtype="float64"),
        sample((1, 1, 2, 2), ratios=(4.0, 3.0), steps=(0.3, 0.4), offsets=(0.0, 0.25)),
        sample((1, 1, 0, 2), sizes=(0.5, 0.2), dtype="float16"),
    ],
)

# --- predictions -------------------------------------------------------------------------------


@attrs
class MultiBoxTransformLocAttrs(Attrs):
    """clip: cut boxes off at the edges of the image
    threshold: the least probability that makes a box
    variances: what predictions are multiplied by, for x, y, width and height
    keep_background: boxes of the first class, the background, are kept too
    """

    clip: bool = True
    threshold: float = 0.01
    variances: tuple[float, float, float, float] = (0.1, 0.1, 0.2, 0.2)
    keep_background: bool = False


def _multibox_transform_loc_type(site: Site) -> Type | None:
    """((n, classes, anchors), (n, 4 * anchors), (1, anchors, 4)) -> ((n, anchors, 6), (n,))"""
    site.require_elements(0, FLOATING)
    if (probabilities := site.tensor(0, rank=3)) is None:
        return None
    batch, _, anchors = probabilities.shape
    dtype = probabilities.dtype
    (_, anchors, _) = site.expect(2, (1, anchors, 4), dtype).shape
    batch, _ = site.expect(1, (batch, dims.multiply(anchors, 4)), dtype).shape
    return TupleType((TensorType((batch, anchors, 6), dtype), TensorType((batch,), "int32")))


def _decoded(
    predictions: np.ndarray, anchors: np.ndarray, variances: Sequence[float], clip: bool
) -> Any:
    """Boxes (n, anchors, 4): centres moved by shares of the anchor, sides scaled by powers of e."""
    corner, opposite = anchors[..., :2], anchors[..., 2:]
    sides, centres = opposite - corner, (corner + opposite) / 2
    moves = predictions * np.array(variances, predictions.dtype)
    middle = moves[..., :2] * sides + centres
    half = np.exp(moves[..., 2:]) * sides / 2
    boxes = np.concatenate((middle - half, middle + half), -1)
    return np.clip(boxes, 0, 1) if clip else boxes


def _multibox_transform_loc(
    cls_prob: np.ndarray,
    loc_pred: np.ndarray,
    anchor: np.ndarray,
    clip: bool,
    threshold: float,
    variances: Sequence[float],
    keep_background: bool,
) -> tuple[np.ndarray, ...]:
    batch, _, anchors = cls_prob.shape
    wide = widened(cls_prob)
    first = 0 if keep_background else 1
    candidates = wide[:, first:]
    if candidates.shape[1]:
        classes, scores = candidates.argmax(1) + first, candidates.max(1)
    else:
        classes, scores = np.zeros((2, batch, anchors), wide.dtype)
    boxes = _decoded(widened(loc_pred).reshape(batch, anchors, 4), widened(anchor), variances, clip)
    good = scores >= wide.dtype.type(threshold)
    classes = np.where(good, classes, 0)
    rows = np.full((batch, anchors, 6), -1, cls_prob.dtype)
    counts = np.zeros(batch, np.int32)
    found = np.concatenate((classes[..., None] - first, scores[..., None], boxes), -1)
    for image in range(batch):
        kept = np.flatnonzero(keep_background | (classes[image] > 0))
        rows[image, : len(kept)] = found[image, kept]
        counts[image] = len(kept)
    return rows, counts


def multibox_transform_loc(
    cls_prob: Expr,
    loc_pred: Expr,
    anchor: Expr,
    clip: bool = True,
    threshold: float = 0.01,
    variances: Sequence[float] = (0.1, 0.1, 0.2, 0.2),
    keep_background: bool = False,
) -> TupleWrapper:
    """Boxes from anchors and predictions, and how many of each image are no background."""
    call = MULTIBOX_TRANSFORM_LOC(
        cls_prob, loc_pred, anchor, clip, threshold, variances, keep_background
    )
    return TupleWrapper(call, 2)


MULTIBOX_TRANSFORM_LOC = define(
    "vision.multibox_transform_loc",
    doc="For each anchor whose best class is at least as likely as the threshold, a row of class, "
    "probability, left, top, right and bottom; and how many rows each image has. The class counts "
    "from the first after the background, unless that is kept; then what is too unlikely is "
    "background, too. The rows that are left hold -1.",
    arguments=[
        ("cls_prob", "the probability of each class for each anchor, the background first"),
        ("loc_pred", "moves of the centre and logarithms of the scale, for each anchor"),
        ("anchor", "left, top, right and bottom of each anchor"),
    ],
    attrs=MultiBoxTransformLocAttrs,
    relation=_multibox_transform_loc_type,
    reference=_multibox_transform_loc,
    fusion=FusionKind.OPAQUE,
    helper=multibox_transform_loc,
    samples=[
        sample(Tensor((2, 3, 4), low=0, high=1), (2, 16), Tensor((1, 4, 4), low=0, high=1), low=-1),
        sample(
            (2, 3, 5),
            (2, 20),
            (1, 5, 4),
            clip=False,
            threshold=0.6,
            variances=(1.0, 0.5, 0.2, 0.1),
            low=0,
            high=1,
            dtype="float64",
        ),
        sample((1, 2, 4), (1, 16), (1, 4, 4), low=0, high=1, threshold=0.7, keep_background=True),
        sample((1, 1, 3), (1, 12), (1, 3, 4), low=0, high=1, dtype="float16"),
    ],
)
