"""Losses that torch keeps whole: cross entropy of the classes that a linear layer scores."""

from __future__ import annotations

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node
from relay.frontend.pytorch.operators.products import linear
from relay.ir.expr import Expr

table = Converters("torch_nn")


@table("_linear_cross_entropy_batch_chunked")
def linear_cross_entropy(
    node: Node,
    input: Expr,
    linear_weight: Expr,
    target: Expr,
    linear_bias: Expr | None,
    weight: Expr | None,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
    batch_chunk_size: int,
    acc_policy: str,
    acc_dtype: str,
    allow_retain_graph: bool,
    *gradients: bool,
) -> list[Expr | None]:
    """The loss, and the gradients that torch computes beside it."""
    if any(gradients):
        raise node.refused("it computes gradients", hint="export the model under torch.no_grad()")
    losses, shares = _losses(
        node, input, linear_weight, target, linear_bias, weight, ignore_index, label_smoothing
    )
    total = node.let(op.sum(losses))
    if reduction == "mean":
        total = node.let(total / op.sum(shares))
    return [node.as_dtype(total, node.dtype(input)), None, None, None]


@table("_linear_cross_entropy_batch_chunked_no_reduction")
def linear_cross_entropy_of_each(
    node: Node,
    input: Expr,
    linear_weight: Expr,
    target: Expr,
    linear_bias: Expr | None,
    weight: Expr | None,
    ignore_index: int,
    batch_chunk_size: int,
    acc_policy: str,
    acc_dtype: str,
) -> Expr:
    losses, _ = _losses(node, input, linear_weight, target, linear_bias, weight, ignore_index, 0.0)
    return node.as_dtype(losses, node.dtype(input))


def _losses(
    node: Node,
    data: Expr,
    layer: Expr,
    target: Expr,
    bias: Expr | None,
    weight: Expr | None,
    ignored: int,
    smoothing: float,
) -> tuple[Expr, Expr]:
    """The loss of each row, and the weight of its class."""
    scores = node.let(linear(node, data, layer, bias))
    wide = "float64" if node.dtype(scores) == "float64" else "float32"
    logs = node.let(op.nn.log_softmax(node.as_dtype(scores, wide), axis=1))
    classes = node.as_dtype(target, "int64")
    counts = node.let(op.not_equal(classes, int64(ignored)))
    places = node.let(op.where(counts, classes, int64(0)))
    zero, one = node.number(0, logs), node.number(1, logs)
    weights = None if weight is None else node.as_dtype(weight, wide)
    share = one if weights is None else op.take(weights, places, axis=0)
    shares = node.let(op.where(counts, share, zero))
    picked = op.squeeze(op.gather(logs, 1, op.expand_dims(places, 1)), (1,))
    losses = node.let(zero - picked * shares)
    if smoothing:
        spread = logs if weights is None else logs * weights
        mean = node.let(op.mean(spread, axis=(1,)))
        rest = op.where(counts, mean * node.number(-smoothing, logs), zero)
        losses = node.let(losses * node.number(1 - smoothing, logs) + rest)
    return losses, shares
