"""Elements at positions: index, gather, take, masks, nonzero."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.broadcast import broadcastable
from relay.frontend.common.builder import int64
from relay.frontend.common.indices import from_front, in_range
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number
from relay.frontend.pytorch.operators.shaping import (
    common_extents,
    expanded,
    flat,
    moved,
    permuted,
    with_shape,
)
from relay.frontend.pytorch.promotion import truth
from relay.immutable import frozen
from relay.ir.dims import ANY
from relay.ir.expr import Expr, Tuple

table = Converters()


# --- indices of several axes -------------------------------------------------------------------


@frozen
class Places:
    """Positions along some axes of a tensor, broadcast to one shape."""

    axes: tuple[int, ...]
    vectors: tuple[Expr, ...]  # of int64, counted from the front

    @property
    def adjacent(self) -> bool:
        """Whether the axes are neighbors, so that the result has the new ones in their place."""
        return [*self.axes] == [*range(self.axes[0], self.axes[0] + len(self.axes))]


def places_of(node: Node, data: Expr, indices: Sequence[Expr | None]) -> Places:
    """Index tensors, of which masks stand for the positions where they are true."""
    axes: list[int] = []
    found: list[Expr] = []
    axis = 0
    for one in indices:
        if one is None:
            axis += 1
            continue
        if node.dtype(one) in ("bool", "uint8"):
            vectors = true_places(node, truth(node, one))
            axes += range(axis, axis + len(vectors))
            found += vectors
            axis += len(vectors)
            continue
        given = node.as_dtype(one, "int64")
        axes.append(axis)
        found.append(node.let(from_front(node, given, data, axis)))
        axis += 1
    if len(found) > 1:
        sizes = common_extents(node, found)
        found = [expanded(node, one, sizes) for one in found]
    return Places(tuple(axes), tuple(found))


def true_places(node: Node, mask: Expr) -> list[Expr]:
    """The positions where a mask is true, a vector per axis."""
    rank = node.rank(mask)
    rows = node.let(op.cast(op.argwhere(mask), "int64"))
    return [node.let(op.take(rows, int64(axis), axis=1)) for axis in range(rank)]


@table("index", "_unsafe_index")
def index(node: Node, self: Expr, indices: Sequence[Expr | None]) -> Expr:
    if any(
        one is not None and node.rank(one) == 0 and node.dtype(one) == "bool" for one in indices
    ):
        self, indices = _with_axes_of_scalars(node, self, indices)
    places = places_of(node, self, indices)
    if not places.axes:
        return self
    if len(places.axes) == 1:
        return op.take(self, places.vectors[0], axis=places.axes[0])
    rank, count = node.rank(self), len(places.axes)
    front = permuted(node, self, _in_front(rank, places.axes))
    found = node.let(op.gather_nd(front, _rows(node, places), index_rank=count))
    return _placed(node, found, places, node.rank(places.vectors[0]))


def is_flag(node: Node, index: Expr | None) -> bool:
    """Whether an index is a mask without axes."""
    return index is not None and node.rank(index) == 0 and node.dtype(index) == "bool"


def _with_axes_of_scalars(
    node: Node, data: Expr, indices: Sequence[Expr | None]
) -> tuple[Expr, list[Expr | None]]:
    """Masks without axes select along a new axis of extent 1."""
    found: list[Expr | None] = []
    for one in indices:
        if one is not None and is_flag(node, one):
            data = node.let(op.expand_dims(data, len(found)))
            one = node.let(op.reshape(one, (1,)))
        found.append(one)
    return data, found


def _in_front(rank: int, axes: Sequence[int]) -> list[int]:
    return [*axes, *(axis for axis in range(rank) if axis not in axes)]


def _rows(node: Node, places: Places) -> Expr:
    """Positions as rows, one per indexed element."""
    return node.let(op.stack(Tuple(places.vectors), 0))


def _placed(node: Node, found: Expr, places: Places, width: int) -> Expr:
    """A result whose first `width` axes are new, with them where torch has them."""
    if not places.adjacent or places.axes[0] == 0:
        return found
    first = places.axes[0]
    return moved(node, found, [*range(width)], [*range(first, first + width)])


@table("index_put", "_unsafe_index_put", "_index_put_impl")
def index_put(
    node: Node,
    self: Expr,
    indices: Sequence[Expr | None],
    values: Expr,
    accumulate: bool = False,
    unsafe: bool = False,
) -> Expr:
    given = [one for one in indices if one is not None]
    if not given:
        return expanded(node, values, node.extents_of(self))
    is_one = all(one == 1 for one in node.shape(values))
    if is_one and not accumulate and len(indices) == 1 and node.dtype(given[0]) == "bool":
        return _masked(node, self, given[0], values)
    if any(is_flag(node, one) for one in indices):
        shape = node.extents_of(self)
        self, indices = _with_axes_of_scalars(node, self, indices)
        found = index_put(node, self, indices, values, accumulate)
        return with_shape(node, found, shape)
    places = places_of(node, self, indices)
    rank, count = node.rank(self), len(places.axes)
    order = _in_front(rank, places.axes)
    front = permuted(node, self, order)
    width = node.rank(places.vectors[0])
    new = node.extents_of(places.vectors[0])
    rest = node.extents_of(front)[count:]
    if not places.adjacent or places.axes[0] == 0:
        updates = expanded(node, values, [*new, *rest])
    else:
        first = places.axes[0]
        updates = expanded(node, values, [*rest[:first], *new, *rest[first:]])
        updates = moved(node, updates, [*range(first, first + width)], [*range(width)])
    written = _written(node, front, _rows(node, places), updates, accumulate)
    return permuted(node, written, [order.index(axis) for axis in range(rank)])


def _written(node: Node, data: Expr, rows: Expr, updates: Expr, accumulate: bool) -> Expr:
    if not accumulate:
        return node.let(op.scatter_nd(data, rows, updates, mode="update"))
    if node.dtype(data) == "bool":
        return node.let(op.scatter_nd(data, rows, updates, mode="max"))
    return node.let(op.scatter_nd(data, rows, updates, mode="add"))


def _masked(node: Node, data: Expr, mask: Expr, value: Expr) -> Expr:
    """Data with one value where a mask of its first axes holds."""
    behind = node.rank(data) - node.rank(mask)
    wide = node.let(op.expand_dims(mask, node.rank(mask), behind)) if behind else mask
    wide, own = broadcastable(node, wide, data)
    return op.where(wide, node.let(op.reshape(value, ())), own)


@table("_unsafe_masked_index")
def masked_index(
    node: Node, self: Expr, mask: Expr, indices: Sequence[Expr | None], fill: Number
) -> Expr:
    """Elements where a mask holds, elsewhere a value; other indices may be out of range."""
    safe = _where_masked(node, mask, indices)
    found = node.let(index(node, self, safe))
    return op.where(*broadcastable(node, mask, found, node.number(fill, self)))


def _where_masked(node: Node, mask: Expr, indices: Sequence[Expr | None]) -> list[Expr | None]:
    found: list[Expr | None] = []
    for one in indices:
        if one is not None:
            mask_of, own = broadcastable(node, mask, one)
            one = node.let(op.where(mask_of, own, node.number(0, own)))
        found.append(one)
    return found


@table("_unsafe_masked_index_put_accumulate")
def masked_index_put(
    node: Node, self: Expr, mask: Expr, indices: Sequence[Expr | None], values: Expr
) -> Expr:
    safe = _where_masked(node, mask, indices)
    zero = node.number(0, values)
    kept = node.let(op.where(*broadcastable(node, mask, values, zero)))
    return index_put(node, self, safe, kept, accumulate=True)


# --- indices of one axis -----------------------------------------------------------------------


@table("index_select", "index_select_copy")
def index_select(node: Node, self: Expr, dim: int, index: Expr) -> Expr:
    if node.rank(self) == 0:
        return self
    axis = node.axis(self, dim)
    places = index if node.rank(index) else node.let(op.reshape(index, (1,)))
    return op.take(self, in_range(node, places, self, [axis]), axis=axis)


def with_axis(node: Node, data: Expr) -> Expr:
    """A scalar as a vector of one."""
    return data if node.rank(data) else node.let(op.reshape(data, (1,)))


@table("gather")
def gather(node: Node, self: Expr, dim: int, index: Expr, sparse_grad: bool = False) -> Expr:
    data, places = with_axis(node, self), with_axis(node, index)
    axis = node.axis(self, dim)
    if 0 in node.shape(places):
        found = node.zeros(node.shape(places), node.dtype(self))
    else:
        found = node.let(op.gather(data, axis, in_range(node, places, data, [axis])))
    return found if node.rank(index) else node.let(op.reshape(found, ()))


@table("take")
def take(node: Node, self: Expr, index: Expr) -> Expr:
    data = flat(node, self)
    return op.take(data, from_front(node, index, data, 0), axis=0)


@table("take_along_dim")
def take_along_dim(node: Node, self: Expr, indices: Expr, dim: int | None = None) -> Expr:
    if dim is None:
        places = flat(node, indices)
        return gather(node, flat(node, self), 0, places)
    axis = node.axis(self, dim)
    sizes = common_extents(node, [self, indices])
    own, given = list(sizes), list(sizes)
    own[axis], given[axis] = (node.dimension(one, axis) for one in (self, indices))
    data, places = expanded(node, self, own), expanded(node, indices, given)
    return op.gather(data, axis, from_front(node, places, data, axis))


@table("masked_select")
def masked_select(node: Node, self: Expr, mask: Expr) -> Expr:
    sizes = common_extents(node, [self, mask])
    data, chosen = (flat(node, expanded(node, one, sizes)) for one in (self, mask))
    (places,) = true_places(node, truth(node, chosen))
    return op.take(data, places, axis=0)


@table("masked_scatter")
def masked_scatter(node: Node, self: Expr, mask: Expr, source: Expr) -> Expr:
    """The elements of a source, in order, where a mask holds."""
    sizes = common_extents(node, [self, mask])
    data, chosen = (expanded(node, one, sizes) for one in (self, mask))
    flags = flat(node, truth(node, chosen))
    number = node.let(op.cumsum(node.as_dtype(flags, "int64"), axis=0) - int64(1))
    at = node.let(op.maximum(number, int64(0)))
    values = flat(node, source)
    if 0 in node.shape(values):
        return data
    taken = with_shape(node, node.let(op.take(values, at, axis=0)), node.extents_of(data))
    return op.where(*broadcastable(node, truth(node, chosen), taken, data))


# --- positions of elements ---------------------------------------------------------------------


@table("nonzero", "argwhere")
def nonzero(node: Node, self: Expr) -> Expr:
    """The positions of elements other than 0, a row each."""
    if node.rank(self) == 0:
        flags = node.let(op.reshape(truth(node, self), (1,)))
        rows = node.let(op.cast(op.argwhere(flags), "int64"))
        return op.strided_slice(rows, [0], [0], axes=(1,))
    return op.cast(op.argwhere(truth(node, self)), "int64")


@table("nonzero_numpy", "where.default")
def nonzero_per_axis(node: Node, self: Expr) -> list[Expr]:
    return true_places(node, truth(node, with_axis(node, self)))


@table("nonzero_static")
def nonzero_static(node: Node, self: Expr, size: int, fill_value: int = -1) -> Expr:
    rows = node.let(nonzero(node, self))
    width = node.rank(self)
    more = node.let(op.full(int64(fill_value), (size, width), dtype="int64"))
    open_rows = node.declare(rows, (ANY, width), "int64")
    both = node.let(op.concatenate([open_rows, more], axis=0))
    return node.declare(op.strided_slice(both, [0], [size], axes=(0,)), (size, width), "int64")
