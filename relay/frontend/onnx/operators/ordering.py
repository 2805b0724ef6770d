"""Elements by their order and their positions: the greatest, the different ones, triangles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import op
from relay.errors import VALUE
from relay.frontend.onnx.computations.checking import within
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.indexing import chosen_axis
from relay.ir import dims
from relay.ir.expr import Expr, TupleGetItem, as_expr, const
from relay.ir.types import TensorType, TupleType

table = Converters()

# --- greatest and smallest ---------------------------------------------------------------------


@table("ArgMax")
def argmax(node: Node, data: Expr) -> Expr:
    return _position(node, data, op.argmax)


@table("ArgMin")
def argmin(node: Node, data: Expr) -> Expr:
    return _position(node, data, op.argmin)


def _position(node: Node, data: Expr, operator: op.OpDef) -> Expr:
    found = operator(
        data,
        axis=chosen_axis(node, data),
        keepdims=bool(node.attribute("keepdims", 1)),
        select_last_index=bool(node.attribute("select_last_index", 0)),
    )
    return op.cast(found, "int64")


@table("TopK")
def top_by_attribute(node: Node, data: Expr) -> Sequence[Expr]:
    return _top(node, data, node.importer.constant(np.array([node.required("k")], "int64")))


@table("TopK", since=10)
def top(node: Node, data: Expr, count: Expr) -> Sequence[Expr]:
    return _top(node, data, count)


def _top(node: Node, data: Expr, count: Expr) -> Sequence[Expr]:
    axis, known = chosen_axis(node, data, -1), node.elements(count)
    if known is None or not all(isinstance(one, int) and one >= 0 for one in known):
        count = within(node, count, 0, None, "`k` is negative", "0 or more", f"k = {VALUE}")
    smallest = not node.attribute("largest", 1)

    def ranked(most: int | Expr) -> Expr:
        return as_expr(op.topk(data, most, axis=axis, is_ascend=smallest, dtype="int64"))

    number = known[0] if known else None
    if number == 0:  # which is all of them, for Relay
        none = node.let(op.strided_slice(data, [0], [0], axes=(axis,)))
        return [none, op.cast(none, "int64")]
    if isinstance(number, int):
        whole = node.let(ranked(number))
        return [TupleGetItem(whole, place) for place in (0, 1)]
    shape = list(node.shape(data))
    shape[axis] = dims.ANY
    types = [TensorType(tuple(shape), dtype) for dtype in (node.dtype(data), "int64")]
    whole = node.let(ranked(op.reshape(count, ())), declared=TupleType(tuple(types)))
    shape[axis] = dims.ANY if number is None else number
    # if a run finds 0, all of them are there
    start, step = const([0], "int64"), const([1], "int64")
    end = node.let(op.reshape(op.cast(count, "int64"), (1,)))
    return [
        node.let(
            op.strided_slice(TupleGetItem(whole, place), start, end, step, axes=(axis,)),
            declared=TensorType(tuple(shape), types[place].dtype),
        )
        for place in (0, 1)
    ]


@table("Trilu")
def trilu(node: Node, data: Expr, diagonal: Expr | None = None) -> Expr:
    number = const(0, "int64") if diagonal is None else op.reshape(diagonal, ())
    return op.trilu(data, number, upper=bool(node.attribute("upper", 1)))


# --- positions ---------------------------------------------------------------------------------


@table("NonZero")
def nonzero(node: Node, data: Expr) -> Expr:
    """The positions of what is not 0, a row for each axis."""
    return op.cast(op.transpose(op.argwhere(data), (1, 0)), "int64")


# --- what is different -------------------------------------------------------------------------


@table("Unique")
def unique(node: Node, data: Expr) -> Sequence[Expr]:
    """The different elements, where each is first, which one stands where, and how often each."""
    is_sorted = bool(node.attribute("sorted", 1))
    if "axis" in node.attributes:
        return _unique_slices(node, data, chosen_axis(node, data), is_sorted)
    return _unique(node, node.let(op.reshape(data, (-1,))), is_sorted)


def _unique(node: Node, data: Expr, is_sorted: bool) -> list[Expr]:
    """What differs along the first axis."""
    whole = node.let(op.unique(data, is_sorted=is_sorted, return_counts=True).astuple())
    values, first, inverse, count, counts = (TupleGetItem(whole, place) for place in range(5))
    end = node.let(op.cast(count, "int64"))

    def cut(one: Expr) -> Expr:
        return op.strided_slice(one, const([0], "int64"), end, const([1], "int64"), axes=(0,))

    return [
        cut(values),
        *(op.cast(one, "int64") for one in (cut(first), inverse, cut(counts))),
    ]


def _unique_slices(node: Node, data: Expr, axis: int, is_sorted: bool) -> Sequence[Expr]:
    """What differs along another axis: it is moved to the front, and back."""
    front = (axis, *(one for one in range(node.rank(data)) if one != axis))
    values, *places = _unique(node, node.let(op.transpose(data, front)), is_sorted)
    back = tuple(front.index(one) for one in range(len(front)))
    return [op.transpose(values, back), *places]
