"""Shapes of results: axes added for a call and taken away again, lists of one number per axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relay import op
from relay.frontend.common.reshaping import product, reshaped
from relay.frontend.pytorch.node import Node, Size
from relay.ir.expr import Expr


def to_shape(node: Node, data: Expr, sizes: Sequence[Size]) -> Expr:
    """Data of another shape, of which one size may be -1."""
    known = [None if isinstance(one, Expr) else one for one in sizes]
    has_zero = any(isinstance(one, int) and one == 0 for one in known)
    found = reshaped(
        node, data, known, lambda: node.sizes(sizes), allowzero=has_zero, as_computed=True
    )
    return node.let(found)


def dimensions(node: Node, data: Expr, first: int = 0, last: int | None = None) -> list[Size]:
    """The extents of axes of a tensor, from `first` to `last`."""
    return [node.dimension(data, axis) for axis in range(node.rank(data))[first:last]]


def per_axis(node: Node, given: Any, count: int, what: str, default: int = 1) -> list[int]:
    """One number per axis, of a list that may hold one for all, or none."""
    values = [given] if not isinstance(given, list) else given or [default]
    values = values * count if len(values) == 1 else values
    if len(values) != count:
        raise node.refused(f"`{what}` has the wrong length", str(count), str(len(values)))
    if not all(isinstance(one, int) for one in values):
        raise node.refused(f"`{what}` must be known before the model runs", hint=node.give_sizes)
    return [int(one) for one in values]


def volume(node: Node, sizes: Sequence[Size]) -> Size:
    """The product of sizes."""
    known: list[Any] = [one for one in sizes if not isinstance(one, Expr)]
    if len(known) < len(sizes):
        return node.let(op.prod(node.sizes(sizes), axis=(0,)))
    return product(known)


def in_batch(node: Node, data: Expr, rank: int, compute: Callable[[Expr], Any]) -> Any:
    """Results for data with a batch axis, which is added where it is missing."""
    if node.rank(data) == rank:
        return compute(data)
    node.must_have_axes(data, rank - 1, "the inputs")
    found = compute(node.let(op.expand_dims(data, 0)))
    if isinstance(found, list):
        return [op.squeeze(one, (0,)) for one in found]
    return op.squeeze(found, (0,))


def swapped(node: Node, data: Expr, one: int = -1, other: int = -2) -> Expr:
    """Data with two axes exchanged."""
    order = [*range(node.rank(data))]
    order[one], order[other] = order[other], order[one]
    return node.let(op.transpose(data, order))
