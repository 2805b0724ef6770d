"""Elements by their positions: read and written."""

from __future__ import annotations

import numpy as np

from relay import op
from relay.errors import VALUE
from relay.frontend.onnx.computations.broadcast import best_known, of_shape
from relay.frontend.onnx.computations.checking import as_one, within
from relay.frontend.onnx.computations.indices import in_range
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr, const
from relay.ir.types import TensorType

table = Converters()


def from_front(node: Node, indices: Expr, data: Expr, axis: int) -> Expr:
    """Indices along an axis that count from its front; those of ONNX may count from the back, and
    must not lie outside."""
    indices = in_range(node, indices, data, [axis], negative=True)
    extent = node.shape(data)[axis]
    dtype = node.dtype(indices)
    known = node.constant(indices)
    if known is not None and (isinstance(extent, int) or bool((known >= 0).all())):
        if bool((known >= 0).all()):
            return indices
        return node.importer.constant(np.where(known < 0, known + extent, known).astype(dtype))
    if isinstance(extent, int):
        length: Expr = const(extent, dtype)
    else:
        length = op.take(op.shape_of(data, dtype=dtype), const(axis, "int64"), axis=0)
    return op.where(op.less(indices, const(0, dtype)), op.add(indices, length), indices)


def chosen_axis(node: Node, data: Expr, default: int = 0) -> int:
    """The attribute `axis`, counted from the front."""
    axis, rank = node.attribute("axis", default), node.rank(data)
    if not -rank <= axis < rank:
        raise node.refused("`axis` is out of range", f"an axis of {rank}", str(axis))
    return int(axis) % rank


# --- reading -----------------------------------------------------------------------------------


@table("Gather")
def gather(node: Node, data: Expr, indices: Expr) -> Expr:
    axis = chosen_axis(node, data)
    return op.take(data, from_front(node, indices, data, axis), axis=axis)


@table("GatherElements")
def gather_elements(node: Node, data: Expr, indices: Expr) -> Expr:
    axis = chosen_axis(node, data)
    return op.gather(data, axis, from_front(node, indices, data, axis))


@table("GatherND")
def gather_nd(node: Node, data: Expr, indices: Expr) -> Expr:
    shared = node.attribute("batch_dims", 0)
    count = _places_named(node, indices)
    axes = range(shared, shared + count)
    if shared < 0 or axes.stop > node.rank(data):
        raise node.refused(
            "more indices than axes", f"at most {node.rank(data) - shared}", str(count)
        )
    whole = [node.shape(data)[axis] for axis in axes]
    if all(isinstance(extent, int) for extent in whole):
        extents: Expr = const(whole, "int64")
    else:
        all_extents = op.shape_of(data, dtype="int64")
        extents = op.strided_slice(all_extents, [axes.start], [axes.stop])
    places = _components_first(node, indices)
    places = in_range(node, places, data, axes, negative=True) if count else places
    lengths = op.reshape(extents, (count, *(1,) * (node.rank(indices) - 1)))
    negative = op.less(places, const(0, "int64"))
    places = op.where(negative, op.add(places, lengths), places)
    return op.gather_nd(data, places, batch_dims=shared, index_rank=count)


def _places_named(node: Node, indices: Expr) -> int:
    """How many indices name one place: the extent of the last axis."""
    extents = node.shape(indices)
    if not extents or not isinstance(extents[-1], int):
        raise node.refused(
            "how many indices name a place must be known before the model runs",
            expected="a number as the last extent of the indices",
            found=str(node.type_of(indices)),
        )
    return extents[-1]


def _components_first(node: Node, indices: Expr) -> Expr:
    """Indices of places along the first axis, where ONNX has them along the last."""
    rank = node.rank(indices)
    return indices if rank == 1 else node.let(op.transpose(indices, (rank - 1, *range(rank - 1))))


# --- writing -----------------------------------------------------------------------------------

_REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "min": "min", "max": "max"}


def _reduction(node: Node) -> str:
    given = node.attribute("reduction", "none")
    if given not in _REDUCTIONS:
        raise node.refused("there is no such reduction", ", ".join(_REDUCTIONS), given)
    return _REDUCTIONS[given]


@table("Scatter", "ScatterElements")
def scatter_elements(node: Node, data: Expr, indices: Expr, updates: Expr) -> Expr:
    axis = chosen_axis(node, data)
    indices = in_range(node, indices, data, [axis], negative=True)
    return op.scatter_elements(data, indices, updates, axis=axis, reduction=_reduction(node))


@table("ScatterND")
def scatter_nd(node: Node, data: Expr, indices: Expr, updates: Expr) -> Expr:
    count = _places_named(node, indices)
    places = _components_first(node, indices)
    places = in_range(node, places, data, range(count), negative=True) if count else places
    own, new = node.shape(data), node.shape(updates)
    # what an update and the slice it goes to have in common
    rest = [
        best_known(pair) for pair in zip(own[count:], new[node.rank(indices) - 1 :], strict=False)
    ]
    data = of_shape(node, data, (*own[:count], *rest))
    updates = of_shape(node, updates, (*node.shape(indices)[:-1], *rest))
    return op.scatter_nd(data, places, updates, mode=_reduction(node))


@table("TensorScatter")
def tensor_scatter(node: Node, cache: Expr, update: Expr, starts: Expr | None = None) -> Expr:
    """Updates of one length for each sequence of a batch, from a place of its own on."""
    axis = chosen_axis(node, cache, -2)
    rank = node.rank(cache)
    length, most = (_extent(node, one, axis) for one in (update, cache))
    steps = op.arange(length, dtype="int64")
    places = op.expand_dims(steps, 1, num_newaxis=rank - axis - 1) if axis < rank - 1 else steps
    if starts is not None:
        if node.attribute("mode", "linear") != "circular":
            room = node.let(op.subtract(most, length))
            message = "an update reaches beyond the cache"
            starts = within(node, starts, 0, room, message, f"a start up to {VALUE}")
        places = op.add(op.expand_dims(starts, 1, num_newaxis=rank - 1), places)
    if node.attribute("mode", "linear") == "circular":
        places = op.floor_mod(places, most)
    indices = op.broadcast_to_like(places, update)
    return op.scatter_elements(cache, indices, update, axis=axis)


def _extent(node: Node, data: Expr, axis: int) -> Expr:
    """The extent of an axis as a scalar."""
    extent = node.shape(data)[axis]
    if isinstance(extent, int):
        return const(extent, "int64")
    return op.take(op.shape_of(data, dtype="int64"), const(axis, "int64"), axis=0)


@table("OneHot")
def one_hot(node: Node, indices: Expr, depth: Expr, values: Expr) -> Expr:
    """Values are what is off and what is on."""
    places = op.cast(indices, "int64")
    length = as_one(node, node.let(op.cast(depth, "int64")), "the depth is not one number")
    length = within(node, length, 1, None, "the depth is not positive", "1 or more")
    values = of_shape(node, values, [2])
    if node.shape(values) != (2,):
        raise node.refused("values are what is off and what is on", "2", str(node.type_of(values)))
    from_front = op.where(op.less(places, const(0, "int64")), op.add(places, length), places)
    off, on = (op.take(values, const(place, "int64"), axis=0) for place in (0, 1))
    number, axis = node.constant(length), node.attribute("axis", -1)
    found = op.one_hot(
        from_front,
        on,
        off,
        length if number is None else int(number),
        axis=axis,
        dtype=node.dtype(values),
    )
    known = node.elements(depth)
    if number is not None or not known or known[0] is None:
        return found
    shape = list(node.shape(indices))
    shape.insert(axis % (len(shape) + 1), known[0])
    return node.let(found, declared=TensorType(tuple(shape), node.dtype(values)))
