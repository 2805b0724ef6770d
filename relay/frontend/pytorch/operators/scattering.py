"""Tensors with some elements replaced or combined: scatter, index_add, put."""

from __future__ import annotations

import math

from relay import dtypes, op
from relay.frontend.common.builder import int64
from relay.frontend.common.indices import from_front, in_range
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Number
from relay.frontend.pytorch.operators.indexing import with_axis
from relay.frontend.pytorch.operators.shaping import expanded, flat, with_shape
from relay.frontend.pytorch.operators.slicing import cut
from relay.frontend.pytorch.promotion import category
from relay.ir.expr import Expr

table = Converters()

_REDUCTIONS = {
    "add": "add",
    "sum": "add",
    "multiply": "mul",
    "prod": "mul",
    "amax": "max",
    "amin": "min",
    "mean": "mean",
}


@table("scatter", "scatter_add")
def scatter(
    node: Node, self: Expr, dim: int, index: Expr, src: Number, *, reduce: str | None = None
) -> Expr:
    reduction = "add" if node.operator == "aten.scatter_add" else reduce
    return scattered(node, self, dim, index, src, reduction)


@table("scatter.value", "scatter.value_reduce")
def scatter_value(
    node: Node, self: Expr, dim: int, index: Expr, value: Number, *, reduce: str | None = None
) -> Expr:
    return scattered(node, self, dim, index, value, reduce)


@table("scatter_reduce")
def scatter_reduce(
    node: Node,
    self: Expr,
    dim: int,
    index: Expr,
    src: Expr,
    reduce: str,
    *,
    include_self: bool = True,
) -> Expr:
    return scattered(node, self, dim, index, src, reduce, include_self)


def scattered(
    node: Node,
    self: Expr,
    dim: int,
    index: Expr,
    values: Number,
    reduce: str | None,
    include_self: bool = True,
) -> Expr:
    """Values written to their positions along an axis, or combined with what is there."""
    data, places, axis = with_axis(node, self), with_axis(node, index), node.axis(self, dim)
    if 0 in node.shape(places):
        return self
    places = in_range(node, node.as_dtype(places, "int64"), data, [axis])
    if isinstance(values, Expr) and node.rank(values) == node.rank(index):
        updates = with_axis(node, values)
        for along, extent in enumerate(node.extents_of(places)):
            updates = cut(node, updates, along, 0, extent)
        updates = node.declare(updates, node.shape(places), node.dtype(updates))
    else:
        updates = expanded(node, node.number(values, self), node.extents_of(places))
    found = combined(node, data, places, updates, axis, reduce, include_self)
    return found if node.rank(self) else node.let(op.reshape(found, ()))


def combined(
    node: Node,
    data: Expr,
    places: Expr,
    updates: Expr,
    axis: int,
    reduce: str | None,
    include_self: bool,
) -> Expr:
    """Updates combined with data; without `include_self` only with each other."""
    dtype = node.dtype(data)
    if reduce is None:
        return node.let(op.scatter_elements(data, places, updates, axis=axis))
    if dtype == "bool":
        data, updates = (node.as_dtype(one, "uint8") for one in (data, updates))
        kind = {"sum": "amax", "add": "amax", "prod": "amin", "multiply": "amin"}
        found = combined(node, data, places, updates, axis, kind.get(reduce, reduce), include_self)
        return node.as_dtype(found, "bool")
    start = data
    if not include_self:
        blank = expanded(node, _neutral(node, data, reduce), node.extents_of(places))
        start = node.let(op.scatter_elements(data, places, blank, axis=axis))
    if reduce != "mean":
        mode = _REDUCTIONS[reduce]
        return node.let(op.scatter_elements(start, places, updates, axis=axis, reduction=mode))
    total = node.let(op.scatter_elements(start, places, updates, axis=axis, reduction="add"))
    none = node.let(op.zeros_like(data) if not include_self else op.ones_like(data))
    ones = node.let(op.ones_like(updates))
    count = node.let(op.scatter_elements(none, places, ones, axis=axis, reduction="add"))
    count = node.let(op.maximum(count, node.number(1, count)))
    return node.let(op.floor_divide(total, count) if category(dtype) < 2 else total / count)


def _neutral(node: Node, data: Expr, reduce: str) -> Expr:
    """The number that a reduction begins with."""
    dtype = node.dtype(data)
    if reduce in ("amax", "amin"):
        if category(dtype) == 2:
            return node.number(-math.inf if reduce == "amax" else math.inf, data)
        bits, signed = dtypes.bits(dtype), dtype in dtypes.SIGNED
        lowest = -(1 << (bits - 1)) if signed else 0
        highest = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1
        return node.number(lowest if reduce == "amax" else highest, data)
    return node.number(1 if reduce in ("prod", "multiply") else 0, data)


# --- parts along an axis -----------------------------------------------------------------------


def along(node: Node, data: Expr, axis: int, index: Expr, source: Expr) -> tuple[Expr, Expr]:
    """Positions along an axis, and what is written there, in the shape of the parts."""
    places = with_axis(node, index)
    sizes = node.extents_of(data)
    sizes[axis] = node.dimension(places, 0)
    rank = node.rank(data)
    shape = [-1 if one == axis else 1 for one in range(rank)]
    wide = with_shape(node, in_range(node, places, data, [axis]), shape)
    if node.rank(source) < rank:
        source = node.let(op.reshape(source, (1,) * rank))
    return expanded(node, wide, sizes), expanded(node, source, sizes)


@table("index_add")
def index_add(
    node: Node, self: Expr, dim: int, index: Expr, source: Expr, alpha: Number = 1
) -> Expr:
    axis = node.axis(self, dim)
    if not (isinstance(alpha, int | float) and alpha == 1):
        source = node.let(source * node.number(alpha, source))
    return _replaced(node, self, axis, index, source, "add")


@table("index_copy")
def index_copy(node: Node, self: Expr, dim: int, index: Expr, source: Expr) -> Expr:
    return _replaced(node, self, node.axis(self, dim), index, source, None)


@table("index_fill")
def index_fill(node: Node, self: Expr, dim: int, index: Expr, value: Number) -> Expr:
    data, axis = with_axis(node, self), node.axis(self, dim)
    places = node.as_dtype(index, "int64")
    places = from_front(node, with_axis(node, places), data, axis)
    return _replaced(node, self, axis, node.let(places), node.number(value, self), None)


@table("index_reduce")
def index_reduce(
    node: Node,
    self: Expr,
    dim: int,
    index: Expr,
    source: Expr,
    reduce: str,
    *,
    include_self: bool = True,
) -> Expr:
    axis = node.axis(self, dim)
    return _replaced(node, self, axis, index, source, reduce, include_self)


def _replaced(
    node: Node,
    self: Expr,
    axis: int,
    index: Expr,
    source: Expr,
    reduce: str | None,
    include_self: bool = True,
) -> Expr:
    data = with_axis(node, self)
    if 0 in node.shape(index) or 0 in node.shape(data):
        return self
    places, updates = along(node, data, axis, index, source)
    found = combined(node, data, places, updates, axis, reduce, include_self)
    return found if node.rank(self) else node.let(op.reshape(found, ()))


@table("put")
def put(node: Node, self: Expr, index: Expr, source: Expr, accumulate: bool = False) -> Expr:
    data = flat(node, self)
    if 0 in node.shape(index):
        return self
    places = flat(node, node.let(from_front(node, index, data, 0)))
    reduce = "add" if accumulate else None
    found = combined(node, data, places, flat(node, source), 0, reduce, True)
    return with_shape(node, found, node.extents_of(self))


@table("bincount")
def bincount(node: Node, self: Expr, weights: Expr | None = None, minlength: int = 0) -> Expr:
    data = node.as_dtype(self, "int64")
    most = node.let(op.max(op.concatenate([data, int64([-1])], axis=0)))
    count = node.let(op.maximum(most + int64(1), int64(minlength)))
    dtype = "int64"
    if weights is not None:
        dtype = node.dtype(weights) if node.dtype(weights) == "float32" else "float64"
    one = node.number(1, int64(0)) if weights is None else node.as_dtype(weights, dtype)
    values = expanded(node, one, node.extents_of(data)) if weights is None else one
    empty = node.let(op.full(node.scalar(0, dtype), op.reshape(count, (1,)), dtype=dtype))
    return op.scatter_elements(empty, data, values, axis=0, reduction="add")


@table("histc")
def histc(node: Node, self: Expr, bins: int = 100, min: float = 0, max: float = 0) -> Expr:
    """histc: counts of elements in bins of equal width."""
    dtype = node.dtype(self)
    data = flat(node, node.as_dtype(self, "float64"))
    low, high = (node.scalar(float(one), "float64") for one in (min, max))
    if min == max:
        low, high = node.let(op.min(data)), node.let(op.max(data))
    same = node.let(op.equal(low, high))
    unit = node.scalar(1.0, "float64")
    low, high = (
        node.let(op.where(same, end, one)) for end, one in ((low - unit, low), (high + unit, high))
    )
    place = node.let(op.cast((data - low) / (high - low) * node.scalar(bins, "float64"), "int64"))
    place = node.let(op.minimum(place, int64(bins - 1)))
    inside = op.logical_and(data >= low, data <= high)
    place = node.let(op.where(inside, place, int64(bins)))
    values = node.let(op.cast(inside, dtype))
    empty = node.zeros((bins,), dtype)
    return op.scatter_elements(empty, place, values, axis=0, reduction="add")


@table("segment_reduce")
def segment_reduce(
    node: Node,
    data: Expr,
    reduce: str,
    *,
    lengths: Expr | None = None,
    indices: Expr | None = None,
    offsets: Expr | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Number | None = None,
) -> Expr:
    """Reductions of parts of the last of the axes that `lengths` or `offsets` have."""
    given = lengths if lengths is not None else offsets
    if given is None:
        raise node.refused("it needs `lengths` or `offsets`")
    given = node.as_dtype(given, "int64")
    ends = node.let(op.cumsum(given, axis=axis) if lengths is not None else given)
    if lengths is None:
        ends = cut(node, ends, axis, 1, None)
    places = node.positions(data, axis)
    wide = node.let(op.expand_dims(ends, axis + 1))
    # how many parts end before an element
    before = op.cast(op.less_equal(wide, places), "int64")
    part = node.let(op.sum(before, axis=(axis,)))
    rank = node.rank(data)
    for _ in range(rank - axis - 1):
        part = node.let(op.expand_dims(part, node.rank(part)))
    part = expanded(node, part, node.extents_of(data))
    kind = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    least = {"amax": -math.inf, "amin": math.inf, "prod": 1}.get(kind, 0)
    start = least if initial is None else initial
    # what is behind the last part is a part of its own, which is left out
    sizes = node.extents_of(data)
    sizes[axis] = node.dimension(ends, axis)
    blank = expanded(node, node.number(start, data), sizes)
    more = list(sizes)
    more[axis] = 1
    blank = node.let(
        op.concatenate([blank, expanded(node, node.number(start, data), more)], axis=axis)
    )
    reduction = {"sum": "add", "mean": "add", "prod": "mul", "amax": "max", "amin": "min"}[kind]
    found = node.let(op.scatter_elements(blank, part, data, axis=axis, reduction=reduction))
    found = cut(node, found, axis, 0, -1)
    if kind != "mean":
        return found
    zeros = node.let(op.zeros_like(blank))
    ones = node.let(op.ones_like(data))
    count = node.let(op.scatter_elements(zeros, part, ones, axis=axis, reduction="add"))
    count = cut(node, count, axis, 0, -1)
    none = op.equal(count, node.number(0, data))
    empty = node.number(math.nan, data) if initial is None else found
    return op.where(none, empty, found / count)
