"""Activation functions that are layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay import op
from relay.frontend.common import curves
from relay.frontend.keras.activations import widely
from relay.frontend.keras.converters import Table
from relay.frontend.keras.node import Node
from relay.frontend.keras.slots import Slot
from relay.ir.expr import Expr

table = Table()


@table("ReLU", keeps_mask=True)
def relu(node: Node, inputs: Expr) -> Expr:
    """ReLU with a slope below `threshold` and a maximum `max_value`."""
    slope = node.option("negative_slope", 0.0) or 0.0
    most, threshold = node.config.get("max_value"), node.option("threshold", 0.0)
    if not slope and not threshold:
        return op.nn.relu(inputs) if most is None else op.clip(inputs, 0.0, float(most))
    limit = node.number(threshold, inputs)
    above = inputs if most is None else op.minimum(inputs, node.number(float(most), inputs))
    below = node.number(slope, inputs) * (inputs - limit)
    return op.where(op.greater_equal(inputs, limit), above, below)


@table("LeakyReLU", keeps_mask=True)
def leaky_relu(node: Node, inputs: Expr) -> Expr:
    slope = node.config.get("negative_slope", node.config.get("alpha", 0.3))
    return op.nn.leaky_relu(inputs, alpha=float(slope))


@table("PReLU", variables=lambda config: (Slot("alpha"),), keeps_mask=True)
def prelu(node: Node, inputs: Expr) -> Expr:
    zero = node.number(0, inputs)
    return op.nn.relu(inputs) + node.needed("alpha") * op.minimum(inputs, zero)


@table("ELU", keeps_mask=True)
def elu(node: Node, inputs: Expr) -> Expr:
    return widely(node, inputs, lambda x: curves.elu(node, x, node.option("alpha", 1.0)))


@table("ThresholdedReLU", keeps_mask=True)
def thresholded_relu(node: Node, inputs: Expr) -> Expr:
    theta = node.number(node.option("theta", 1.0), inputs)
    return op.where(inputs > theta, inputs, node.number(0, inputs))


@table("Softmax", keeps_mask=True)
def softmax(node: Node, inputs: Expr, mask: Expr | None = None) -> Expr:
    """Softmax along axes; masked elements get a large negative bias first."""
    hidden = mask if mask is not None else node.mask(inputs)
    if hidden is not None:
        inputs = node.let(inputs + pushed_down(node, hidden, inputs))
    axes: Any = node.config.get("axis", -1)
    if not isinstance(axes, list | tuple):
        return widely(node, inputs, lambda x: op.nn.softmax(x, axis=axes))
    return softmax_along(node, inputs, node.axes_of(axes, node.rank(inputs)))


def pushed_down(node: Node, mask: Expr, like: Expr) -> Expr:
    """The bias of a mask: 0 where it is true, a large negative number elsewhere."""
    lowest = -3e4 if node.dtype(like) == "float16" else -1e9
    hidden = node.number(1, like) - op.cast(mask, node.dtype(like))
    return hidden * node.number(lowest, like)


def softmax_along(node: Node, data: Expr, axes: Sequence[int]) -> Expr:
    """Softmax over all elements of some axes together."""
    if len(axes) == 1:
        return widely(node, data, lambda x: op.nn.softmax(x, axis=axes[0]))
    most = op.max(data, axis=tuple(axes), keepdims=True)
    shares = node.let(op.exp(data - most))
    return shares / op.sum(shares, axis=tuple(axes), keepdims=True)
