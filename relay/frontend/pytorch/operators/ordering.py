"""Sorting, top-k, medians, unique elements, search."""

from __future__ import annotations

from relay import op
from relay.frontend.common.builder import int64
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number, Size
from relay.frontend.pytorch.operators.binary import operands
from relay.frontend.pytorch.operators.indexing import true_places, with_axis
from relay.frontend.pytorch.operators.shaping import (
    expanded,
    flat,
    permuted,
    with_shape,
    without_axes,
)
from relay.frontend.pytorch.operators.slicing import cut, minus
from relay.frontend.pytorch.promotion import category, promoted
from relay.ir.dims import ANY
from relay.ir.expr import Expr, TupleGetItem, as_expr, const
from relay.ir.types import TensorType, TupleType

table = Converters()


def sortable(node: Node, data: Expr) -> Expr:
    """Bools as integers."""
    return node.as_dtype(data, "uint8") if node.dtype(data) == "bool" else data


def order_of(node: Node, data: Expr, axis: int, descending: bool = False) -> Expr:
    """The positions of elements in sorted order; equal ones keep theirs."""
    keys = sortable(node, data)
    return node.let(op.argsort(keys, axis=axis, is_ascend=not descending, dtype="int64"))


@table("sort")
def sort(
    node: Node,
    self: Expr,
    dim: int = -1,
    descending: bool = False,
    stable: bool | None = None,
) -> list[Expr]:
    if node.rank(self) == 0:
        return [self, const(0, "int64")]
    axis = node.axis(self, dim)
    places = order_of(node, self, axis, descending)
    if 0 in node.shape(self):
        return [self, places]
    return [op.gather(self, axis, places), places]


@table("sort.stable")
def sort_stable(
    node: Node,
    self: Expr,
    *,
    stable: bool | None = None,
    dim: int = -1,
    descending: bool = False,
) -> list[Expr]:
    return sort(node, self, dim, descending)


@table("argsort")
def argsort(
    node: Node, self: Expr, dim: int = -1, descending: bool = False, stable: bool = False
) -> Expr:
    return sort(node, self, dim, descending)[1]


@table("msort")
def msort(node: Node, self: Expr) -> Expr:
    return sort(node, self, 0)[0]


@table("topk")
def topk(
    node: Node, self: Expr, k: Size, dim: int = -1, largest: bool = True, sorted: bool = True
) -> list[Expr]:
    if node.rank(self) == 0:
        return [self, const(0, "int64")]
    axis, data = node.axis(self, dim), sortable(node, self)
    dtype = node.dtype(self)
    if isinstance(k, int) and k == 0:  # would be all of them in Relay
        empty = cut(node, self, axis, 0, 0)
        return [empty, op.cast(empty, "int64")]
    shape = list(node.shape(data))
    count = k if isinstance(k, int) else node.scalar(k, "int64")
    call = as_expr(op.topk(data, count, axis=axis, is_ascend=not largest, dtype="int64"))
    if isinstance(k, int):
        whole = node.let(call)
    else:
        shape[axis] = ANY
        pair = tuple(TensorType(tuple(shape), one) for one in (node.dtype(data), "int64"))
        whole = node.let(call, declared=TupleType(pair))
    values, places = (node.let(TupleGetItem(whole, at)) for at in (0, 1))
    shape[axis] = node.known(k)
    values = node.declare(values, shape, node.dtype(data))
    return [node.as_dtype(values, dtype), node.declare(places, shape, "int64")]


# --- elements by rank --------------------------------------------------------------------------


def at_rank(node: Node, data: Expr, axis: int, rank: Expr, keepdim: bool) -> list[Expr]:
    """The elements of a rank along an axis, and their positions; `rank` has extent 1 there."""
    order = order_of(node, data, axis)
    sizes = node.extents_of(data)
    sizes[axis] = 1
    place = node.let(op.gather(order, axis, expanded(node, rank, sizes)))
    value = node.let(op.gather(data, axis, place))
    found = [value, place]
    return found if keepdim else [without_axes(node, one, [axis]) for one in found]


@table("kthvalue")
def kthvalue(node: Node, self: Expr, k: Size, dim: int = -1, keepdim: bool = False) -> list[Expr]:
    if node.rank(self) == 0:
        return [self, const(0, "int64")]
    axis = node.axis(self, dim)
    rank = node.let(op.reshape(node.scalar(minus(node, k, 1), "int64"), (1,) * node.rank(self)))
    return at_rank(node, self, axis, rank, keepdim)


@table("median.dim", "nanmedian.dim")
def median(node: Node, self: Expr, dim: int, keepdim: bool = False) -> list[Expr]:
    if node.rank(self) == 0:
        return [self, const(0, "int64")]
    axis = node.axis(self, dim)
    return at_rank(node, self, axis, _middle(node, self, axis), keepdim)


def _middle(node: Node, data: Expr, axis: int) -> Expr:
    """The rank of the median, the lower one of two; that of a NaN where there is one."""
    count = node.size(data, axis)
    half = node.let(op.floor_divide(count - int64(1), int64(2)))
    if category(node.dtype(data)) < 2:
        return node.let(op.reshape(half, (1,) * node.rank(data)))
    missing = node.let(op.cast(op.isnan(data), "int64"))
    missing = node.let(op.sum(missing, axis=axis, keepdims=True))
    there = node.let(count - missing)
    if node.operator == "aten.nanmedian":
        return node.let(op.maximum(op.floor_divide(there - int64(1), int64(2)), int64(0)))
    return node.let(op.where(missing > int64(0), there, half))


@table("median.default", "nanmedian.default")
def median_of_all(node: Node, self: Expr) -> Expr:
    if node.rank(self) == 0:
        return self
    return median(node, flat(node, self), 0)[0]


@table("mode")
def mode(node: Node, self: Expr, dim: int = -1, keepdim: bool = False) -> list[Expr]:
    """The most frequent elements, the smallest of several, and their last positions."""
    if node.rank(self) == 0:
        return [self, const(0, "int64")]
    axis, rank = node.axis(self, dim), node.rank(self)
    order = order_of(node, self, axis)
    ranked = node.let(op.gather(self, axis, order))
    one, other = (node.let(op.expand_dims(ranked, at)) for at in (axis + 1, axis))
    same = node.let(op.cast(op.equal(one, other), "int64"))
    counts = node.let(op.sum(same, axis=axis + 1))
    first = node.let(op.cast(op.argmax(counts, axis=axis, keepdims=True), "int64"))
    most = node.let(op.gather(counts, axis, first))
    place = node.let(op.gather(order, axis, node.let(first + most - int64(1))))
    found = [node.let(op.gather(self, axis, place)), place]
    assert rank
    return found if keepdim else [without_axes(node, each, [axis]) for each in found]


# --- search ------------------------------------------------------------------------------------


@table("searchsorted")
def searchsorted(
    node: Node,
    sorted_sequence: Expr,
    self: Number,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Expr | None = None,
) -> Expr:
    sequence = sorted_sequence
    if sorter is not None:
        sequence = node.let(op.gather(sequence, node.rank(sequence) - 1, sorter))
    return found_in(node, sequence, self, right or side == "right", out_int32)


@table("bucketize")
def bucketize(
    node: Node, self: Number, boundaries: Expr, *, out_int32: bool = False, right: bool = False
) -> Expr:
    return found_in(node, boundaries, self, right, out_int32)


def found_in(node: Node, sequence: Expr, values: Number, right: bool, narrow: bool) -> Expr:
    """The places of values in sorted sequences."""
    sequence, wanted = promoted(node, sequence, values)
    dtype = "int32" if narrow else "int64"
    return op.searchsorted(sequence, wanted, right=right, dtype=dtype)


@table("isin")
def isin(
    node: Node,
    elements: Number,
    test_elements: Number,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> Expr:
    left, right = node.tensor(elements), flat(node, with_axis(node, node.tensor(test_elements)))
    wide = node.let(op.expand_dims(left, node.rank(left)))
    same = node.let(op.equal(*operands(node, wide, right)))
    found = node.let(op.any(same, axis=node.rank(left)))
    return op.logical_not(found) if invert else found


# --- unique elements ---------------------------------------------------------------------------


def _unique(node: Node, data: Expr) -> list[Expr]:
    """Unique parts along the first axis, the number of each position, and how often each occurs."""
    whole = node.let(op.unique(data, is_sorted=True, return_counts=True).astuple())
    values, _, inverse, count, counts = (node.let(TupleGetItem(whole, at)) for at in range(5))
    end = node.let(op.reshape(op.cast(count, "int64"), (1,)))

    def some(one: Expr) -> Expr:
        return node.let(op.strided_slice(one, int64([0]), end, int64([1]), axes=(0,)))

    return [some(values), *(node.let(op.cast(one, "int64")) for one in (inverse, some(counts)))]


@table("_unique2", "_unique")
def unique(
    node: Node,
    self: Expr,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> list[Expr]:
    data = flat(node, self)
    values, inverse, counts = _unique(node, sortable(node, data))
    found = [
        node.as_dtype(values, node.dtype(self)),
        with_shape(node, inverse, node.extents_of(self)) if return_inverse else _none(node),
    ]
    if node.operator == "aten._unique":
        return found
    return [*found, counts if return_counts else _none(node)]


def _none(node: Node) -> Expr:
    """The empty tensor that torch gives for a result that is not requested."""
    return node.zeros((0,), "int64")


@table("unique_dim")
def unique_dim(
    node: Node,
    self: Expr,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> list[Expr]:
    axis = node.axis(self, dim)
    front = [axis, *(one for one in range(node.rank(self)) if one != axis)]
    data = permuted(node, sortable(node, self), front)
    values, inverse, counts = _unique(node, data)
    back = permuted(node, values, [front.index(one) for one in range(len(front))])
    return [
        node.as_dtype(back, node.dtype(self)),
        inverse if return_inverse else _none(node),
        counts if return_counts else _none(node),
    ]


@table("unique_consecutive")
def unique_consecutive(
    node: Node,
    self: Expr,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> list[Expr]:
    axis = 0 if dim is None else node.axis(self, dim)
    data = flat(node, self) if dim is None else self
    found = _runs(node, data, axis)
    values, inverse, counts = found
    if dim is None and return_inverse:
        inverse = with_shape(node, inverse, node.extents_of(self))
    return [
        values,
        inverse if return_inverse else _none(node),
        counts if return_counts else _none(node),
    ]


@table("unique_dim_consecutive")
def unique_dim_consecutive(
    node: Node,
    self: Expr,
    dim: int,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> list[Expr]:
    return unique_consecutive(node, self, return_inverse, return_counts, dim)


def _runs(node: Node, data: Expr, axis: int) -> list[Expr]:
    """The first part of each run of equal parts along an axis, the number of the run of each
    position, and the lengths."""
    if node.shape(data)[axis] == 0:
        return [data, _none(node), _none(node)]
    before, after = cut(node, data, axis, 0, -1), cut(node, data, axis, 1, None)
    shape = list(node.shape(data))
    shape[axis] = ANY
    if not isinstance(node.shape(data)[axis], int):
        dtype = node.dtype(data)
        before, after = (node.declare(one, shape, dtype) for one in (before, after))
    changes = node.let(op.not_equal(before, after))
    rest = tuple(one for one in range(node.rank(data)) if one != axis)
    if rest:
        changes = node.let(op.any(changes, axis=rest))
    flags = node.let(op.concatenate([const([True], "bool"), changes], axis=0))
    (starts,) = true_places(node, flags)
    number = node.let(op.cumsum(op.cast(flags, "int64"), axis=0) - int64(1))
    if not isinstance(node.shape(data)[axis], int):
        number = node.declare(number, (node.shape(data)[axis],), "int64")
    length = node.let(op.reshape(node.size(data, axis), (1,)))
    open_ends = node.let(op.concatenate([starts, length], axis=0))
    ends = node.declare(cut(node, open_ends, 0, 1, None), (ANY,), "int64")
    values = node.let(op.take(data, starts, axis=axis))
    return [values, number, node.let(ends - node.declare(starts, (ANY,), "int64"))]
