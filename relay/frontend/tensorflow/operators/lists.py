"""Lists of tensors: `TensorList`, and `TensorArray`, whose content is its flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from relay import op
from relay.frontend.common.broadcast import of_shape
from relay.frontend.common.builder import int64
from relay.frontend.tensorflow import tensor_lists as lists
from relay.frontend.tensorflow.converters import Table
from relay.frontend.tensorflow.node import Node
from relay.frontend.tensorflow.values import Nothing, TensorList, Value
from relay.ir.expr import Expr, const

table = Table()


@table("TensorListReserve")
def reserve(node: Node, shape: Expr, count: Expr) -> Value:
    number = lists.count_of(node, count)
    of_elements = lists.shape_of_elements(node, shape)
    return lists.empty(node, node.named_type("element_dtype"), of_elements, number)


@table("EmptyTensorList")
def empty(node: Node, shape: Expr, most: Expr) -> Value:
    of_elements = lists.shape_of_elements(node, shape)
    return lists.empty(node, node.named_type("element_dtype"), of_elements, node.let(int64(0)))


@table("TensorListFromTensor")
def from_tensor(node: Node, rows: Expr, shape: Expr) -> Value:
    return TensorList(node.dtype(rows), rows, node.size(rows, 0))


@table("TensorListStack")
def stack(node: Node, items: TensorList, shape: Expr) -> Expr:
    rows = lists.stacked(node, items, lists.shape_of_elements(node, shape))
    count = node.integer("num_elements", -1)
    return rows if count < 0 else of_shape(node, rows, (count, *node.shape(rows)[1:]))


@table("TensorListGetItem")
def get_item(node: Node, items: TensorList, index: Expr, shape: Expr) -> Expr:
    return lists.element(node, items, index, lists.shape_of_elements(node, shape))


@table("TensorListSetItem")
def set_item(node: Node, items: TensorList, index: Expr, item: Expr) -> Value:
    if node.flag("resize_if_index_out_of_bounds"):
        last = node.let(op.cast(index, "int64") + int64(1))
        items = lists.resized(node, items, node.let(op.maximum(last, lists.length(node, items))))
    return lists.written(node, items, index, item)


@table("TensorListPushBack")
def push_back(node: Node, items: TensorList, item: Expr) -> Value:
    return lists.appended(node, items, item)


@table("TensorListPopBack")
def pop_back(node: Node, items: TensorList, shape: Expr) -> Sequence[Value]:
    number = node.let(lists.length(node, items) - int64(1))
    last = lists.element(node, items, number, lists.shape_of_elements(node, shape))
    return [lists.resized(node, items, number), last]


@table("TensorListLength")
def length(node: Node, items: TensorList) -> Expr:
    return node.known.same(
        node.as_dtype(lists.length(node, items), "int32"), lists.length(node, items)
    )


@table("TensorListElementShape")
def element_shape(node: Node, items: TensorList) -> Expr:
    dtype = node.named_type("shape_type", "int32")
    if items.rows is None:
        shape = items.shape
        return const(np.array(-1 if shape is None else shape, dtype), dtype)
    whole = node.whole_shape(items.rows)
    return node.as_dtype(node.let(op.strided_slice(whole, [1], [node.rank(items.rows)])), dtype)


@table("TensorListResize")
def resize(node: Node, items: TensorList, count: Expr) -> Value:
    return lists.resized(node, items, lists.count_of(node, count))


@table("TensorListGather")
def gather(node: Node, items: TensorList, indices: Expr, shape: Expr) -> Expr:
    return lists.element(node, items, indices, lists.shape_of_elements(node, shape))


@table("TensorListScatterIntoExistingList")
def scatter_into(node: Node, items: TensorList, rows: Expr, indices: Expr) -> Value:
    return lists.scattered(node, items, indices, rows)


@table("TensorListScatter", "TensorListScatterV2")
def scatter(node: Node, rows: Expr, indices: Expr, shape: Expr, count: Expr | None = None) -> Value:
    """TensorListScatter: as long as `num_elements`, by default up to the largest index."""
    own = node.let(op.cast(op.max(indices, axis=0), "int64") + int64(1))
    size = own
    if count is not None:
        asked = lists.count_of(node, count)
        known = node.constant(asked)
        if known is None or known.item() >= 0:
            size = asked
    items = TensorList(node.dtype(rows), None, size)
    return lists.scattered(node, items, indices, rows)


@table("TensorListConcatLists")
def concat_lists(node: Node, left: TensorList, right: TensorList) -> Value:
    parts = [lists.stacked(node, one, None) for one in (left, right)]
    return replace(left, rows=node.let(op.concatenate(parts, axis=0)))


@table("TensorListPushBackBatch")
def push_back_batch(node: Node, items: Value, rows: Expr) -> Value:
    raise node.refused("batches of lists are not translated")


@table("TensorListConcat", "TensorListConcatV2")
def concat(node: Node, items: TensorList, *rest: Expr) -> Sequence[Expr]:
    """The elements, one after the other along their first axis, and their lengths."""
    shape = lists.shape_of_elements(node, rest[0]) if rest else None
    return _concatenated(node, lists.stacked(node, items, shape))


def _concatenated(node: Node, rows: Expr) -> list[Expr]:
    if node.rank(rows) < 2:
        raise node.refused("elements without axes cannot be concatenated")
    whole = node.let(op.reshape(rows, (-3, *([-2] if node.rank(rows) > 2 else []))))
    count, size = node.size(rows, 0), node.size(rows, 1)
    lengths = op.dyn.full(size, op.reshape(count, (1,)), "int64")
    return [whole, node.declare(lengths, (node.shape(rows)[0],), "int64")]


@table("TensorListSplit")
def split(node: Node, rows: Expr, shape: Expr, lengths: Expr) -> Value:
    """Parts of equal lengths."""
    return TensorList(node.dtype(rows), _parts(node, rows, lengths), node.size(lengths, 0))


def _parts(node: Node, rows: Expr, lengths: Expr) -> Expr:
    known = node.constant(lengths)
    if known is None or not known.size or (known != known[0]).any():
        raise node.refused("parts of different lengths are not translated")
    sizes = (known.size, int(known[0]))
    return node.let(op.reshape(rows, (-4, *sizes, *([-2] if node.rank(rows) > 1 else []))))


# --- TensorArray ---------------------------------------------------------------------------------


@table("TensorArrayV3", "TensorArrayV2")
def array(node: Node, count: Expr) -> Sequence[Value]:
    """TensorArrayV3: a handle without a value, and the content as its flow."""
    shape = node.info.attribute("element_shape")
    of_elements = shape if isinstance(shape, tuple) else None
    number = lists.count_of(node, count)
    made = lists.empty(node, node.named_type("dtype"), of_elements, number)
    return [Nothing(made), made]


def content(node: Node, flow: Value) -> TensorList:
    """The content of an array by its flow."""
    if not isinstance(flow, TensorList):
        raise node.refused("its flow comes from no array")
    return flow


@table("TensorArrayWriteV3")
def array_write(node: Node, handle: Value, index: Expr, item: Expr, flow: Value) -> Value:
    return lists.written(node, content(node, flow), index, item)


@table("TensorArrayReadV3")
def array_read(node: Node, handle: Value, index: Expr, flow: Value) -> Expr:
    return lists.element(node, content(node, flow), index)


@table("TensorArrayGatherV3")
def array_gather(node: Node, handle: Value, indices: Expr, flow: Value) -> Expr:
    shape = node.info.attribute("element_shape")
    of_elements = shape if isinstance(shape, tuple) else None
    items = content(node, flow)
    rows = lists.stacked(node, items, of_elements)
    if _is_all(node, indices, rows):
        return rows
    return lists.element(node, replace(items, rows=rows), indices)


def _is_all(node: Node, indices: Expr, rows: Expr) -> bool:
    """Whether the indices are those of all elements, in order."""
    known, extent = node.constant(indices), node.shape(rows)[0]
    if known is not None:
        return isinstance(extent, int) and bool(np.array_equal(known, np.arange(extent)))
    return False


@table("TensorArrayScatterV3")
def array_scatter(node: Node, handle: Value, indices: Expr, rows: Expr, flow: Value) -> Value:
    items = content(node, flow)
    if items.rows is None and _is_all(node, indices, rows):
        return replace(items, rows=rows)
    return lists.scattered(node, items, indices, rows)


@table("TensorArraySizeV3")
def array_size(node: Node, handle: Value, flow: Value) -> Expr:
    size = lists.length(node, content(node, flow))
    return node.known.same(node.as_dtype(size, "int32"), size)


@table("TensorArrayConcatV3")
def array_concat(node: Node, handle: Value, flow: Value) -> Sequence[Expr]:
    return _concatenated(node, lists.stacked(node, content(node, flow), None))


@table("TensorArraySplitV3")
def array_split(node: Node, handle: Value, rows: Expr, lengths: Expr, flow: Value) -> Value:
    items = content(node, flow)
    return replace(items, rows=_parts(node, rows, lengths))


@table("TensorArrayCloseV3")
def array_close(node: Node, handle: Value) -> Sequence[Value]:
    return []
