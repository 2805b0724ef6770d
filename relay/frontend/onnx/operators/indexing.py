"""Gather and scatter."""

from __future__ import annotations

from relay import op
from relay.errors import VALUE
from relay.frontend.common.broadcast import best_known, of_shape, trailing_axes
from relay.frontend.common.builder import int64, static
from relay.frontend.common.checking import as_scalar, within
from relay.frontend.common.indices import from_front, in_range
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir.expr import Expr

table = Converters()


@table("Gather")
def gather(node: Node, data: Expr, indices: Expr) -> Expr:
    axis = node.axis(data)
    return op.take(data, from_front(node, indices, data, axis), axis=axis)


@table("GatherElements")
def gather_elements(node: Node, data: Expr, indices: Expr) -> Expr:
    axis = node.axis(data)
    return op.gather(data, axis, from_front(node, indices, data, axis))


@table("GatherND")
def gather_nd(node: Node, data: Expr, indices: Expr) -> Expr:
    shared = node.attribute("batch_dims", 0)
    count = _index_depth(node, indices)
    axes = range(shared, shared + count)
    if shared < 0 or axes.stop > node.rank(data):
        most = f"at most {node.rank(data) - shared}"
        raise node.refused("more indices than axes", most, str(count))
    whole = [node.shape(data)[axis] for axis in axes]
    if static(whole) is not None:
        extents: Expr = int64(whole)
    else:
        extents = op.strided_slice(op.shape_of(data, dtype="int64"), [axes.start], [axes.stop])
    positions = _components_first(node, indices)
    positions = in_range(node, positions, data, axes, negative=True) if count else positions
    lengths = op.reshape(extents, (count, *(1,) * (node.rank(indices) - 1)))
    negative = positions < int64(0)
    positions = op.where(negative, positions + lengths, positions)
    return op.gather_nd(data, positions, batch_dims=shared, index_rank=count)


def _index_depth(node: Node, indices: Expr) -> int:
    """The number of indices per position: the static extent of the last axis."""
    extents = node.shape(indices)
    if not extents or not isinstance(extents[-1], int):
        message = "how many indices name a place must be known before the model runs"
        expected = "a number as the last extent of the indices"
        raise node.misfit(message, expected, str(node.type_of(indices)))
    return extents[-1]


def _components_first(node: Node, indices: Expr) -> Expr:
    """Indices with their components along the first axis, as in Relay, not the last."""
    rank = node.rank(indices)
    return indices if rank == 1 else node.let(op.transpose(indices, (rank - 1, *range(rank - 1))))


_REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "min": "min", "max": "max"}


def _reduction(node: Node) -> str:
    return _REDUCTIONS[node.choice("reduction", "none", _REDUCTIONS)]


@table("Scatter", "ScatterElements")
def scatter_elements(node: Node, data: Expr, indices: Expr, updates: Expr) -> Expr:
    axis = node.axis(data)
    indices = in_range(node, indices, data, [axis], negative=True)
    return op.scatter_elements(data, indices, updates, axis=axis, reduction=_reduction(node))


@table("ScatterND")
def scatter_nd(node: Node, data: Expr, indices: Expr, updates: Expr) -> Expr:
    count = _index_depth(node, indices)
    positions = _components_first(node, indices)
    positions = in_range(node, positions, data, range(count), negative=True) if count else positions
    own, new = node.shape(data), node.shape(updates)
    # an update and the slice it replaces have the same shape
    rest = [
        best_known(pair) for pair in zip(own[count:], new[node.rank(indices) - 1 :], strict=False)
    ]
    data = of_shape(node, data, (*own[:count], *rest))
    updates = of_shape(node, updates, (*node.shape(indices)[:-1], *rest))
    return op.scatter_nd(data, positions, updates, mode=_reduction(node))


@table("TensorScatter")
def tensor_scatter(node: Node, cache: Expr, update: Expr, starts: Expr | None = None) -> Expr:
    """Writes updates of one length into a cache, from a start position per sequence."""
    axis = node.axis(cache, -2)
    rank = node.rank(cache)
    length, most = node.size(update, axis), node.size(cache, axis)
    is_circular = node.attribute("mode", "linear") == "circular"
    steps = op.arange(length, dtype="int64")
    positions = trailing_axes(steps, rank - axis - 1)
    if starts is not None:
        if not is_circular:
            room = node.let(most - length)
            message = "an update reaches beyond the cache"
            starts = within(node, starts, 0, room, message, f"a start up to {VALUE}")
        positions = op.expand_dims(starts, 1, num_newaxis=rank - 1) + positions
    if is_circular:
        positions = op.floor_mod(positions, most)
    indices = op.broadcast_to_like(positions, update)
    return op.scatter_elements(cache, indices, update, axis=axis)


@table("OneHot")
def one_hot(node: Node, indices: Expr, depth: Expr, values: Expr) -> Expr:
    """`values` are the values for off and on."""
    positions = op.cast(indices, "int64")
    length = as_scalar(node, node.let(op.cast(depth, "int64")), "the depth is not one number")
    length = within(node, length, 1, None, "the depth is not positive", "1 or more")
    values = of_shape(node, values, [2])
    if node.shape(values) != (2,):
        raise node.misfit("values are what is off and what is on", "2", str(node.type_of(values)))
    from_front = op.where(positions < int64(0), positions + length, positions)
    off, on = (op.take(values, int64(place), axis=0) for place in (0, 1))
    number, axis = node.constant(length), node.attribute("axis", -1)
    size, dtype = length if number is None else int(number), node.dtype(values)
    found = op.one_hot(from_front, on, off, size, axis=axis, dtype=dtype)
    known = node.elements(depth)
    if number is not None or not known or known[0] is None:
        return found
    shape = list(node.shape(indices))
    shape.insert(axis % (len(shape) + 1), known[0])
    return node.declare(found, shape, dtype)
