"""Lists of tensors as one tensor with a further first axis.

An element that is not written yet is zeros. As long as nothing says which shape elements have, a
list is only their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay import op
from relay.frontend.common.broadcast import of_shape
from relay.frontend.common.builder import int64, static
from relay.frontend.common.indices import in_range
from relay.frontend.common.known_elements import SizedBuilder
from relay.frontend.tensorflow.values import TensorList
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Expr, If, Tuple
from relay.ir.types import TensorType


def empty(node: SizedBuilder, dtype: str, shape: Sequence[int] | None, count: Expr) -> TensorList:
    """A list of so many elements that are not written yet."""
    declared = None if shape is None else tuple(shape)
    made = TensorList(dtype, None, count, declared)
    if declared is not None and min(declared, default=0) >= 0:
        return with_elements(node, made, declared)
    return made


def with_elements(node: SizedBuilder, items: TensorList, shape: Sequence[Dim]) -> TensorList:
    """A list whose elements have a shape."""
    known = node.known.of(items.count)
    count = None if known is None else known[0]
    if count is not None and (numbers := static((count, *shape))) is not None:
        return replace(items, rows=node.let(op.zeros(numbers, items.dtype)))
    extents = [items.count, *((node.extent(one) or int64(0)) for one in shape)]
    found = op.dyn.zeros(op.stack(Tuple(tuple(extents)), 0), items.dtype)
    sizes = [None if node.extent(one) is None else one for one in shape]
    return replace(items, rows=node.declare(found, (count, *sizes), items.dtype))


def like(node: SizedBuilder, items: TensorList, rows: TensorType) -> TensorList:
    """A list whose elements have the shape of those of another one."""
    return with_elements(node, items, rows.shape[1:])


def length(node: SizedBuilder, items: TensorList) -> Expr:
    """How many elements there are, as an int64 scalar."""
    return items.count if items.rows is None else node.size(items.rows, 0)


def stacked(node: SizedBuilder, items: TensorList, shape: Sequence[int] | None) -> Expr:
    """The elements as one tensor; `shape` is that of an element, where they are not known."""
    if items.rows is None:
        wanted = items.shape if shape is None or min(shape, default=0) < 0 else tuple(shape)
        if wanted is None:
            raise node.refused("nothing says which shape the elements of the list have")
        known = tuple(0 if one < 0 else one for one in wanted)
        items = with_elements(node, items, known)
    assert items.rows is not None
    if shape is None or len(shape) != node.rank(items.rows) - 1:
        return items.rows
    own = node.shape(items.rows)
    wanted_extents = [one if one >= 0 else size for one, size in zip(shape, own[1:], strict=True)]
    return of_shape(node, items.rows, (own[0], *wanted_extents))


def element(
    node: SizedBuilder, items: TensorList, index: Expr, shape: Sequence[int] | None = None
) -> Expr:
    """An element, by its number."""
    rows = stacked(node, items, shape)
    return op.take(rows, in_range(node, index, rows), axis=0, mode="clip")


def written(node: SizedBuilder, items: TensorList, index: Expr, item: Expr) -> TensorList:
    """A list with the element at an index replaced."""
    items, item = _fitting(node, items, item, node.shape(item))
    assert items.rows is not None
    at = node.let(op.reshape(in_range(node, index, items.rows), (1, 1)))
    one = node.let(op.expand_dims(item, 0))
    rows = node.let(op.scatter_nd(items.rows, at, one, mode="update"))
    return replace(items, rows=rows)


def scattered(node: SizedBuilder, items: TensorList, indices: Expr, rows: Expr) -> TensorList:
    """A list with elements at some indices replaced; it grows up to the largest index."""
    items, rows = _fitting(node, items, rows, node.shape(rows)[1:])
    assert items.rows is not None
    at = node.let(op.expand_dims(in_range(node, indices, items.rows), 0))
    found = node.let(op.scatter_nd(items.rows, at, rows, mode="update"))
    return replace(items, rows=found)


def appended(node: SizedBuilder, items: TensorList, item: Expr) -> TensorList:
    """A list with one more element."""
    items, item = _fitting(node, items, item, node.shape(item))
    assert items.rows is not None
    rows = node.let(op.concatenate([items.rows, op.expand_dims(item, 0)], axis=0))
    return replace(items, rows=rows)


def resized(node: SizedBuilder, items: TensorList, count: Expr) -> TensorList:
    """A list truncated or zero-padded to a length."""
    if items.rows is None:
        return replace(items, count=count)
    own = node.size(items.rows, 0)
    more = node.let(op.maximum(count - own, int64(0)))
    tail = with_elements(node, replace(items, count=more), node.shape(items.rows)[1:])
    assert tail.rows is not None
    whole = node.let(op.concatenate([items.rows, tail.rows], axis=0))
    end = node.let(op.reshape(count, (1,)))
    known = node.known.of(count)
    rows = node.declare(
        op.strided_slice(whole, int64([0]), end, axes=(0,)),
        (None if known is None else known[0], *node.shape(items.rows)[1:]),
        items.dtype,
    )
    return replace(items, rows=rows)


def _fitting(
    node: SizedBuilder, items: TensorList, item: Expr, shape: Sequence[Dim]
) -> tuple[TensorList, Expr]:
    """A list and a tensor of elements of one shape."""
    if items.rows is None:
        items = with_elements(node, items, shape)
    assert items.rows is not None
    own = node.shape(items.rows)[1:]
    if len(own) != len(shape):
        text = "elements of a list have different numbers of axes"
        raise node.refused(text, str(len(own)), str(len(shape)))
    ahead = node.rank(item) - len(shape)
    if any(isinstance(one, dims.Any) for one in own):
        items = replace(items, rows=_opened(node, items, item, ahead))
    extents = [a if not isinstance(a, dims.Any) else b for a, b in zip(own, shape, strict=True)]
    assert items.rows is not None
    rows = of_shape(node, items.rows, (node.shape(items.rows)[0], *extents))
    fit = of_shape(node, item, (*node.shape(item)[:ahead], *node.shape(rows)[1:]))
    return replace(items, rows=rows), fit


def _opened(node: SizedBuilder, items: TensorList, item: Expr, ahead: int) -> Expr:
    """The elements of a list, which get the shape of an item if they have none yet."""
    assert items.rows is not None
    rank = node.rank(items.rows)
    sizes = node.let(op.shape_of(items.rows, "int64"))
    count = node.let(op.strided_slice(sizes, [0], [1]))
    rest = node.let(op.strided_slice(sizes, [1], [rank]))
    no_elements = node.let(op.equal(op.prod(rest), int64(0)))
    wanted = op.strided_slice(node.let(op.shape_of(item, "int64")), [ahead], [node.rank(item)])
    fresh = op.dyn.zeros(op.concatenate([count, wanted], axis=0), items.dtype)
    ty = node.tensor_type(items.rows)
    there = node.inside()
    made = there.let(fresh, declared=ty)
    return node.let(If(no_elements, there.scope.closed(made), items.rows), declared=ty)


def count_of(node: SizedBuilder, value: Expr) -> Expr:
    """A number of elements as an int64 scalar."""
    scalar = value if node.rank(value) == 0 else node.let(op.reshape(value, ()))
    return node.known.same(node.as_dtype(scalar, "int64"), value)


def shape_of_elements(node: SizedBuilder, value: Expr) -> tuple[int, ...] | None:
    """The shape of elements that an input gives: a vector with -1 for dynamic extents, or -1."""
    known = node.known.of(value)
    if known is None or node.rank(value) == 0:
        return None
    return tuple(one if isinstance(one, int) else -1 for one in known)
