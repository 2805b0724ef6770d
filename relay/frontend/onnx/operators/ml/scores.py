"""Scores of models (`ai.onnx.ml`): their transforms, and the label of the greatest."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from relay import op
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr

TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")

NEAR_ZERO = 1e-7  # scores that SOFTMAX_ZERO treats as 0
CURVE = 0.147  # of Winitzki's approximation of the inverse of erf


def transform_of(node: Node) -> str:
    """The attribute `post_transform`, a number in later versions."""
    given = node.attribute("post_transform", "NONE")
    if isinstance(given, int) and 0 <= given < len(TRANSFORMS):
        given = TRANSFORMS[given]
    if given not in TRANSFORMS:
        raise node.refused("there is no such transform", ", ".join(TRANSFORMS), str(given))
    return str(given)


def transformed(node: Node, scores: Expr, transform: str) -> Expr:
    """Scores (n, classes) after the transform."""
    match transform:
        case "SOFTMAX":
            return op.nn.softmax(scores, axis=1)
        case "LOGISTIC":
            return op.sigmoid(scores)
        case "SOFTMAX_ZERO":
            return _softmax_zero(node, scores)
        case "PROBIT":
            return _probit(node, scores)
    return scores


def _softmax_zero(node: Node, scores: Expr) -> Expr:
    """Softmax over the nonzero scores; zeros stay 0."""
    scores = node.let(scores)
    greatest = op.max(scores, axis=1, keepdims=True)
    is_nonzero = op.abs(scores) > node.number(NEAR_ZERO, scores)
    exponentials = op.exp(scores - greatest)
    powers = node.let(op.where(is_nonzero, exponentials, node.number(0, scores)))
    return powers / op.sum(powers, axis=1, keepdims=True)


def _probit(node: Node, scores: Expr) -> Expr:
    """The quantile function of the normal distribution, in float64: float32 cancels near 0.5."""
    dtype = node.dtype(scores)
    scores = node.let(op.cast(scores, "float64"))

    def number(value: float) -> Expr:
        return node.number(value, scores)

    spread = node.let(number(2) * scores - number(1))
    product = (number(1) - spread) * (number(1) + spread)
    logarithm = node.let(op.log(product))
    half = number(0.5) * logarithm
    middle = node.let(number(2 / (pi * CURVE)) + half)
    inside = middle * middle - logarithm / number(CURVE)
    size = op.sqrt(op.sqrt(inside) - middle)
    return op.cast(number(sqrt(2)) * op.sign(spread) * size, dtype)


def labels_of(node: Node, count: int) -> np.ndarray:
    """The labels of classes, which must be numbers."""
    if node.attribute("classlabels_strings"):
        message = "strings cannot be computed with"
        raise node.refused(message, "labels that are numbers", "classlabels_strings")
    given = node.attribute("classlabels_int64s") or node.attribute("classlabels_ints")
    return np.array(given or range(count), "int64")


def named(node: Node, labels: np.ndarray, scores: Expr) -> Expr:
    """The label of the greatest score of each row."""
    place = op.argmax(scores, axis=1)
    return op.take(node.importer.constant(labels), place, axis=0)


def side_by_side(node: Node, score: Expr, is_positive: bool, transform: str) -> Expr:
    """The scores of two classes from that of the second, (n, 1)."""
    if is_positive and transform != "LOGISTIC":
        other = node.number(1, score) - score
    else:
        other = -score
    both = node.let(op.concatenate([other, score], axis=1))
    return transformed(node, both, transform) if transform in ("LOGISTIC", "PROBIT") else both
