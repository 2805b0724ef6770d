"""Order and positions: arg max, top k, unique elements, triangles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import op
from relay.errors import VALUE
from relay.frontend.common.builder import int64
from relay.frontend.common.checking import within
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.ir import dims
from relay.ir.expr import Expr, TupleGetItem, as_expr
from relay.ir.types import TensorType, TupleType

table = Converters()


@table("ArgMax", "ArgMin")
def position(node: Node, data: Expr) -> Expr:
    found = (op.argmax if node.operator == "ArgMax" else op.argmin)(
        data,
        axis=node.axis(data),
        keepdims=bool(node.attribute("keepdims", 1)),
        select_last_index=bool(node.attribute("select_last_index", 0)),
    )
    return op.cast(found, "int64")


@table("TopK")
def top(node: Node, data: Expr, count: Expr | None = None) -> Sequence[Expr]:
    """The number is an attribute before version 10."""
    if count is None:
        count = node.importer.constant(np.array([node.required("k")], "int64"))
    axis, known = node.axis(data, -1), node.elements(count)
    if known is None or not all(isinstance(one, int) and one >= 0 for one in known):
        count = within(node, count, 0, None, "`k` is negative", "0 or more", f"k = {VALUE}")
    smallest = not node.attribute("largest", 1)

    def ranked(most: int | Expr) -> Expr:
        return as_expr(op.topk(data, most, axis=axis, is_ascend=smallest, dtype="int64"))

    number = known[0] if known else None
    if number == 0:  # would be all of them in Relay
        empty = node.let(op.strided_slice(data, [0], [0], axes=(axis,)))
        return [empty, op.cast(empty, "int64")]
    if isinstance(number, int):
        whole = node.let(ranked(number))
        return [TupleGetItem(whole, place) for place in (0, 1)]
    shape = list(node.shape(data))
    shape[axis] = dims.ANY
    dtypes = (node.dtype(data), "int64")
    declared = TupleType(tuple(TensorType(tuple(shape), dtype) for dtype in dtypes))
    whole = node.let(ranked(op.reshape(count, ())), declared=declared)
    shape[axis] = dims.ANY if number is None else number
    # for 0, `topk` returns all elements
    start, step = int64([0]), int64([1])
    end = node.let(op.reshape(op.cast(count, "int64"), (1,)))
    return [
        node.declare(op.strided_slice(whole[place], start, end, step, axes=(axis,)), shape, dtype)
        for place, dtype in enumerate(dtypes)
    ]


@table("Trilu")
def trilu(node: Node, data: Expr, diagonal: Expr | None = None) -> Expr:
    number = int64(0) if diagonal is None else op.reshape(diagonal, ())
    return op.trilu(data, number, upper=bool(node.attribute("upper", 1)))


@table("NonZero")
def nonzero(node: Node, data: Expr) -> Expr:
    """The positions of nonzero elements, a row per axis."""
    return op.cast(op.transpose(op.argwhere(data), (1, 0)), "int64")


@table("Unique")
def unique(node: Node, data: Expr) -> Sequence[Expr]:
    """The unique elements, their first positions, the inverse indices, and the counts."""
    is_sorted = bool(node.attribute("sorted", 1))
    if "axis" not in node.attributes:
        return _unique(node, node.let(op.reshape(data, (-1,))), is_sorted)
    axis = node.axis(data)
    front = (axis, *(one for one in range(node.rank(data)) if one != axis))
    values, *positions = _unique(node, node.let(op.transpose(data, front)), is_sorted)
    back = tuple(front.index(one) for one in range(len(front)))
    return [op.transpose(values, back), *positions]


def _unique(node: Node, data: Expr, is_sorted: bool) -> list[Expr]:
    """Unique slices along the first axis."""
    whole = node.let(op.unique(data, is_sorted=is_sorted, return_counts=True).astuple())
    values, first, inverse, count, counts = (TupleGetItem(whole, place) for place in range(5))
    end = node.let(op.cast(count, "int64"))

    def cut(one: Expr) -> Expr:
        return op.strided_slice(one, int64([0]), end, int64([1]), axes=(0,))

    return [cut(values), *(op.cast(one, "int64") for one in (cut(first), inverse, cut(counts)))]
