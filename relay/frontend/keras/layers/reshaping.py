"""Layers that move, repeat, pad and cut elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from relay import op
from relay.frontend.common.builder import int64, static
from relay.frontend.common.resampling import Interpolation, ResizedAxis, real
from relay.frontend.common.resizing import resized
from relay.frontend.keras.converters import Table
from relay.frontend.keras.layers.convolution import rank_of
from relay.frontend.keras.node import Node
from relay.ir.expr import Expr

table = Table()


@table("Flatten")
def flatten(node: Node, inputs: Expr) -> Expr:
    rank = node.rank(inputs)
    if rank < 2:
        return op.reshape(inputs, (-1, 1))
    if not node.channels_last and rank > 2:
        inputs = node.let(op.transpose(inputs, (0, *range(2, rank), 1)))
    return flat(node, inputs)


def flat(node: Node, data: Expr) -> Expr:
    """All axes but the batch as one."""
    numbers = static(node.shape(data)[1:])
    return op.reshape(data, (0, -1 if numbers is None else prod(numbers)))


@table("Reshape")
def reshape(node: Node, inputs: Expr) -> Expr:
    given: Any = node.config.get("target_shape")
    target: list[Any] = list(given) if isinstance(given, list | tuple) else [""]
    target = [-1 if one is None else one for one in target]
    if not all(type(one) is int for one in target):
        raise node.refused("the shape is no list of numbers", found=str(given)[:60])
    numbers = static(node.shape(inputs)[1:])
    if -1 in target and numbers is not None:
        rest = prod(one for one in target if one != -1)
        if target.count(-1) == 1 and rest and prod(numbers) % rest == 0:
            target[target.index(-1)] = prod(numbers) // rest
    batch = node.shape(inputs)[0]
    if isinstance(batch, int):
        return op.reshape(inputs, (batch, *target), allowzero=True)
    if -1 not in target:
        return (
            op.reshape(inputs, (-1, *target))
            if 0 not in target
            else op.reshape(inputs, (0, *target))
        )
    return op.reshape(inputs, (0, *target))


@table("Permute")
def permute(node: Node, inputs: Expr) -> Expr:
    dims: Any = node.config.get("dims")
    order = [0, *dims] if isinstance(dims, list | tuple) else []
    if sorted(order) != [*range(node.rank(inputs))]:
        raise node.refused("it does not order all axes", found=str(dims)[:40])
    return op.transpose(inputs, tuple(order))


@table("RepeatVector")
def repeat_vector(node: Node, inputs: Expr) -> Expr:
    node.must_have_axes(inputs, 2, "vectors")
    return op.repeat(op.expand_dims(inputs, 1), node.option("n", 1), axis=1)


def _pairs(node: Node, name: str, rank: int) -> list[tuple[int, int]]:
    """Padding or cropping before and after each spatial axis."""
    given: Any = node.config.get(name, 1)
    if isinstance(given, int):
        return [(given, given)] * rank
    if not isinstance(given, list | tuple):
        given = []
    if rank == 1 and len(given) == 2 and all(isinstance(one, int) for one in given):
        given = [given]
    found = [
        (one, one) if isinstance(one, int) else tuple(one) if isinstance(one, list | tuple) else ()
        for one in given
    ]
    if len(found) != rank or not all(
        len(one) == 2 and all(type(part) is int and part >= 0 for part in one) for one in found
    ):
        raise node.refused(
            f"`{name}` does not fit", f"two numbers for each of {rank}", str(given)[:60]
        )
    return [(one[0], one[1]) for one in found]


@table("ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D")
def zero_padding(node: Node, inputs: Expr) -> Expr:
    rank = rank_of(node, inputs)
    pads = _pairs(node, "padding", rank)
    none = (0, 0)
    whole = [none, *pads, none] if node.channels_last else [none, none, *pads]
    return op.nn.pad(inputs, whole, node.number(0, inputs))


@table("Cropping1D", "Cropping2D", "Cropping3D")
def cropping(node: Node, inputs: Expr) -> Expr:
    rank = rank_of(node, inputs)
    first = 1 if node.channels_last else 2
    pairs = _pairs(node, "cropping", rank)
    axes = tuple(range(first, first + rank))
    ends = [-after if after else 2**31 - 1 for _, after in pairs]
    return op.strided_slice(inputs, [before for before, _ in pairs], ends, axes=axes)


_MODES = {"nearest": "nearest", "bilinear": "linear", "bicubic": "cubic"}


@table("UpSampling1D", "UpSampling2D", "UpSampling3D")
def upsampling(node: Node, inputs: Expr) -> Expr:
    rank = rank_of(node, inputs)
    factors = node.whole_numbers("size", rank, 2)
    first = 1 if node.channels_last else 2
    mode = node.option("interpolation", "nearest")
    if mode == "nearest" and rank != 2:
        for place, factor in enumerate(factors):
            inputs = node.let(op.repeat(inputs, factor, axis=first + place))
        return inputs
    new = [
        extent * factor for extent, factor in zip(node.shape(inputs)[first:], factors, strict=False)
    ]
    return scaled(node, inputs, first, new, mode, factors)


def scaled(
    node: Node,
    data: Expr,
    first: int,
    new: Sequence[Any],
    mode: str,
    factors: Sequence[int] | None = None,
    antialias: bool = False,
) -> Expr:
    """Images of other sizes along the axes from `first`, with pixels at their centers."""
    axes = []
    for place, size in enumerate(new):
        axis = first + place
        old = node.size(data, axis)
        count = node.let(old * int64(factors[place])) if factors is not None else int64(size)
        # the ratio of the extents, as exact numbers
        above, below = (
            (real(factors[place]), real(1))
            if factors is not None
            else (op.cast(count, "float64"), op.cast(old, "float64"))
        )
        axes.append(ResizedAxis(axis, node.shape(data)[axis], size, old, count, above, below, True))
    if mode not in _MODES:
        raise node.refused("there is no such interpolation", ", ".join(_MODES), mode)
    rounding = "floor" if mode == "nearest" else ""
    coordinates = "tf_half_pixel_for_nn" if mode == "nearest" else "half_pixel"
    alpha = -0.5
    by = Interpolation(
        _MODES[mode],
        coordinates,
        rounding,
        alpha,
        exclude_outside=mode == "bicubic" or antialias,
        antialias=antialias,
    )
    return resized(node, data, axes, by)
