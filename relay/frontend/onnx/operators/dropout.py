"""Dropout: the identity for inference, random zeros in training."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from relay import op
from relay.errors import REAL_VALUE
from relay.frontend.common.builder import static
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.random import uniform
from relay.ir.expr import Expr, const

table = Converters()

MOST_DRAWN = 1 << 20  # random numbers drawn at import, as a constant


@table("Dropout")
def dropout(
    node: Node, data: Expr, ratio: Expr | None = None, training: Expr | None = None
) -> Sequence[Expr]:
    """Before version 12 nothing is dropped; before version 10 the mask has the type of data."""
    mode = node.constant(training)
    if training is None or (mode is not None and not mode.any()):
        ones = op.ones_like(data)
        return [data, ones if node.version < 10 else op.cast(ones, "bool")]
    share: Expr = const(0.5, "float64")
    if ratio is not None:
        share = node.let(op.cast(op.reshape(ratio, ()), "float64"))
        fits = op.logical_and(share >= const(0.0, "float64"), share < const(1.0, "float64"))
        message = "the ratio is out of range"
        share = node.checked(share, fits, message, "0 or more, and less than 1", REAL_VALUE, share)
    kept = _drawn(node, data) >= share
    scale = const(1.0, "float64") / (const(1.0, "float64") - share)
    if mode is None:
        is_training = op.reshape(training, ())
        kept = op.logical_or(kept, op.logical_not(is_training))
        scale = op.where(is_training, scale, const(1.0, "float64"))
    mask = node.let(kept)
    scaled = data * op.cast(scale, node.dtype(data))
    return [op.where(mask, scaled, node.number(0, data)), mask]


def _drawn(node: Node, data: Expr) -> Expr:
    """Uniform numbers from [0, 1), one per element, the same in every run.

    With a seed they are the ones of the reference implementation, unless there are too many for a
    constant, or the shape is dynamic.
    """
    shape, seed = static(node.shape(data)), node.attribute("seed")
    if seed is None or shape is None or prod(shape) > MOST_DRAWN:
        return uniform(node, data, "float64")
    drawn = np.random.RandomState(seed % 2**32).uniform(0.0, 1.0, shape)
    return node.importer.constant(np.asarray(drawn, "float64"))
