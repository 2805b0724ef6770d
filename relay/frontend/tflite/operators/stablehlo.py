"""Operators of StableHLO that LiteRT runs, and compositions of operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from relay import op
from relay.frontend.common.angles import atan2
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.tflite.converters import Table
from relay.frontend.tflite.node import Node
from relay.ir.expr import Expr

table = Table()

_PAIRS: Mapping[str, Callable[[Expr, Expr], Expr]] = {
    "STABLEHLO_ADD": op.add,
    "STABLEHLO_MULTIPLY": op.multiply,
    "STABLEHLO_MAXIMUM": op.maximum,
    "STABLEHLO_MINIMUM": op.minimum,
    "STABLEHLO_SHIFT_LEFT": op.left_shift,
}


@table.of_reals(*_PAIRS)
def pair(node: Node, left: Expr, right: Expr) -> Expr:
    left, right = broadcastable(node, left, right)
    return _PAIRS[node.operator](left, right)


@table.of_reals("ATAN2")
def angle(node: Node, y: Expr, x: Expr) -> Expr:
    return atan2(node, y, x)


@table("STABLEHLO_PAD")
def pad(node: Node, data: Expr, value: Expr) -> Expr:
    """Values before, after and between elements; negative numbers cut off."""
    rank = node.rank(data)
    low, high, between = (
        list(map(int, node.option(name, [0] * rank)))
        for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    if {len(low), len(high), len(between)} != {rank}:
        raise node.refused("there is no width for each axis", str(rank), str(len(low)))
    if min(between, default=0) < 0:
        raise node.refused("there is less than nothing between elements", found=str(between))
    filler = node.let(op.reshape(value, ()))
    if any(between):
        spread = [one + 1 for one in between]
        known = node.constant(filler)
        if known is None:
            raise node.refused("what is between elements must be known before the model runs")
        data = node.let(op.nn.dilate(data, spread, float(known.item())))
    widths = [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)]
    if any(map(any, widths)):
        data = node.let(op.nn.pad(data, widths, filler))
    cut = [(min(a, 0), min(b, 0)) for a, b in zip(low, high, strict=True)]
    if any(map(any, cut)):
        ends = [after if after else 2**31 - 1 for _, after in cut]
        data = op.strided_slice(data, [-before for before, _ in cut], ends)
    return data


@table("STABLEHLO_COMPOSITE")
def composite(node: Node, *inputs: Expr) -> Sequence[Expr]:
    """What a subgraph computes, whatever the name of the composition is."""
    number = node.option("decomposition_subgraph_index", 0)
    return node.importer.add(number, node.scope, inputs)
