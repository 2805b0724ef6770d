"""Anchor boxes of single-shot detectors, and predictions relative to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from relay import te
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.types import TensorType, TupleType, Type
from relay.op.attributes import with_attrs
from relay.op.building import scalars
from relay.op.building.elements import place
from relay.op.building.helper import unpacked
from relay.op.building.numerics import widened
from relay.op.gradient_rules import SELECTS, SHAPES_ONLY
from relay.op.loop_nest import spread
from relay.op.opdef import Tensor, define, sample
from relay.op.site import FLOATING, Site
from relay.op.vision import box_loops

# --- anchors -----------------------------------------------------------------------------------


@attrs
class MultiBoxPriorAttrs(Attrs):
    """sizes: heights of anchors, as fractions of the image
    ratios: aspect ratios of anchors, width / height
    steps: the distances between anchors along y and x, as fractions of the image; negative for one
    anchor per element
    offsets: the position of the first anchor along y and x, in steps
    clip: clip anchors to the image
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


def _multibox_prior(data: np.ndarray, known: MultiBoxPriorAttrs) -> np.ndarray:
    height, width = data.shape[2:]
    centers = [
        (np.arange(extent) + offset) * (step if step > 0 else 1 / max(extent, 1))
        for extent, step, offset in zip((height, width), known.steps, known.offsets, strict=True)
    ]
    y, x = (c[..., None] for c in np.meshgrid(*centers, indexing="ij"))
    roots = np.sqrt([1.0] * len(known.sizes) + list(known.ratios[1:]))
    scales = np.array([*known.sizes, *[known.sizes[0]] * (len(known.ratios) - 1)])
    half_width = scales * roots * height / max(width, 1) / 2
    half_height = scales / roots / 2
    boxes = np.stack((x - half_width, y - half_height, x + half_width, y + half_height), -1)
    result: np.ndarray = np.clip(boxes, 0, 1) if known.clip else boxes
    return result.reshape(1, -1, 4).astype(data.dtype)


def _multibox_prior_elements(data: te.Tensor, out: te.Spec, known: MultiBoxPriorAttrs) -> te.Tensor:
    height, width = data.shape[2:]
    roots = [1.0] * len(known.sizes) + [math.sqrt(ratio) for ratio in known.ratios[1:]]
    scales = [*known.sizes, *[known.sizes[0]] * (len(known.ratios) - 1)]
    pairs = list(zip(scales, roots, strict=True))
    aspect = te.cast(height, "float64") / te.cast(te.maximum(width, 1), "float64")

    def center(index: te.Expr, axis: int, extent: te.Expr) -> te.Expr:
        moved = te.cast(index, "float64") + known.offsets[axis]
        if known.steps[axis] > 0:
            return moved * known.steps[axis]
        return moved / te.cast(te.maximum(extent, 1), "float64")

    def corner(_: te.Expr, number: te.Expr, side: te.Expr) -> te.Expr:
        y, x, anchor = place(number, (height, width, te.index(len(scales))))
        across = box_loops.chosen(anchor, [scale * root / 2 for scale, root in pairs]) * aspect
        down = box_loops.chosen(anchor, [scale / root / 2 for scale, root in pairs])
        along_x = te.equal(side % 2, 0)
        half = te.select(along_x, across, down)
        middle = te.select(along_x, center(x, 1, width), center(y, 0, height))
        found = te.select(side < 2, middle - half, middle + half)
        if known.clip:
            found = te.minimum(te.maximum(found, 0.0), 1.0)
        return te.cast(found, out.dtype)

    return te.compute(out.shape, corner, "multibox_prior")


multibox_prior = define(
    "vision.multibox_prior",
    doc="Anchors (left, top, right, bottom) for every element of a feature map: one for each size, "
    "and one of the first size for each ratio but the first.",
    arguments=[("data", "the feature map, of which only the shape is used")],
    attrs=MultiBoxPriorAttrs,
    relation=_multibox_prior_type,
    reference=with_attrs(MultiBoxPriorAttrs, _multibox_prior),
    compute=with_attrs(MultiBoxPriorAttrs, _multibox_prior_elements),
    samples=[
        sample((2, 3, 2, 4)),
        sample((1, 1, 3, 2), sizes=(0.5, 0.2), ratios=(1.0, 2.0, 0.5), clip=True, dtype="float64"),
        sample((1, 1, 2, 2), ratios=(4.0, 3.0), steps=(0.3, 0.4), offsets=(0.0, 0.25)),
        sample((1, 1, 0, 2), sizes=(0.5, 0.2), dtype="float16"),
    ],
    gradient=SHAPES_ONLY,
)

# --- predictions -------------------------------------------------------------------------------


@attrs
class MultiBoxTransformLocAttrs(Attrs):
    """clip: clip boxes to the image
    threshold: the lowest probability of a box
    variances: the factors of predictions, for x, y, width and height
    keep_background: keep boxes of the first class, the background
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
    """Boxes (n, anchors, 4): centers moved in units of the anchor, sides scaled by exp."""
    corner, opposite = anchors[..., :2], anchors[..., 2:]
    sides, centers = opposite - corner, (corner + opposite) / 2
    moves = predictions * np.array(variances, predictions.dtype)
    middle = moves[..., :2] * sides + centers
    half = np.exp(moves[..., 2:]) * sides / 2
    boxes = np.concatenate((middle - half, middle + half), -1)
    return np.clip(boxes, 0, 1) if clip else boxes


def _multibox_transform_loc(
    cls_prob: np.ndarray, loc_pred: np.ndarray, anchor: np.ndarray, known: MultiBoxTransformLocAttrs
) -> tuple[np.ndarray, ...]:
    batch, _, anchors = cls_prob.shape
    wide = widened(cls_prob)
    first = 0 if known.keep_background else 1
    candidates = wide[:, first:]
    if candidates.shape[1]:
        classes, scores = candidates.argmax(1) + first, candidates.max(1)
    else:
        classes, scores = np.zeros((2, batch, anchors), wide.dtype)
    boxes = _decoded(
        widened(loc_pred).reshape(batch, anchors, 4), widened(anchor), known.variances, known.clip
    )
    good = scores >= wide.dtype.type(known.threshold)
    classes = np.where(good, classes, 0)
    rows = np.full((batch, anchors, 6), -1, cls_prob.dtype)
    counts = np.zeros(batch, np.int32)
    found = np.concatenate((classes[..., None] - first, scores[..., None], boxes), -1)
    for image in range(batch):
        kept = np.flatnonzero(known.keep_background | (classes[image] > 0))
        rows[image, : len(kept)] = found[image, kept]
        counts[image] = len(kept)
    return rows, counts


def _multibox_transform_loc_loops(
    cls_prob: te.Tensor,
    loc_pred: te.Tensor,
    anchor: te.Tensor,
    clip: bool,
    threshold: float,
    variances: Sequence[float],
    keep_background: bool,
    out: tuple[te.Spec, te.Spec],
) -> tuple[te.Tensor, ...]:
    batch, classes, anchors = cls_prob.shape
    wide = scalars.wide(cls_prob.dtype)
    first = 0 if keep_background else 1

    def decoded(image: te.Expr, number: te.Expr) -> list[te.Expr]:
        """`_decoded` for one anchor."""
        corner = [scalars.widened(anchor[0, number, i]) for i in range(4)]
        moves = [scalars.widened(loc_pred[image, number * 4 + i]) * variances[i] for i in range(4)]
        found: list[list[te.Expr]] = [[], []]
        for i in range(2):
            side = corner[i + 2] - corner[i]
            middle = moves[i] * side + (corner[i] + corner[i + 2]) / 2.0
            half = te.call("exp", moves[i + 2]) * side / 2.0
            found[0].append(middle - half)
            found[1].append(middle + half)
        box = [*found[0], *found[1]]
        return [te.minimum(te.maximum(value, 0.0), 1.0) for value in box] if clip else box

    def write(b: te.Builder, rows: te.Buffer, counts: te.Buffer) -> None:
        with spread(b, (batch,)) as (image,):
            count = b.variable("int64", 0, "count")
            with b.loop(anchors) as number:
                chosen = b.variable("int64", 0, "chosen")
                score = b.variable(wide, 0.0, "score")
                with b.loop(te.maximum(classes - first, 0)) as i:
                    value = b.let(scalars.widened(cls_prob[image, i + first, number]))
                    is_new_nan = te.call("isnan", value) & ~te.call("isnan", score[()])
                    with b.if_(te.equal(i, 0) | (value > score[()]) | is_new_nan):
                        b.store(chosen, (), i + first)
                        b.store(score, (), value)
                with b.if_(~(score[()] >= threshold)):
                    b.store(chosen, (), 0)
                with b.if_((chosen[()] > 0) | te.const(keep_background, "bool")):
                    row = [te.cast(chosen[()] - first, wide), score[()], *decoded(image, number)]
                    for column, part in enumerate(row):
                        b.store(rows, (image, count[()], column), te.cast(part, rows.dtype))
                    b.store(count, (), count[()] + 1)
            b.store(counts, image, te.cast(count[()], "int32"))
            with b.loop(anchors - count[()]) as left:
                for column in range(6):
                    b.store(rows, (image, count[()] + left, column), -1)

    inputs = [cls_prob, loc_pred, anchor]
    outputs = [(spec.shape, spec.dtype) for spec in out]
    return te.procedure(inputs, outputs, write, "multibox_transform_loc")


MULTIBOX_TRANSFORM_LOC = define(
    "vision.multibox_transform_loc",
    doc="For each anchor whose best class reaches the threshold, a row of class, probability, "
    "left, top, right and bottom; and the number of rows per image. Classes are numbered from the "
    "first after the background, unless that is kept; then anchors below the threshold are "
    "background. Rows are padded with -1.",
    arguments=[
        ("cls_prob", "the probability of each class for each anchor, the background first"),
        ("loc_pred", "offsets of the center and logarithms of the scale, for each anchor"),
        ("anchor", "left, top, right and bottom of each anchor"),
    ],
    attrs=MultiBoxTransformLocAttrs,
    relation=_multibox_transform_loc_type,
    reference=with_attrs(MultiBoxTransformLocAttrs, _multibox_transform_loc),
    compute=_multibox_transform_loc_loops,
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
    gradient=SELECTS,
)
multibox_transform_loc = unpacked(
    MULTIBOX_TRANSFORM_LOC,
    "Boxes from anchors and predictions, and their number per image.",
    2,
)
