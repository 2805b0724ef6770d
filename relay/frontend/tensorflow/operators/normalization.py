"""Normalization."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import op
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.ir.expr import Expr, const

table = Table()


@table("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def fused_batch_norm(
    node: Node, data: Expr, scale: Expr, offset: Expr, mean: Expr, variance: Expr
) -> Sequence[Expr]:
    """Batch normalization; in training by the statistics of the batch."""
    rank = node.rank(data)
    letters = "HW" if rank == 4 else "DHW"
    options = (f"N{letters}C", f"NC{letters}")
    axis = 1 if node.choice("data_format", options[0], options) == options[1] else rank - 1
    epsilon = node.real("epsilon", 1e-4)
    if not node.flag("is_training", True):
        wide = node.dtype(scale)
        found = op.nn.batch_norm(
            node.as_dtype(data, wide), scale, offset, mean, variance, axis=axis, epsilon=epsilon
        )
        result = node.as_dtype(node.fields(found.astuple(), 3)[0], node.dtype(data))
        return [result, mean, variance, mean, variance, const(np.zeros(0, "float32"))]
    wide_data = node.as_dtype(data, node.dtype(scale))
    axes = tuple(one for one in range(rank) if one != axis)
    center, spread = node.fields(op.mean_variance(wide_data, axes).astuple(), 2)
    parts = node.fields(
        op.nn.batch_norm(
            wide_data, scale, offset, center, spread, axis=axis, epsilon=epsilon
        ).astuple(),
        3,
    )
    count = op.cast(op.ndarray_size(wide_data, "int64"), node.dtype(scale))
    channels = op.cast(node.size(data, axis), node.dtype(scale))
    rows = node.let(count / channels)
    one = node.number(1, rows)
    # the variance that is kept is the unbiased one
    unbiased = node.let(spread * (rows / op.maximum(rows - one, one)))
    factor = node.real("exponential_avg_factor", 1.0)
    kept = [center, unbiased]
    if factor != 1:
        by, rest = node.number(factor, center), node.number(1 - factor, center)
        kept = [
            node.let(rest * old + by * new) for old, new in zip((mean, variance), kept, strict=True)
        ]
    result = node.as_dtype(parts[0], node.dtype(data))
    return [result, *kept, center, spread, const(np.zeros(0, "float32"))]


@table("BiasAdd", "BiasAddV1")
def bias_add(node: Node, data: Expr, bias: Expr) -> Expr:
    first = node.text("data_format", "NHWC").startswith("NC") and node.rank(data) > 2
    return op.nn.bias_add(data, bias, axis=1 if first else -1)


@table("LRN")
def lrn(node: Node, data: Expr) -> Expr:
    """Local response normalization across channels, which are the last axis."""
    size = 2 * node.integer("depth_radius", 5) + 1
    numbers = [node.real(*one) for one in (("bias", 1.0), ("alpha", 1.0), ("beta", 0.5))]
    # there, `alpha` is of the mean of the squares
    return op.nn.lrn(data, size, -1, numbers[0], numbers[1] * size, numbers[2])


@table("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(node: Node, logits: Expr, labels: Expr) -> Sequence[Expr]:
    """Losses, and their gradients."""
    logs = node.let(op.nn.log_softmax(logits, axis=-1))
    loss = op.negative(op.sum(labels * logs, axis=(1,)))
    return [loss, op.exp(logs) - labels]


@table("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy(node: Node, logits: Expr, labels: Expr) -> Sequence[Expr]:
    classes = node.static_extent(logits, 1, "how many classes there are")
    dtype = node.dtype(logits)
    ends = const(1.0, dtype), const(0.0, dtype)
    hot = node.let(op.one_hot(labels, *ends, classes, axis=-1, dtype=dtype))
    return softmax_cross_entropy(node, logits, hot)
