"""Proposals of a region proposal network (RPN)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from relay import te
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.types import TensorType, Type
from relay.op.attributes import with_attrs
from relay.op.building import scalars
from relay.op.building.elements import place, size
from relay.op.building.numerics import rounded_once
from relay.op.gradient_rules import SELECTS
from relay.op.loop_nest import spread
from relay.op.opdef import Tensor, define, sample
from relay.op.site import FLOATING, Site
from relay.op.vision import box_loops
from relay.op.vision.boxes import best_boxes, by_score


@attrs
class ProposalAttrs(Attrs):
    """scales: sizes of anchors, in strides
    ratios: aspect ratios of anchors, height / width
    feature_stride: pixels of the image per element of the feature map
    threshold: the IoU above which a box is suppressed
    rpn_pre_nms_top_n: the number of best boxes that take part in the suppression; 0 or less is all
    rpn_post_nms_top_n: the number of boxes per image in the result
    rpn_min_size: the smallest side of a box, in pixels of the unscaled image
    iou_loss: predictions are offsets of the corners, instead of offsets and scales
    """

    scales: tuple[float, ...] = (4.0, 8.0, 16.0, 32.0)
    ratios: tuple[float, ...] = (0.5, 1.0, 2.0)
    feature_stride: int = 16
    threshold: float = 0.7
    rpn_pre_nms_top_n: int = 6000
    rpn_post_nms_top_n: int = 300
    rpn_min_size: int = 16
    iou_loss: bool = False


def _proposal_type(site: Site) -> Type | None:
    """((n, 2 * anchors, h, w), (n, 4 * anchors, h, w), (n, 3)) -> (n * boxes, 5)"""
    known: ProposalAttrs = site.attrs
    site.require_elements(0, FLOATING)
    anchors = len(known.scales) * len(known.ratios)
    for name, value in (("feature_stride", known.feature_stride), ("scales and ratios", anchors)):
        site.require(value > 0, f"there is no `{name}`", "1 or more", str(value))
    for name, values in (("scales", known.scales), ("ratios", known.ratios)):
        site.require_finite(name, *values)
        site.require(min(values) > 0, f"`{name}` must be positive", "more than 0", str(values))
    most = known.rpn_post_nms_top_n
    site.require(most >= 0, "`rpn_post_nms_top_n` is negative", "0 or more", str(most))
    if (scores := site.tensor(0, rank=4)) is None:
        return None
    batch, _, height, width = scores.shape
    batch, _, height, width = site.expect(
        0, (batch, 2 * anchors, height, width), scores.dtype
    ).shape
    batch, *_ = site.expect(1, (batch, 4 * anchors, height, width), scores.dtype).shape
    batch, _ = site.expect(2, (batch, 3), scores.dtype).shape
    return TensorType((dims.multiply(batch, most), 5), scores.dtype)


def _anchors(scales: Sequence[float], ratios: Sequence[float], stride: int) -> np.ndarray:
    """Left, top, right and bottom (inclusive) of the anchors of the first element."""
    middle = (stride - 1) / 2
    found = []
    for ratio in ratios:
        width = math.floor(math.sqrt(math.floor(stride * stride / ratio)) + 0.5)
        height = math.floor(width * ratio + 0.5)
        for scale in scales:
            x, y = (width * scale - 1) / 2, (height * scale - 1) / 2
            found.append((middle - x, middle - y, middle + x, middle + y))
    return np.array(found)


def _moved(anchors: np.ndarray, deltas: np.ndarray) -> np.ndarray:
    """Boxes with centers moved in units of the sides, and sides scaled by exp."""
    sides = anchors[..., 2:] - anchors[..., :2] + 1
    centers = anchors[..., :2] + (sides - 1) / 2 + deltas[..., :2] * sides
    half = (np.exp(deltas[..., 2:]) * sides - 1) / 2
    return np.concatenate((centers - half, centers + half), -1)


def _proposal(
    cls_prob: np.ndarray, bbox_pred: np.ndarray, im_info: np.ndarray, known: ProposalAttrs
) -> Any:
    base = _anchors(known.scales, known.ratios, known.feature_stride)
    batch, _, height, width = cls_prob.shape
    y, x = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    # boxes in the order rows, columns, anchors
    shifts = np.stack((x, y, x, y), -1)[:, :, None] * known.feature_stride
    anchors = (base + shifts).astype(cls_prob.dtype).reshape(-1, 4)
    scores = cls_prob[:, len(base) :].transpose(0, 2, 3, 1).reshape(batch, -1)
    deltas = bbox_pred.reshape(batch, len(base), 4, height, width).transpose(0, 3, 4, 1, 2)
    column, row = (np.repeat(place.reshape(-1), len(base)) for place in (x, y))
    result = np.zeros((batch, known.rpn_post_nms_top_n, 5), cls_prob.dtype)
    for image, (tall, wide, scale) in enumerate(im_info):
        moves = deltas[image].reshape(-1, 4)
        boxes = anchors + moves if known.iou_loss else _moved(anchors, moves)
        edges = np.array((wide, tall, wide, tall)) - 1
        boxes = np.maximum(np.minimum(boxes, edges), boxes.dtype.type(0))
        least = scale * known.rpn_min_size
        small = ((boxes[:, 2:] - boxes[:, :2] + 1) < least).any(1)
        boxes = np.where(small[:, None], boxes + least / 2 * np.array((-1, -1, 1, 1)), boxes)
        beyond = (row >= int(tall / known.feature_stride)) | (
            column >= int(wide / known.feature_stride)
        )
        rating = np.where(small | beyond, -1, scores[image])
        order = by_score(rating)
        if known.rpn_pre_nms_top_n > 0:
            order = order[: known.rpn_pre_nms_top_n]
        kept = best_boxes(boxes[order], -1, lambda overlaps: overlaps > known.threshold, pixel=1.0)
        if kept:
            places = order[np.resize(kept, known.rpn_post_nms_top_n)]
            result[image, :, 0] = image
            result[image, :, 1:] = boxes[places]
    return result.reshape(-1, 5)


def _moved_box(anchor: Sequence[te.Expr], deltas: Sequence[te.Expr]) -> list[te.Expr]:
    """`_moved` for one box."""
    low, high = [], []
    for i in range(2):
        side = anchor[i + 2] - anchor[i] + 1.0
        center = anchor[i] + (side - 1.0) / 2.0 + deltas[i] * side
        half = (te.call("exp", deltas[i + 2]) * side - 1.0) / 2.0
        low.append(center - half)
        high.append(center + half)
    return [*low, *high]


def _candidates(
    cls_prob: te.Tensor,
    bbox_pred: te.Tensor,
    im_info: te.Tensor,
    base: np.ndarray,
    stride: int,
    least_size: int,
    iou_loss: bool,
) -> tuple[te.Tensor, ...]:
    """Left, top, right, bottom in float64, and score, for each image and anchor in the order rows,
    columns, anchors."""
    batch, _, height, width = cls_prob.shape
    wide = scalars.wide(cls_prob.dtype)
    grid = (height, width, te.index(len(base)))

    def candidate(image: te.Expr, number: te.Expr) -> tuple[te.Expr, ...]:
        y, x, anchor = place(number, grid)
        tall, broad, scale = (scalars.widened(im_info[image, i]) for i in range(3))
        start, deltas = [], []
        for i, along in enumerate((x, y, x, y)):
            first = box_loops.chosen(anchor, base[:, i].tolist())
            start.append(te.cast(first + te.cast(along * stride, "float64"), wide))
            deltas.append(scalars.widened(bbox_pred[image, anchor * 4 + i, y, x]))
        if iou_loss:
            moved = [corner + delta for corner, delta in zip(start, deltas, strict=True)]
        else:
            moved = _moved_box(start, deltas)
        box = [
            te.maximum(te.minimum(value, extent - 1.0), 0.0)
            for value, extent in zip(moved, (broad, tall, broad, tall), strict=True)
        ]
        least = scale * float(least_size)
        small = te.some(*(box[i + 2] - box[i] + 1.0 < least for i in range(2)))
        grown = te.select(small, te.cast(least / 2.0, "float64"), 0.0)
        exact = [te.cast(value, "float64") for value in box]
        rows, columns = (te.cast(extent / float(stride), "int64") for extent in (tall, broad))
        score = scalars.widened(cls_prob[image, anchor + len(base), y, x])
        rating = te.select(te.some(small, y >= rows, x >= columns), -1.0, score)
        return (*(v - grown for v in exact[:2]), *(v + grown for v in exact[2:]), rating)

    return te.compute_many((batch, size(grid)), candidate, "candidate")


def _proposal_loops(
    cls_prob: te.Tensor,
    bbox_pred: te.Tensor,
    im_info: te.Tensor,
    out: te.Spec,
    known: ProposalAttrs,
) -> te.Tensor:
    base = _anchors(known.scales, known.ratios, known.feature_stride)
    *sides, ratings = candidates = _candidates(
        cls_prob, bbox_pred, im_info, base, known.feature_stride, known.rpn_min_size, known.iou_loss
    )
    batch, count = ratings.shape
    most = known.rpn_post_nms_top_n

    def write(b: te.Builder, result: te.Buffer) -> None:
        with spread(b, (batch,)) as (image,):
            ranking = box_loops.by_score(
                b, count, count, lambda _: te.const(True, "bool"), lambda box: ratings[image, box]
            )
            few = known.rpn_pre_nms_top_n > 0
            kept = box_loops.best_boxes(
                b,
                te.minimum(ranking.count, known.rpn_pre_nms_top_n) if few else ranking.count,
                count,
                te.index(most),
                lambda rank: [side[image, ranking.at(rank)] for side in sides],
                lambda shared: shared > known.threshold,
                pixel=1.0,
            )
            with b.loop(most) as i:
                row = b.let(image * most + i)
                with b.if_(kept.count > 0):
                    # too few boxes are repeated
                    box = b.let(ranking.at(kept[i % kept.count]))
                    values = (te.cast(image, out.dtype), *(side[image, box] for side in sides))
                    for column, value in enumerate(values):
                        b.store(result, (row, column), te.cast(value, out.dtype))
                with b.else_():
                    for column in range(5):
                        b.store(result, (row, column), 0.0)

    return te.procedure(candidates, [(out.shape, out.dtype)], write, "proposal")[0]


proposal = define(
    "vision.proposal",
    doc="Anchors moved by predictions, clipped to the image, after non-maximum suppression: the "
    "best as rows of image, left, top, right and bottom. Too few are repeated. A box smaller than "
    "rpn_min_size, or outside of its image, comes last.",
    arguments=[
        ("cls_prob", "the probability of background for each anchor, then that of an object"),
        ("bbox_pred", "four predictions for each anchor"),
        ("im_info", "height, width and scale of each image"),
    ],
    attrs=ProposalAttrs,
    relation=_proposal_type,
    reference=rounded_once(with_attrs(ProposalAttrs, _proposal)),
    compute=with_attrs(ProposalAttrs, _proposal_loops),
    samples=[
        sample(
            Tensor((2, 4, 3, 4), low=0, high=1),
            Tensor((2, 8, 3, 4), low=-0.5, high=0.5),
            np.array([[40, 64, 1], [48, 50, 2]], "float32"),
            scales=(1.0, 2.0),
            ratios=(0.5,),
            threshold=0.3,
            rpn_post_nms_top_n=6,
            rpn_min_size=4,
        ),
        sample(
            Tensor((1, 6, 2, 3), "float64", low=0, high=1),
            Tensor((1, 12, 2, 3), "float64", low=-4, high=4),
            np.array([[17, 20, 1]], "float64"),
            scales=(2.0,),
            ratios=(0.5, 1.0, 2.0),
            feature_stride=8,
            threshold=0.5,
            rpn_pre_nms_top_n=7,
            rpn_post_nms_top_n=9,
            rpn_min_size=5,
            iou_loss=True,
        ),
        sample(
            Tensor((1, 2, 2, 2), low=0, high=1),
            Tensor((1, 4, 2, 2), low=-1, high=1),
            np.array([[32, 32, 1]], "float32"),
            scales=(1.0,),
            ratios=(1.0,),
            rpn_pre_nms_top_n=0,
            rpn_post_nms_top_n=3,
        ),
    ],
    gradient=SELECTS,
)
