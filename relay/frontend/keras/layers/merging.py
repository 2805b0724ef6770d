"""Merging layers: sums, products, concatenation, dot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from relay import op
from relay.frontend.common.broadcast import broadcastable, joinable
from relay.frontend.common.products import contractible
from relay.frontend.keras.converters import Table
from relay.frontend.keras.layers.normalization import unit
from relay.frontend.keras.node import Node
from relay.ir.expr import Expr, Tuple

table = Table()

_EACH: dict[str, Callable[[Expr, Expr], Expr]] = {
    "Add": op.add,
    "Subtract": op.subtract,
    "Multiply": op.multiply,
    "Average": op.add,
    "Maximum": op.maximum,
    "Minimum": op.minimum,
}


@table(*_EACH)
def merge(node: Node, inputs: Any, **_: Any) -> Expr:
    """A function of pairs of tensors, whose ranks are made equal first."""
    given = _tensors(node, inputs)
    if node.operator == "Subtract" and len(given) != 2:
        raise node.refused("it takes two tensors", "2", str(len(given)))
    masks = [node.mask(one) for one in given]
    combine = _EACH[node.operator]

    def both(one: Expr, other: Expr) -> Expr:
        return node.let(combine(*broadcastable(node, one, other)))

    found = reduce(both, _of_one_rank(node, given))
    if node.operator == "Average":
        found = node.let(found * node.number(1 / len(given), found))
    return node.with_mask(found, _all_masks(node, masks, any_is_enough=True))


def _tensors(node: Node, inputs: Any) -> list[Expr]:
    if not isinstance(inputs, list) or not inputs:
        raise node.refused("it takes a list of tensors")
    return inputs


def _of_one_rank(node: Node, given: Sequence[Expr]) -> list[Expr]:
    """Tensors of one rank: axes of extent 1 are inserted after the batch."""
    most = max(map(node.rank, given))
    return [
        one
        if node.rank(one) == most
        else node.let(op.expand_dims(one, 1, num_newaxis=most - node.rank(one)))
        for one in given
    ]


def _all_masks(node: Node, masks: Sequence[Expr | None], *, any_is_enough: bool) -> Expr | None:
    """The conjunction of all masks; None where a tensor without a mask needs none."""
    held = [one for one in masks if one is not None]
    if not held or len(held) < len(masks):
        return None
    combine = op.logical_or if any_is_enough else op.logical_and
    return reduce(lambda one, other: node.let(combine(one, other)), held)


@table("Concatenate")
def concatenate(node: Node, inputs: Any, **_: Any) -> Expr:
    given = _tensors(node, inputs)
    axis = node.axis_of(node.option("axis", -1), node.rank(given[0]))
    masks = [node.mask(one) for one in given]
    found = node.let(op.concatenate(joinable(node, axis, *given), axis=axis))
    if all(one is None for one in masks):
        return node.with_mask(found, None)
    return node.with_mask(found, _joined_mask(node, given, masks, axis))


def _joined_mask(
    node: Node, given: Sequence[Expr], masks: Sequence[Expr | None], axis: int
) -> Expr | None:
    """The masks side by side, or what all keep where data is joined along features."""
    wide = []
    for one, mask in zip(given, masks, strict=True):
        if mask is None:
            whole = node.let(op.cast(op.ones_like(one), "bool"))
        else:
            behind = node.rank(one) - node.rank(mask)
            spread = op.expand_dims(mask, node.rank(mask), num_newaxis=behind) if behind else mask
            whole = node.let(op.logical_and(op.cast(op.ones_like(one), "bool"), spread))
        wide.append(whole)
    joined = node.let(op.concatenate(joinable(node, axis, *wide), axis=axis))
    return node.let(op.all(joined, axis=(-1,)))


@table("Dot")
def dot(node: Node, inputs: Any, **_: Any) -> Expr:
    """Products of the matrices of a batch, contracted along an axis of each."""
    left, right = _tensors(node, inputs)
    given: Any = node.config.get("axes")
    axes = [given, given] if isinstance(given, int) else list(given or ())
    if len(axes) != 2 or min(node.rank(left), node.rank(right)) < 2:
        raise node.refused("it contracts an axis of each of two tensors", found=str(given)[:40])
    one, other = (
        node.axis_of(axis, node.rank(value))
        for axis, value in zip(axes, (left, right), strict=True)
    )
    if 0 in (one, other):
        raise node.refused("the axis of the batch is not contracted", found=str(axes))
    if node.option("normalize", False):
        left = node.let(unit(node, left, [one], 1e-12))
        right = node.let(unit(node, right, [other], 1e-12))
    left, right = contractible(node, left, right, one, other)
    ranks = node.rank(left), node.rank(right)
    if ranks == (2, 2):
        return op.sum(left * right, axis=(1,), keepdims=True)
    # letters of axes: the batch, what is contracted, and the rest of each
    first, second = "abcdefgh", "aijklmno"
    names = [list(first[: ranks[0]]), list(second[: ranks[1]])]
    names[0][one] = names[1][other] = "z"
    result = [name for part in names for name in part if name != "z"]
    result = ["a", *(name for name in result if name != "a")]
    if ranks == (3, 3):
        return op.nn.batch_matmul(left, right, transpose_a=one == 1, transpose_b=other == 2)
    equation = f"{''.join(names[0])},{''.join(names[1])}->{''.join(result)}"
    return op.einsum(Tuple((left, right)), equation=equation)
