"""Broadcast or concatenated operands with named dimensions.

    Tensor[(n, 4)] + Tensor[(m, 4)]

Two names may be the same number at run time, or one of them may be 1. Inference would refuse them,
so such a dimension becomes unknown for this use.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.builder import Builder
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Expr


def broadcastable(node: Builder, *operands: Expr) -> list[Expr]:
    """The operands, without named dimensions that conflict with those of others."""
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
            for dim, odd in zip(shape, reversed(at_odds[: len(shape)]), strict=True)
        )
        if weaker != shape:
            operand = node.declare(operand, weaker, node.dtype(operand))
        found.append(operand)
    return found


def joinable(node: Builder, axis: int, *operands: Expr) -> list[Expr]:
    """Operands with equal extents but for one axis, as checked at run time."""
    shapes = [node.shape(one) for one in operands]
    if len(set(map(len, shapes))) > 1:
        return list(operands)
    common = [best_known(extents) for extents in zip(*shapes, strict=True)]
    found = []
    for operand, shape in zip(operands, shapes, strict=True):
        wanted = (*common[:axis], shape[axis], *common[axis + 1 :])
        found.append(of_shape(node, operand, wanted))
    return found


def of_shape(node: Builder, operand: Expr, wanted: Sequence[Dim]) -> Expr:
    """An operand refined to a shape, which is checked at run time; static extents stay as they
    are."""
    shape = node.shape(operand)
    if len(shape) != len(wanted) or not any(map(_may_be, shape, wanted)):
        return operand
    dtype = node.dtype(operand)
    pairs = list(zip(shape, wanted, strict=True))
    weaker = tuple(dims.ANY if _may_be(a, b) else a for a, b in pairs)
    better = tuple(b if _may_be(a, b) else a for a, b in pairs)
    operand = node.declare(operand, weaker, dtype)
    return node.declare(operand, better, dtype)


def fitting(node: Builder, operand: Expr, wanted: Sequence[Dim], what: str) -> Expr:
    """An operand of a shape that follows from others: static extents are checked at once, dynamic
    ones at run time."""
    node.must_have_axes(operand, len(wanted), what)
    pairs = list(zip(node.shape(operand), wanted, strict=True))
    if any(isinstance(own, int) and isinstance(one, int) and own != one for own, one in pairs):
        expected = f"({', '.join(map(str, wanted))})"
        raise node.refused(
            f"the shape of {what} does not fit", expected, str(node.type_of(operand))
        )
    return of_shape(node, operand, [best_known((one, own)) for own, one in pairs])


def without_names(node: Builder, operand: Expr) -> Expr:
    """An operand with its named dimensions unknown."""
    shape = tuple(one if isinstance(one, int) else dims.ANY for one in node.shape(operand))
    same = shape == node.shape(operand)
    return operand if same else node.declare(operand, shape, node.dtype(operand))


def trailing_axes(vector: Expr, count: int) -> Expr:
    """A vector with axes of extent 1 after it."""
    return op.expand_dims(vector, 1, num_newaxis=count) if count else vector


def best_known(extents: Sequence[Dim]) -> Dim:
    """A static extent if there is one, otherwise a named dimension."""
    named = [one for one in extents if not isinstance(one, dims.Any)]
    return next((one for one in named if isinstance(one, int)), (named or extents)[0])


def _may_be(one: Dim, wanted: Dim) -> bool:
    """Whether a dynamic dimension is refined by another."""
    return not isinstance(one, int) and one != wanted


def _at_odds(extents: list[Dim]) -> bool:
    """Whether the dimensions of one axis are not known to be compatible, and one is named."""
    wide = [one for one in extents if one != 1 and not isinstance(one, dims.Any)]
    return any(not isinstance(one, int) for one in wide) and any(
        dims.equal(wide[0], one) is not True for one in wide[1:]
    )
