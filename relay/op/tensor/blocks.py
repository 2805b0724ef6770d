"""space_to_batch_nd, batch_to_space_nd, depth_to_space and space_to_depth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Literal

import numpy as np

from relay import dtypes, te
from relay.ir import dims
from relay.ir.attrs import Attrs, attrs
from relay.ir.dims import Dim
from relay.ir.expr import Expr
from relay.ir.types import TensorType, Type
from relay.op.building import layouts
from relay.op.building.elements import place, position
from relay.op.building.helper import REQUIRED, helper
from relay.op.building.layout_rules import WHOLE_IMAGE
from relay.op.building.numerics import convert
from relay.op.building.views import LayoutIndex, fill, view
from relay.op.facts import Precision, Trait
from relay.op.gradient_rules import Backward, build
from relay.op.opdef import FusionKind, define, sample
from relay.op.site import Relation, Site

Pairs = tuple[tuple[int, int], ...]
# (site, channels, spatial extents) -> the same of the result
Change = Callable[[Site, Dim, Sequence[Dim]], Sequence[Dim]]


def divided(site: Site, extent: Dim, parts: int, what: str) -> Dim:
    """Extent / parts, which must have no remainder."""
    quotient = dims.floor_divide(extent, parts)
    if not site.unify_dims(dims.multiply(quotient, parts), extent):
        site.fail(f"{what} cannot be divided", f"a multiple of {parts}", str(extent))
    return quotient


# --- the batch ---------------------------------------------------------------------------------


@attrs
class SpaceToBatchNDAttrs(Attrs):
    """block_shape: the extents of a block, along the axes after the first
    paddings: for each of these axes, the padding before and after it
    pad_value: the value of the padding
    """

    block_shape: tuple[int, ...] = (1, 1)
    paddings: tuple[tuple[int, int], ...]
    pad_value: float = 0.0


@attrs
class BatchToSpaceNDAttrs(Attrs):
    """block_shape: the extents of a block, along the axes after the first
    crops: for each of these axes, the number of elements cropped at its start and end
    """

    block_shape: tuple[int, ...] = (1, 1)
    crops: tuple[tuple[int, int], ...]


def _spatial(site: Site, name: str, pairs: Pairs) -> TensorType | None:
    """The type of data, with `block_shape` and `name` checked."""
    block = site.attrs.block_shape
    site.require(
        all(size > 0 for size in block),
        "`block_shape` has a value below 1",
        "1 or more",
        f"block_shape = {block}",
    )
    fits = len(pairs) == len(block) and all(width >= 0 for pair in pairs for width in pair)
    site.require(
        fits, f"`{name}` does not fit", f"{len(block)} pairs of 0 or more", f"{name} = {pairs}"
    )
    site.require_rank(0, at_least=1 + len(block))
    return site.tensor(0)


def _space_to_batch_type(site: Site) -> Type | None:
    """(n, x, …) -> (n * blocks, (x + pads) / block, …)"""
    block, paddings = site.attrs.block_shape, site.attrs.paddings
    if (data := _spatial(site, "paddings", paddings)) is None:
        return None
    batch, *extents = data.shape
    for axis, (size, pads) in enumerate(zip(block, paddings, strict=True)):
        padded = dims.add(extents[axis], sum(pads))
        extents[axis] = divided(site, padded, size, f"padded axis {axis + 1}")
    return TensorType((dims.multiply(batch, prod(block)), *extents), data.dtype)


def _batch_to_space_type(site: Site) -> Type | None:
    """(n * blocks, x, …) -> (n, x * block - crops, …)"""
    block, crops = site.attrs.block_shape, site.attrs.crops
    if (data := _spatial(site, "crops", crops)) is None:
        return None
    batch, *extents = data.shape
    for axis, (size, ends) in enumerate(zip(block, crops, strict=True)):
        whole = dims.multiply(extents[axis], size)
        extents[axis] = rest = dims.subtract(whole, sum(ends))
        site.require_natural(
            rest, f"`crops` drops more than axis {axis + 1} has", f"{whole} or less", str(ends)
        )
    return TensorType((divided(site, batch, prod(block), "the batch"), *extents), data.dtype)


def _space_to_batch(
    data: np.ndarray, block_shape: Sequence[int], paddings: Pairs, pad_value: float
) -> np.ndarray:
    count = len(block_shape)
    rest = data.ndim - 1 - count
    value = convert(np.array(pad_value), dtypes.canonical(data.dtype))
    widths = [(0, 0), *paddings, *[(0, 0)] * rest]
    padded = np.full([d + sum(w) for d, w in zip(data.shape, widths, strict=True)], value)
    padded[tuple(slice(w[0], w[0] + d) for d, w in zip(data.shape, widths, strict=True))] = data
    batch, *extents = padded.shape
    split = [e for d, b in zip(extents, block_shape, strict=False) for e in (d // b, b)]
    blocks = padded.reshape(batch, *split, *extents[count:])
    inside, across = range(2, 2 * count + 1, 2), range(1, 2 * count + 1, 2)
    order = (*inside, 0, *across, *range(2 * count + 1, blocks.ndim))
    return blocks.transpose(order).reshape(batch * prod(block_shape), *split[::2], *extents[count:])


def _batch_to_space(data: np.ndarray, block_shape: Sequence[int], crops: Pairs) -> np.ndarray:
    count = len(block_shape)
    batch, *extents = data.shape
    blocks = data.reshape(*block_shape, batch // prod(block_shape), *extents)
    pairs = [axis for i in range(count) for axis in (count + 1 + i, i)]
    whole = blocks.transpose(count, *pairs, *range(2 * count + 1, blocks.ndim)).reshape(
        batch // prod(block_shape),
        *(d * b for d, b in zip(extents, block_shape, strict=False)),
        *extents[count:],
    )
    kept = [slice(a, d - b) for d, (a, b) in zip(whole.shape[1:], crops, strict=False)]
    return whole[(slice(None), *kept)]


def _space_to_batch_compute(
    data: te.Tensor,
    out: te.Spec,
    block_shape: tuple[int, ...],
    paddings: Pairs,
    pad_value: float,
) -> te.Tensor:
    blocks = tuple(map(te.index, block_shape))
    value = te.cast(te.const(pad_value, "float64"), out.dtype)

    def element(*i: te.Expr) -> te.Expr:
        *inside, batch = place(i[0], (*blocks, data.shape[0]))
        source, conditions = list(i[1:]), []
        for axis, (before, after) in enumerate(paddings):
            source[axis] = i[1 + axis] * blocks[axis] + inside[axis] - before
            if before:
                conditions.append(source[axis] >= 0)
            if after:
                conditions.append(source[axis] < data.shape[1 + axis])
        return te.select(te.every(*conditions), data[(batch, *source)], value)

    return te.compute(out.shape, element)


def _batch_to_space_compute(
    data: te.Tensor, out: te.Spec, block_shape: tuple[int, ...], crops: Pairs
) -> te.Tensor:
    blocks = tuple(map(te.index, block_shape))

    def element(*i: te.Expr) -> te.Expr:
        source, inside = list(i[1:]), []
        for axis, (before, _) in enumerate(crops):
            whole = i[1 + axis] + before
            source[axis] = whole // blocks[axis]
            inside.append(whole % blocks[axis])
        batch = position((*inside, i[0]), (*blocks, out.shape[0]))
        return data[(batch, *source)]

    return te.compute(out.shape, element)


def _inverse(site: Backward, name: str, **changed: Any) -> Expr:
    """The gradient through the inverse operator, of the same attributes."""
    known = dict(site.attrs.items())
    if changed:
        known = {"block_shape": known["block_shape"], **changed}
    return build(name, site.gradient, **known)


SPACE_TO_BATCH_ND = define(
    "nn.space_to_batch_nd",
    doc="data, padded, is divided into blocks along the axes after the first; the elements at the "
    "same position of their blocks form an element of the batch, in row-major order of positions.",
    arguments=[("data", "the batch, then as many axes as a block has, then any others")],
    attrs=SpaceToBatchNDAttrs,
    relation=_space_to_batch_type,
    reference=_space_to_batch,
    compute=_space_to_batch_compute,
    fusion=FusionKind.INJECTIVE,
    precision=Precision.FOLLOW,
    samples=[
        sample((2, 4, 6, 3), block_shape=(2, 3), paddings=((0, 0), (0, 0))),
        sample((1, 3, 5), block_shape=(2, 2), paddings=((1, 0), (0, 1)), pad_value=1.5),
        sample((2, 5, 2), block_shape=(3,), paddings=((2, 2),), pad_value=-3.0, dtype="int8"),
        sample((2, 3), block_shape=(), paddings=()),
    ],
    gradient=lambda site: [_inverse(site, "nn.batch_to_space_nd", crops=site.attrs.paddings)],
)

space_to_batch_nd = helper(
    SPACE_TO_BATCH_ND, "Move blocks of space into the batch.", block_shape=REQUIRED, pad_value=0
)

batch_to_space_nd = define(
    "nn.batch_to_space_nd",
    doc="The inverse of `nn.space_to_batch_nd`: elements of the batch become the elements of "
    "blocks, and the result is cropped.",
    arguments=[("data", "the batch, then as many axes as a block has, then any others")],
    attrs=BatchToSpaceNDAttrs,
    relation=_batch_to_space_type,
    reference=_batch_to_space,
    compute=_batch_to_space_compute,
    fusion=FusionKind.INJECTIVE,
    traits=Trait.MOVES,
    samples=[
        sample((12, 2, 2, 3), block_shape=(2, 3), crops=((0, 0), (0, 0))),
        sample((4, 2, 3), block_shape=(2, 2), crops=((1, 0), (0, 1)), dtype="int8"),
        sample((6, 3, 2), block_shape=(3,), crops=((2, 3),), dtype="float16"),
        sample((2, 3), block_shape=(), crops=()),
    ],
    gradient=lambda site: [_inverse(site, "nn.space_to_batch_nd", paddings=site.attrs.crops)],
)

# --- the channels ------------------------------------------------------------------------------


@attrs
class SubPixelAttrs(Attrs):
    """block_size: the extent of a block along both spatial axes
    layout: the order of the axes of data
    mode: channels are ordered by the position in a block first ("DCR"), or last ("CRD")
    """

    block_size: int = 1
    layout: str = "NCHW"
    mode: Literal["DCR", "CRD"] = "DCR"


def _rebuilt(change: Change) -> Relation:
    """(n, c, h, w) -> (n, …), where `change(site, channels, extents)` gives what follows."""

    def relation(site: Site) -> Type | None:
        size = site.attrs.block_size
        site.require(size > 0, "`block_size` is not positive", "1 or more", f"block_size = {size}")
        layout = layouts.require_layout(site, "layout", site.attrs.layout, "NCHW")
        extents = layouts.unblocked_shape(site, 0, layout, "NCHW")
        if extents is None or (data := site.tensor(0)) is None:
            return None
        batch, channels, *spatial = extents
        shape = (batch, *change(site, channels, spatial))
        return TensorType(layouts.blocked_shape(site, shape, "NCHW", layout), data.dtype)

    return relation


def _channels_to_blocks(site: Site, channels: Dim, spatial: Sequence[Dim]) -> list[Dim]:
    """(c / b², h * b, w * b)"""
    size = site.attrs.block_size
    fewer = divided(site, channels, size * size, "the channels")
    return [fewer, *(dims.multiply(extent, size) for extent in spatial)]


def _blocks_to_channels(site: Site, channels: Dim, spatial: Sequence[Dim]) -> list[Dim]:
    """(c * b², h / b, w / b)"""
    size = site.attrs.block_size
    fewer = [divided(site, extent, size, "a spatial axis") for extent in spatial]
    return [dims.multiply(channels, size * size), *fewer]


def _depth_to_space(data: np.ndarray, block_size: int, layout: str, mode: str) -> np.ndarray:
    images = layouts.unblocked(data, layout, "NCHW")
    batch, channels, height, width = images.shape
    block, fewer = block_size, channels // block_size**2
    if mode == "DCR":
        parts = images.reshape(batch, block, block, fewer, height, width)
        parts = parts.transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = images.reshape(batch, fewer, block, block, height, width)
        parts = parts.transpose(0, 1, 4, 2, 5, 3)
    result = parts.reshape(batch, fewer, height * block, width * block)
    return layouts.blocked(result, "NCHW", layout)


def _space_to_depth(data: np.ndarray, block_size: int, layout: str, mode: str) -> np.ndarray:
    images = layouts.unblocked(data, layout, "NCHW")
    batch, channels, *extents = images.shape
    height, width = (extent // block_size for extent in extents)
    parts = images.reshape(batch, channels, height, block_size, width, block_size)
    parts = parts.transpose((0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4))
    result = parts.reshape(batch, channels * block_size**2, height, width)
    return layouts.blocked(result, "NCHW", layout)


def _depth_to_space_compute(
    data: te.Tensor, out: te.Spec, block_size: int, layout: str, mode: str
) -> te.Tensor:
    source = view(data, layout)

    def element(at: LayoutIndex) -> te.Expr:
        rows, columns = (at[letter].divided(te.index(block_size)) for letter in "HW")
        inside = rows[1].then(columns[1])
        channel = inside.then(at["C"]) if mode == "DCR" else at["C"].then(inside)
        return source.at(N=at["N"], C=channel, H=rows[0], W=columns[0])

    return fill(out.shape, layouts.read_layout(layout), element, "depth_to_space")


def _space_to_depth_compute(
    data: te.Tensor, out: te.Spec, block_size: int, layout: str, mode: str
) -> te.Tensor:
    source, block = view(data, layout), te.index(block_size)

    def element(at: LayoutIndex) -> te.Expr:
        if mode == "DCR":
            inside, channel = at["C"].divided(source.extent("C"))
        else:
            channel, inside = at["C"].divided(block * block)
        row, column = inside.divided(block)
        return source.at(N=at["N"], C=channel, H=at["H"].then(row), W=at["W"].then(column))

    return fill(out.shape, layouts.read_layout(layout), element, "space_to_depth")


depth_to_space = define(
    "nn.depth_to_space",
    doc="Channels become blocks of space.",
    arguments=[("data", "images")],
    attrs=SubPixelAttrs,
    relation=_rebuilt(_channels_to_blocks),
    reference=_depth_to_space,
    compute=_depth_to_space_compute,
    fusion=FusionKind.INJECTIVE,
    layout=WHOLE_IMAGE,
    traits=Trait.MOVES,
    samples=[
        sample((2, 8, 3, 4), block_size=2),
        sample((1, 2, 3, 9), block_size=3, layout="NHWC", mode="CRD", dtype="int8"),
        sample((2, 12, 1, 2), block_size=2, mode="CRD", dtype="float16"),
        sample((1, 2, 2, 8), block_size=2, layout="NHWC"),
    ],
    gradient=lambda site: [_inverse(site, "nn.space_to_depth")],
)

space_to_depth = define(
    "nn.space_to_depth",
    doc="Blocks of space become channels; the inverse of `nn.depth_to_space`.",
    arguments=[("data", "images")],
    attrs=SubPixelAttrs,
    relation=_rebuilt(_blocks_to_channels),
    reference=_space_to_depth,
    compute=_space_to_depth_compute,
    fusion=FusionKind.INJECTIVE,
    layout=WHOLE_IMAGE,
    traits=Trait.MOVES,
    samples=[
        sample((2, 2, 6, 4), block_size=2),
        sample((1, 6, 3, 2), block_size=3, layout="NHWC", mode="CRD", dtype="int8"),
        sample((2, 3, 2, 4), block_size=2, mode="CRD", dtype="float16"),
        sample((1, 4, 2, 3), block_size=2, layout="NHWC"),
    ],
    gradient=lambda site: [_inverse(site, "nn.depth_to_space")],
)
