"""Loss functions of class predictions (n, classes, …) and class indices (n, …)."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.broadcast import of_shape
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr, const

table = Converters()

NO_CLASS = -1  # ignores no index


@table("NegativeLogLikelihoodLoss")
def negative_log_likelihood(
    node: Node, predictions: Expr, targets: Expr, weights: Expr | None = None
) -> Expr:
    _check_classes(node, predictions)
    shape, dtype = node.shape(predictions), node.dtype(predictions)
    targets = of_shape(node, targets, (shape[0], *shape[2:]))
    if weights is None:
        zeros = node.zeros_along(predictions, 1, (), dtype)
        weights = node.let(zeros + node.number(1, predictions))
    else:
        weights = of_shape(node, weights, (shape[1],))
    reduction = node.choice("reduction", "mean", ("mean", "sum", "none"))
    ignored_class = node.attribute("ignore_index", NO_CLASS)
    ignored = op.equal(targets, const(ignored_class, node.dtype(targets)))
    wanted = node.let(op.where(ignored, op.zeros_like(targets), targets))
    return op.nn.nll_loss(
        predictions,
        node.let(targets + op.check_indices(wanted, predictions, axes=(1,))),
        weights,
        reduction=reduction,
        ignore_index=ignored_class,
    )


@table("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(
    node: Node, scores: Expr, targets: Expr, weights: Expr | None = None
) -> Sequence[Expr]:
    """The loss, and the log probabilities."""
    _check_classes(node, scores)
    predictions = node.let(op.nn.log_softmax(scores, axis=1))
    return [negative_log_likelihood(node, predictions, targets, weights), predictions]


def _check_classes(node: Node, predictions: Expr) -> None:
    if node.rank(predictions) < 2:
        found = str(node.type_of(predictions))
        raise node.refused("predictions need an axis of classes", "(n, classes, …)", found)
