"""Losses: how far predictions for classes are from the classes they should be for.

Predictions are (n, classes, …), targets the numbers of classes, (n, …).
"""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.onnx.computations.broadcast import of_shape
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr, const

table = Converters()

NOBODY = -1  # the number of a class that there is none of


@table("NegativeLogLikelihoodLoss")
def negative_log_likelihood(
    node: Node, predictions: Expr, targets: Expr, weights: Expr | None = None
) -> Expr:
    return _loss(node, predictions, targets, weights)


@table("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(
    node: Node, scores: Expr, targets: Expr, weights: Expr | None = None
) -> Sequence[Expr]:
    """The loss, and the logarithms of the probabilities it is of."""
    _must_have_classes(node, scores)
    predictions = node.let(op.nn.log_softmax(scores, axis=1))
    return [_loss(node, predictions, targets, weights), predictions]


def _loss(node: Node, predictions: Expr, targets: Expr, weights: Expr | None) -> Expr:
    _must_have_classes(node, predictions)
    shape, dtype = node.shape(predictions), node.dtype(predictions)
    targets = of_shape(node, targets, (shape[0], *shape[2:]))
    if weights is None:
        zeros = node.zeros_along(predictions, 1, (), dtype)
        weights = node.let(op.add(zeros, node.number(1, predictions)))
    else:
        weights = of_shape(node, weights, (shape[1],))
    reduction = node.attribute("reduction", "mean")
    if reduction not in ("mean", "sum", "none"):
        raise node.refused("there is no such reduction", "mean, sum or none", str(reduction))
    nobody = node.attribute("ignore_index", NOBODY)
    ignored = op.equal(targets, const(nobody, node.dtype(targets)))
    wanted = node.let(op.where(ignored, op.zeros_like(targets), targets))
    return op.nn.nll_loss(
        predictions,
        node.let(op.add(targets, op.check_indices(wanted, predictions, axes=(1,)))),
        weights,
        reduction=reduction,
        ignore_index=nobody,
    )


def _must_have_classes(node: Node, predictions: Expr) -> None:
    if node.rank(predictions) < 2:
        raise node.refused(
            "predictions need an axis of classes",
            expected="(n, classes, …)",
            found=str(node.type_of(predictions)),
        )
