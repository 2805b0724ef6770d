"""Layers that the networks of `keras.applications` define."""

from __future__ import annotations

from collections.abc import Sequence

from relay.frontend.keras.converters import Table
from relay.frontend.keras.node import Node
from relay.frontend.keras.slots import Slot
from relay.ir.expr import Expr

table = Table()


@table("LayerScale", variables=lambda config: (Slot("gamma"),))
def layer_scale(node: Node, inputs: Expr) -> Expr:
    """A factor for each channel."""
    return node.floating(inputs) * node.needed("gamma")


@table("CustomScaleLayer")
def residual_scale(node: Node, inputs: Sequence[Expr]) -> Expr:
    """The first input, and a share of the second one."""
    first, second = (node.floating(one) for one in inputs)
    return first + second * node.number(node.option("scale", 1.0), second)
