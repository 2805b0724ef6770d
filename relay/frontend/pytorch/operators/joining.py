"""Concatenation, repetition, flips and rotations."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from relay import op
from relay.frontend.common.broadcast import joinable
from relay.frontend.common.builder import int64
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Size
from relay.frontend.pytorch.operators.shaping import (
    expanded,
    flat,
    merged,
    meshgrid,
    swapped,
    with_shape,
)
from relay.frontend.pytorch.operators.slicing import cut, minus
from relay.frontend.pytorch.promotion import promoted
from relay.ir.dims import ANY
from relay.ir.expr import Expr, Tuple

table = Converters()


@table("cat", "concat", "concatenate")
def cat(node: Node, tensors: Sequence[Expr], dim: int = 0) -> Expr:
    parts = promoted(node, *tensors)
    rank = max(map(node.rank, parts))
    # empty vectors fit to everything
    parts = [one for one in parts if node.rank(one) == rank or node.shape(one) != (0,)]
    return joined(node, parts, node.axis_of(dim, rank, "`dim`"))


def joined(node: Node, parts: Sequence[Expr], axis: int) -> Expr:
    """Parts concatenated along an axis."""
    if len(parts) == 1:
        return parts[0]
    return node.let(op.concatenate(joinable(node, axis, *parts), axis=axis))


@table("_chunk_cat")
def chunk_cat(node: Node, tensors: Sequence[Expr], dim: int, num_chunks: int) -> Expr:
    """Tensors in as many chunks each, with zeros behind them, whose rests are one axis."""
    rows = []
    for one in promoted(node, *tensors):
        axis = node.axis(one, dim)
        sizes = node.extents_of(one)
        missing = -node.static_extent(one, axis, "an extent that is cut into chunks") % num_chunks
        if missing:
            sizes[axis] = missing
            zeros = expanded(node, node.zeros((), node.dtype(one)), sizes)
            one = node.let(op.concatenate([one, zeros], axis=axis))
        rows.append(with_shape(node, one, [*sizes[:axis], num_chunks, -1]))
    return joined(node, rows, node.rank(rows[0]) - 1)


@table("stack")
def stack(node: Node, tensors: Sequence[Expr], dim: int = 0) -> Expr:
    parts = promoted(node, *tensors)
    axis = node.axis_of(dim, node.rank(parts[0]) + 1, "`dim`")
    return op.stack(Tuple(tuple(joinable(node, -1, *parts))), axis)


@table("hstack", "vstack", "row_stack", "dstack", "column_stack")
def stacked(node: Node, tensors: Sequence[Expr]) -> Expr:
    name = node.operator.removeprefix("aten.")
    parts = promoted(node, *tensors)
    if name == "column_stack":
        parts = [with_shape(node, one, [-1, 1]) if node.rank(one) < 2 else one for one in parts]
        return joined(node, parts, 1)
    count = {"hstack": 1, "vstack": 2, "row_stack": 2, "dstack": 3}[name]
    parts = [_at_least(node, one, count) for one in parts]
    along = min(node.rank(parts[0]) - 1, 1) if name == "hstack" else count - 2 + (count == 3)
    return joined(node, parts, along)


def _at_least(node: Node, data: Expr, count: int) -> Expr:
    rank = node.rank(data)
    if count == 3 and 0 < rank < 3:
        data = node.let(op.expand_dims(data, rank))
        rank += 1
    return node.let(op.expand_dims(data, 0, count - rank)) if rank < count else data


@table("block_diag")
def block_diag(node: Node, tensors: Sequence[Expr]) -> Expr:
    parts = [_at_least(node, one, 2) for one in promoted(node, *tensors)]
    widths = [node.dimension(one, 1) for one in parts]
    rows = []
    for place, part in enumerate(parts):
        height, zero = node.dimension(part, 0), node.zeros((), node.dtype(part))
        row = [
            part if at == place else expanded(node, zero, [height, width])
            for at, width in enumerate(widths)
        ]
        rows.append(joined(node, row, 1))
    return joined(node, rows, 0)


@table("cartesian_prod")
def cartesian_prod(node: Node, tensors: Sequence[Expr]) -> Expr:
    if len(tensors) == 1:
        return tensors[0]
    grid = meshgrid(node, promoted(node, *tensors))
    return node.let(op.stack(Tuple(tuple(flat(node, one) for one in grid)), 1))


@table("combinations")
def combinations(node: Node, self: Expr, r: int = 2, with_replacement: bool = False) -> Expr:
    count = node.static_extent(self, 0, "of how many elements combinations are made")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = [list(one) for one in choose(range(count), r)]
    if not places or not r:
        return node.zeros((len(places) if r else 0, *([r] if r else [])), node.dtype(self))
    return op.take(self, int64(places), axis=0)


# --- repetition --------------------------------------------------------------------------------


@table("repeat")
def repeat(node: Node, self: Expr, repeats: Sequence[Size]) -> Expr:
    ahead = len(repeats) - node.rank(self)
    data = node.let(op.expand_dims(self, 0, ahead)) if ahead else self
    if not repeats or all(isinstance(one, int) and one == 1 for one in repeats):
        return data
    counts = [one for one in repeats if isinstance(one, int) and one > 0]
    if len(counts) == len(repeats):
        return op.tile(data, tuple(counts))
    # (a, b) becomes (r, a, s, b), whose axes are merged in pairs
    extents = node.extents_of(data)
    split: list[Size] = []
    for extent in extents:
        split += [1, extent]
    spread: list[Size] = []
    for count, extent in zip(repeats, extents, strict=True):
        spread += [count, extent]
    whole = expanded(node, with_shape(node, data, split), spread)
    return node.let(op.reshape(whole, (-3,) * len(repeats)))


@table("tile")
def tile(node: Node, self: Expr, dims: Sequence[Size]) -> Expr:
    missing = node.rank(self) - len(dims)
    return repeat(node, self, [*[1] * missing, *dims])


@table("repeat_interleave.self_int")
def repeat_interleave(
    node: Node, self: Expr, repeats: Size, dim: int | None = None, output_size: Size | None = None
) -> Expr:
    data = flat(node, self) if dim is None else self
    axis = 0 if dim is None else node.axis(self, dim)
    if node.rank(data) == 0:
        data = node.let(op.reshape(data, (1,)))
    if isinstance(repeats, int) and repeats > 0:
        return op.repeat(data, repeats, axis=axis)
    longer = node.let(op.expand_dims(data, axis + 1))
    sizes = node.extents_of(longer)
    sizes[axis + 1] = repeats
    return merged(node, expanded(node, longer, sizes), axis, axis + 1)


@table("repeat_interleave.self_Tensor")
def repeat_interleave_by(
    node: Node, self: Expr, repeats: Expr, dim: int | None = None, output_size: Size | None = None
) -> Expr:
    data = flat(node, self) if dim is None else self
    axis = 0 if dim is None else node.axis(self, dim)
    if node.rank(data) == 0:
        data = node.let(op.reshape(data, (1,)))
    counts = repeats if node.rank(repeats) else node.let(op.reshape(repeats, (1,)))
    if node.shape(counts) == (1,):
        counts = expanded(node, counts, [node.dimension(data, axis)])
    return op.take(data, places_of_repeats(node, counts), axis=axis)


@table("repeat_interleave.Tensor")
def repeated_places(node: Node, repeats: Expr, output_size: Size | None = None) -> Expr:
    return op.cast(places_of_repeats(node, repeats), node.dtype(repeats))


def places_of_repeats(node: Node, counts: Expr) -> Expr:
    """repeat_interleave: each position repeated by its count."""
    ends = node.let(op.cumsum(op.cast(counts, "int64"), axis=0))
    total = node.let(op.sum(op.cast(counts, "int64")))
    numbers = node.let(op.arange(total, dtype="int64"))
    return node.let(op.cast(op.searchsorted(ends, numbers, right=True), "int64"))


# --- turns -------------------------------------------------------------------------------------


@table("flip", "fliplr", "flipud")
def flip(node: Node, self: Expr, dims: Sequence[int] | None = None) -> Expr:
    if dims is None:
        dims = [1] if node.operator == "aten.fliplr" else [0]
    found = self
    if node.rank(self):
        for axis in node.axes_of(dims, node.rank(self), distinct=True):
            found = node.let(op.reverse(found, axis=axis))
    return found


@table("roll")
def roll(
    node: Node, self: Expr, shifts: Size | Sequence[Size], dims: int | Sequence[int] = ()
) -> Expr:
    given = list(shifts) if isinstance(shifts, Sequence) else [shifts]
    axes = [dims] if isinstance(dims, int) else list(dims)
    if not axes:
        shape = node.extents_of(self)
        return with_shape(node, _rolled(node, flat(node, self), 0, given[0]), shape)
    found = self
    if node.rank(self):
        for axis, shift in zip(axes, given, strict=True):
            found = _rolled(node, found, node.axis(self, axis), shift)
    return found


def _rolled(node: Node, data: Expr, axis: int, shift: Size) -> Expr:
    """The last elements along an axis moved to its front."""
    extent = node.dimension(data, axis)
    if isinstance(extent, int) and isinstance(shift, int):
        shift = shift % extent if extent else 0
        if shift == 0:
            return data
        place: Size = extent - shift
    else:
        length = node.scalar(extent, "int64")
        moved = node.let(op.floor_mod(node.scalar(shift, "int64"), length))
        place = minus(node, length, moved)
    parts = [cut(node, data, axis, place, None), cut(node, data, axis, 0, place)]
    shape = node.shape(data)
    if not isinstance(place, int):
        open_shape = [ANY if at == axis else one for at, one in enumerate(shape)]
        parts = [node.declare(one, open_shape, node.dtype(data)) for one in parts]
    found = node.let(op.concatenate(parts, axis=axis))
    return found if node.shape(found) == shape else node.declare(found, shape, node.dtype(data))


@table("rot90")
def rot90(node: Node, self: Expr, k: int = 1, dims: Sequence[int] = (0, 1)) -> Expr:
    one, other = node.axes_of(dims, node.rank(self), distinct=True)
    match k % 4:
        case 1:
            return swapped(node, node.let(op.reverse(self, axis=other)), one, other)
        case 2:
            return op.reverse(node.let(op.reverse(self, axis=one)), axis=other)
        case 3:
            return swapped(node, node.let(op.reverse(self, axis=one)), one, other)
    return self
