"""Linear models and support vector machines (`ai.onnx.ml`), computed in float32."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from relay import op
from relay.frontend.common.broadcast import of_shape
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.ml.coupling import coupled
from relay.frontend.onnx.operators.ml.scores import (
    labels_of,
    named,
    side_by_side,
    transform_of,
    transformed,
)
from relay.ir.expr import Expr

table = Converters("ai.onnx.ml")

MOST = 1 << 26  # weights of pairs of classes


@table("LinearRegressor")
def linear_regressor(node: Node, data: Expr) -> Expr:
    targets = int(node.attribute("targets", 1))
    scores = node.let(_linear(node, data, _matrix(node, targets), _floats(node, "intercepts")))
    transform = transform_of(node)
    # a single score is no distribution
    if targets == 1 and transform != "PROBIT":
        return scores
    return transformed(node, scores, transform)


@table("LinearClassifier")
def linear_classifier(node: Node, data: Expr) -> Sequence[Expr]:
    """The label of each row, and the scores of all classes; a single row of coefficients
    scores the second of two classes."""
    intercepts = _floats(node, "intercepts")
    labels = labels_of(node, len(intercepts))
    weights = _matrix(node, len(intercepts) or len(labels))
    scores = node.let(_linear(node, data, weights, intercepts))
    transform = transform_of(node)
    if len(weights) > 1:
        if len(labels) != len(weights):
            message = "there is not a label for each score"
            raise node.refused(message, str(len(weights)), str(len(labels)))
        return [named(node, labels, scores), transformed(node, scores, transform)]
    both = labels if len(labels) == 2 else np.array([0, 1], "int64")
    place = op.squeeze(scores > node.number(0, scores), (1,))
    label = op.take(node.importer.constant(both), op.cast(place, "int32"), axis=0)
    if len(labels) == 2:
        return [label, side_by_side(node, scores, True, transform)]
    return [label, transformed(node, scores, transform) if transform == "PROBIT" else scores]


def _linear(node: Node, data: Expr, weights: np.ndarray, intercepts: np.ndarray) -> Expr:
    """`data @ weights.T + intercepts`"""
    data = of_shape(node, _rows(node, data), (node.shape(data)[0], weights.shape[1]))
    product = op.nn.dense(data, node.importer.constant(weights))
    if not len(intercepts):
        return product
    if len(intercepts) not in (1, len(weights)):
        message = "there is not an intercept for each score"
        raise node.refused(message, str(len(weights)), str(len(intercepts)))
    return product + node.importer.constant(intercepts)


def _rows(node: Node, data: Expr) -> Expr:
    node.must_have_axes(data, 2, "features")
    return node.let(op.cast(data, "float32"))


def _matrix(node: Node, rows: int, name: str = "coefficients") -> np.ndarray:
    """A list attribute as a matrix with that number of rows."""
    given = _floats(node, name)
    if not len(given) or rows < 1 or len(given) % rows:
        raise node.refused(f"`{name}` are no {rows} rows", found=f"{len(given)} numbers")
    return given.reshape(rows, -1)


def _floats(node: Node, name: str) -> np.ndarray:
    return np.array(node.attribute(name) or [], "float32")


@table("SVMRegressor")
def svm_regressor(node: Node, data: Expr) -> Expr:
    supports = int(node.attribute("n_supports", 0))
    rho = _floats(node, "rho")
    weights = _matrix(node, 1)
    if supports:
        data = _kernel(node, data, _matrix(node, supports, "support_vectors"))
    score = node.let(_linear(node, data, weights, rho[:1]))
    if not node.attribute("one_class", 0):
        return score
    return op.where(score > node.number(0, score), op.ones_like(score), node.number(-1, score))


@table("SVMClassifier")
def svm_classifier(node: Node, data: Expr) -> Sequence[Expr]:
    """The label of each row; and a score per class, or per pair of classes, or the class
    probabilities of pairwise scores."""
    counts = [int(one) for one in node.attribute("vectors_per_class") or ()]
    transform, rho = transform_of(node), _floats(node, "rho")
    if not sum(counts):
        labels = labels_of(node, 1)
        scores = node.let(_linear(node, data, _matrix(node, len(labels)), rho[:1]))
        return [named(node, labels, scores), transformed(node, scores, transform)]
    labels = labels_of(node, len(counts))
    if len(labels) != len(counts) or len(counts) < 2:
        raise node.refused("there are not vectors for each class", str(len(labels)), str(counts))
    if min(counts) < 0 or len(counts) ** 2 * sum(counts) > MOST:
        raise node.refused("there are too many classes or vectors", f"{MOST} weights of pairs")
    vectors = _matrix(node, sum(counts), "support_vectors")
    weights = _pairs(node, counts)
    if len(rho) < len(weights):
        raise node.refused("`rho` is too short", str(len(weights)), str(len(rho)))
    kernels = _kernel(node, data, vectors)
    scores = node.let(_linear(node, kernels, weights, rho[: len(weights)]))
    label = named(node, labels, _votes(node, scores, len(counts)))
    slopes, offsets = _floats(node, "prob_a"), _floats(node, "prob_b")
    if len(slopes):
        if min(len(slopes), len(offsets)) < len(weights):
            raise node.refused("`prob_a` or `prob_b` is too short", str(len(weights)))
        slope, offset = (node.importer.constant(one[: len(weights)]) for one in (slopes, offsets))
        first = op.sigmoid(-(scores * slope + offset))
        probabilities = coupled(node, node.let(first), len(counts))
        return [label, transformed(node, probabilities, transform)]
    if len(counts) == 2:
        return [label, side_by_side(node, scores, transform != "NONE", transform)]
    return [label, transformed(node, scores, transform)]


def _kernel(node: Node, data: Expr, vectors: np.ndarray) -> Expr:
    """The kernel of each row and each support vector, (n, vectors)."""
    kind = str(node.attribute("kernel_type", "LINEAR"))
    params = [*(node.attribute("kernel_params") or ()), 0.0, 0.0, 0.0]
    gamma, shift, degree = params[:3]
    data = of_shape(node, _rows(node, data), (node.shape(data)[0], vectors.shape[1]))
    constant = node.importer.constant(vectors)
    if kind == "RBF":
        distance = op.expand_dims(data, 1) - op.expand_dims(constant, 0)
        total = op.sum(distance * distance, axis=2)
        return node.let(op.exp(node.number(-gamma, data) * total))
    product = op.nn.dense(data, constant)
    if kind == "LINEAR":
        return node.let(product)
    scaled = node.number(gamma, data) * product
    line = node.let(scaled + node.number(shift, data))
    if kind == "POLY":
        return node.let(op.power(line, node.number(degree, data)))
    if kind == "SIGMOID":
        return node.let(op.tanh(line))
    raise node.refused("there is no such kernel", "LINEAR, POLY, RBF or SIGMOID", kind)


def _pairs(node: Node, counts: Sequence[int]) -> np.ndarray:
    """A row of coefficients over all support vectors for each pair of classes."""
    given = _matrix(node, len(counts) - 1)
    ends = np.cumsum(counts)
    if given.shape[1] != ends[-1]:
        raise node.refused("`coefficients` do not fit the vectors", str(ends[-1]), str(given.shape))
    parts = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    rows = []
    for i, j in combinations(range(len(counts)), 2):
        row = np.zeros(ends[-1], "float32")
        row[parts[i]] = given[j - 1, parts[i]]
        row[parts[j]] = given[i, parts[j]]
        rows.append(row)
    return np.array(rows)


def _votes(node: Node, scores: Expr, classes: int) -> Expr:
    """The number of pairs that each class wins."""
    pairs = list(combinations(range(classes), 2))
    won = np.zeros((classes, len(pairs)), "float32")
    lost = np.zeros(classes, "float32")
    for number, (i, j) in enumerate(pairs):
        won[i, number], won[j, number] = 1, -1
        lost[j] += 1
    wins = op.cast(scores > node.number(0, scores), "float32")
    constant = node.importer.constant
    return node.let(op.nn.dense(wins, constant(won)) + constant(lost))
