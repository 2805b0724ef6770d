"""Operands that are broadcast, with dimensions that have names.

    Tensor[(n, 4)] + Tensor[(m, 4)]

Two names may stand for one number, or one of them for 1: a run shows it. Inference would refuse
them, so such a dimension loses its name here, for this use.
"""

from __future__ import annotations

from relay.frontend.onnx.node import Node
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Expr
from relay.ir.types import TensorType


def broadcastable(node: Node, *operands: Expr) -> list[Expr]:
    """The operands, none of which has a dimension whose name stands against that of another."""
    shapes = [node.shape(one) for one in operands]
    rank = max(map(len, shapes))
    at_odds = [
        _at_odds([shape[-back] for shape in shapes if len(shape) >= back])
        for back in range(1, rank + 1)
    ]
    if not any(at_odds):
        return list(operands)
    found = []
    for operand, shape in zip(operands, shapes, strict=True):
        weaker = tuple(
            dims.ANY if odd and not isinstance(dim, int) else dim
            for dim, odd in zip(shape, at_odds[len(shape) - 1 :: -1], strict=True)
        )
        if weaker != shape:
            operand = node.let(operand, declared=TensorType(weaker, node.dtype(operand)))
        found.append(operand)
    return found


def _at_odds(extents: list[Dim]) -> bool:
    """Whether dimensions of one axis are not known to go together, and one of them has a name."""
    wide = [one for one in extents if one != 1 and not isinstance(one, dims.Any)]
    return any(not isinstance(one, int) for one in wide) and any(
        dims.equal(wide[0], one) is not True for one in wide[1:]
    )
