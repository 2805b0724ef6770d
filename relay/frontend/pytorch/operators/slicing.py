"""Parts of tensors along axes: select, slice, split, windows, diagonals."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from relay import op
from relay.errors import VALUE
from relay.frontend.common.builder import int64
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Size
from relay.frontend.pytorch.operators.shaping import expanded, flat, moved, with_shape
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Expr

table = Converters()

END = sys.maxsize


def plus(node: Node, one: Size, other: Size) -> Size:
    """The sum of two sizes."""
    if isinstance(one, Expr) or isinstance(other, Expr):
        return node.let(op.add(node.scalar(one, "int64"), node.scalar(other, "int64")))
    return one + other


def minus(node: Node, one: Size, other: Size) -> Size:
    """The difference of two sizes."""
    if isinstance(one, Expr) or isinstance(other, Expr):
        return node.let(op.subtract(node.scalar(one, "int64"), node.scalar(other, "int64")))
    return one - other


def cut(
    node: Node, data: Expr, axis: int, start: Size | None, end: Size | None, step: int = 1
) -> Expr:
    """Elements along an axis, with bounds as in Python."""
    first: Size = 0 if start is None else start
    last: Size = END if end is None else end
    if isinstance(first, int) and isinstance(last, int):
        if first == 0 and step == 1 and (last == END or last == node.shape(data)[axis]):
            return data
        return node.let(op.strided_slice(data, [first], [last], [step], axes=(axis,)))
    bounds = (node.sizes([first]), node.sizes([last]), int64([step]))
    return node.let(op.strided_slice(data, *bounds, axes=(axis,)))


@table("slice", "slice_copy")
def sliced(
    node: Node,
    self: Expr,
    dim: int = 0,
    start: Size | None = None,
    end: Size | None = None,
    step: int = 1,
) -> Expr:
    return cut(node, self, node.axis(self, dim), start, end, step)


@table("narrow", "narrow_copy")
def narrow(node: Node, self: Expr, dim: int, start: Size, length: Size) -> Expr:
    axis = node.axis(self, dim)
    if isinstance(start, Expr):
        start = node.let(op.cast(op.reshape(start, ()), "int64"))
    if isinstance(start, int) and start < 0:
        start = plus(node, node.dimension(self, axis), start)
    found = cut(node, self, axis, start, plus(node, start, length))
    shape = list(node.shape(found))
    shape[axis] = node.known(length)
    return node.declare(found, shape, node.dtype(self))


@table("select", "select_copy")
def select(node: Node, self: Expr, dim: int, index: Size) -> Expr:
    return selected(node, self, node.axis(self, dim), index)


def selected(node: Node, data: Expr, axis: int, index: Size) -> Expr:
    """The part of data at an index along an axis, which may count from the back."""
    return node.let(op.take(data, place_of(node, data, axis, index), axis=axis))


def place_of(node: Node, data: Expr, axis: int, index: Size) -> Expr:
    """An index along an axis, checked and counted from the front."""
    extent = node.shape(data)[axis]
    if isinstance(extent, int) and isinstance(index, int):
        return node.let(int64(node.axis_of(index, extent, "the index")))
    length, given = node.size(data, axis), node.scalar(index, "int64")
    fits = op.logical_and(given >= op.negative(length), given < length)
    message, expected = "the index is out of range", f"an index of {VALUE}"
    given = node.checked(given, fits, message, expected, VALUE, given, length)
    if isinstance(index, int):
        return given if index >= 0 else node.let(given + length)
    return node.let(op.where(given < int64(0), given + length, given))


# --- several parts -----------------------------------------------------------------------------


@table("unbind", "unbind_copy")
def unbind(node: Node, self: Expr, dim: int = 0) -> list[Expr]:
    axis = node.axis(self, dim)
    count = node.static_extent(self, axis, "how many tensors there are")
    return [selected(node, self, axis, place) for place in range(count)]


def parts_of(node: Node, data: Expr, axis: int, sizes: Sequence[Size]) -> list[Expr]:
    """Parts of given extents along an axis."""
    numbers = [one for one in sizes if isinstance(one, int)]
    if len(numbers) == len(sizes) and isinstance(node.shape(data)[axis], int):
        if len(sizes) == 1:
            return [data]
        places = [sum(numbers[:at]) for at in range(1, len(sizes))]
        return node.fields(op.split(data, places, axis=axis).astuple(), len(sizes))
    found: list[Expr] = []
    place: Size = 0
    for size in sizes:
        after = plus(node, place, size)
        part = cut(node, data, axis, place, after)
        shape = list(node.shape(part))
        shape[axis] = node.known(size)
        found.append(node.declare(part, shape, node.dtype(data)))
        place = after
    return found


@table("split", "split_copy", "unsafe_split")
def split(node: Node, self: Expr, split_size: Size | Sequence[Size], dim: int = 0) -> list[Expr]:
    axis = node.axis(self, dim)
    if isinstance(split_size, Sequence):
        return parts_of(node, self, axis, split_size)
    extent = node.dimension(self, axis)
    if isinstance(extent, int) and isinstance(split_size, int):
        if extent == 0:
            return [self]
        rest = range(0, extent, split_size)
        return parts_of(node, self, axis, [min(split_size, extent - at) for at in rest])
    return _equal_parts(node, self, axis, split_size, extent)


def _equal_parts(node: Node, data: Expr, axis: int, size: Size, extent: Size) -> list[Expr]:
    """The number of chunks that torch found when it exported the model."""
    count = node.results
    if count is None:
        text = "how many parts there are must be known before the model runs"
        raise node.refused(text, found=str(node.type_of(data)), hint=node.give_sizes)
    sizes: list[Size] = [size] * (count - 1)
    rest = extent
    for _ in range(count - 1):
        rest = minus(node, rest, size)
    return parts_of(node, data, axis, [*sizes, rest])


@table("split_with_sizes", "split_with_sizes_copy", "unsafe_split_with_sizes")
def split_with_sizes(
    node: Node, self: Expr, split_sizes: Sequence[Size], dim: int = 0
) -> list[Expr]:
    return parts_of(node, self, node.axis(self, dim), split_sizes)


@table("chunk", "unsafe_chunk")
def chunk(node: Node, self: Expr, chunks: int, dim: int = 0) -> list[Expr]:
    axis = node.axis(self, dim)
    extent = node.dimension(self, axis)
    if isinstance(extent, int):
        size = -(-extent // chunks)
        if size == 0:
            return [self] * chunks
        return split(node, self, size, axis)
    if isinstance(extent, Expr):
        size_of = node.let(op.floor_divide(extent + int64(chunks - 1), int64(chunks)))
        return _equal_parts(node, self, axis, size_of, extent)
    return _equal_parts(node, self, axis, (extent + (chunks - 1)) // chunks, extent)


@table("tensor_split.sections")
def tensor_split(node: Node, self: Expr, sections: int, dim: int = 0) -> list[Expr]:
    axis = node.axis(self, dim)
    extent = node.dimension(self, axis)
    if isinstance(extent, Expr):
        extent = node.static_extent(self, axis, "the extent that is split")
    sizes: list[Size] = [(extent + (sections - 1 - place)) // sections for place in range(sections)]
    return parts_of(node, self, axis, sizes)


@table("tensor_split.indices")
def tensor_split_at(node: Node, self: Expr, indices: Sequence[Size], dim: int = 0) -> list[Expr]:
    axis = node.axis(self, dim)
    starts: list[Size | None] = [None, *indices]
    ends: list[Size | None] = [*indices, None]
    return [cut(node, self, axis, a, b) for a, b in zip(starts, ends, strict=True)]


@table("tensor_split.tensor_indices_or_sections")
def tensor_split_by(
    node: Node, self: Expr, tensor_indices_or_sections: Expr, dim: int = 0
) -> list[Expr]:
    found = node.constant(tensor_indices_or_sections)
    if found is None:
        raise node.refused("the places of a split must be constants", "a constant")
    if found.ndim == 0:
        return tensor_split(node, self, int(found), dim)
    return tensor_split_at(node, self, [int(one) for one in found], dim)


@table("hsplit", "vsplit", "dsplit")
def split_along(node: Node, self: Expr, given: int | Sequence[int]) -> list[Expr]:
    rank = node.rank(self)
    axis = {"aten.hsplit": min(rank - 1, 1), "aten.vsplit": 0, "aten.dsplit": 2}[node.operator]
    if isinstance(given, int):
        return tensor_split(node, self, given, axis)
    return tensor_split_at(node, self, given, axis)


# --- windows and diagonals ---------------------------------------------------------------------


@table("unfold", "unfold_copy")
def unfold(node: Node, self: Expr, dimension: int, size: int, step: int) -> Expr:
    """All windows along an axis, whose elements become the last axis."""
    rank = node.rank(self)
    if rank == 0:
        return node.let(op.reshape(self, (1,))) if size else node.zeros((0,), node.dtype(self))
    axis = node.axis(self, dimension)
    starts = _window_starts(node, self, axis, size, step)
    inside = op.arange(int64(size), dtype="int64")
    places = op.expand_dims(starts, 1) + op.expand_dims(inside, 0)
    windows = node.let(op.take(self, places, axis=axis))
    return moved(node, windows, [axis + 1], [rank])


def _window_starts(node: Node, data: Expr, axis: int, size: int, step: int) -> Expr:
    extent = node.dimension(data, axis)
    if isinstance(extent, Expr):
        end: Expr = extent - int64(size - 1)
    else:
        end = node.scalar(extent - (size - 1), "int64")
    found = op.arange(int64(0), end, int64(step), dtype="int64")
    if isinstance(extent, Expr):
        return node.let(found)
    return node.declare(found, ((extent - size) // step + 1,), "int64")


@table("diagonal", "diagonal_copy")
def diagonal(node: Node, self: Expr, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Expr:
    return diagonal_of(node, self, offset, node.axis(self, dim1), node.axis(self, dim2))


@table("linalg_diagonal")
def matrix_diagonal(node: Node, A: Expr, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Expr:
    return diagonal_of(node, A, offset, node.axis(A, dim1), node.axis(A, dim2))


def diagonal_of(node: Node, data: Expr, offset: int, one: int, other: int) -> Expr:
    """A diagonal of two axes as the last axis: every (columns + 1)-th element of a matrix."""
    rank = node.rank(data)
    data = moved(node, data, [one, other], [rank - 2, rank - 1])
    rows, columns = (node.dimension(data, axis) for axis in (rank - 2, rank - 1))
    top, left = max(-offset, 0), max(offset, 0)
    lead = node.extents_of(data)[:-2]
    if isinstance(rows, int) and isinstance(columns, int):
        length = max(min(rows - top, columns - left), 0)
        if length == 0:
            return node.let(op.strided_slice(_merged_ends(node, data), [0], [0], axes=(rank - 2,)))
        start = top * columns + left
        end = start + (length - 1) * (columns + 1) + 1
        whole = _merged_ends(node, data)
        bounds = ([start], [end], [columns + 1])
        return node.let(op.strided_slice(whole, *bounds, axes=(rank - 2,)))
    height, width = (node.scalar(one, "int64") for one in (rows, columns))
    room = op.minimum(height - int64(top), width - int64(left))
    length_of = node.let(op.maximum(room, int64(0)))
    start_of = node.let(width * int64(top) + int64(left))
    step = node.let(width + int64(1))
    begins, ends, steps = (
        op.reshape(one, (1,)) for one in (start_of, start_of + length_of * step, step)
    )
    found = op.strided_slice(_merged_ends(node, data), begins, ends, steps, axes=(rank - 2,))
    known: Dim = dims.ANY
    if not isinstance(rows, Expr) and not isinstance(columns, Expr):
        known = dims.maximum(dims.minimum(rows - top, columns - left), 0)
    return node.declare(found, (*map(node.known, lead), known), node.dtype(data))


def _merged_ends(node: Node, data: Expr) -> Expr:
    """The last two axes as one."""
    codes = (*[0] * (node.rank(data) - 2), -3)
    return node.let(op.reshape(data, codes))


@table("diag")
def diag(node: Node, self: Expr, diagonal: int = 0) -> Expr:
    if node.rank(self) == 1:
        return embedded(node, self, diagonal, 0, 1)
    return diagonal_of(node, self, diagonal, 0, 1)


@table("diag_embed")
def diag_embed(node: Node, self: Expr, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Expr:
    rank = node.rank(self) + 1
    return embedded(node, self, offset, node.axis_of(dim1, rank), node.axis_of(dim2, rank))


@table("diagflat")
def diagflat(node: Node, self: Expr, offset: int = 0) -> Expr:
    return embedded(node, flat(node, self), offset, 0, 1)


def embedded(node: Node, data: Expr, offset: int, one: int, other: int) -> Expr:
    """Matrices with the last axis as a diagonal and zeros elsewhere."""
    rank, away = node.rank(data), abs(offset)
    if away:  # the row, or with a negative offset the column, tells the element
        sizes = [*node.extents_of(data)[:-1], away]
        zeros = expanded(node, node.zeros((), node.dtype(data)), sizes)
        data = node.let(op.concatenate([data, zeros], axis=rank - 1))
    steps = node.let(node.positions(data, rank - 1))
    rows, columns = op.expand_dims(steps, 1), op.expand_dims(steps, 0)
    on = node.let(op.equal(rows + int64(offset), columns))
    spread = op.expand_dims(data, rank if offset >= 0 else rank - 1)
    found = node.let(op.where(on, spread, node.number(0, data)))
    return moved(node, found, [rank - 1, rank], [one, other])


# --- parts replaced ----------------------------------------------------------------------------


@table("slice_scatter")
def slice_scatter(
    node: Node,
    self: Expr,
    src: Expr,
    dim: int = 0,
    start: Size | None = None,
    end: Size | None = None,
    step: int = 1,
) -> Expr:
    axis = node.axis(self, dim)
    first: Size = 0 if start is None else start
    last: Size = 2**31 - 1 if end is None else end
    if isinstance(last, int):
        last = min(last, 2**31 - 1)
    return replaced(node, self, src, axis, first, last, step)


def replaced(
    node: Node, data: Expr, part: Expr, axis: int, start: Size, end: Size, step: int = 1
) -> Expr:
    """Data with a slice along an axis replaced."""
    ahead: list[Size] = [0] * axis
    wanted = cut(node, data, axis, start, end, step)
    part = expanded(node, part, node.extents_of(wanted))
    begins = node.sizes([*ahead, start])
    ends = node.sizes([*([2**31 - 1] * axis), end])
    steps = int64([*[1] * axis, step])
    return node.let(op.strided_set(data, part, begins, ends, steps))


@table("select_scatter")
def select_scatter(node: Node, self: Expr, src: Expr, dim: int, index: Size) -> Expr:
    axis = node.axis(self, dim)
    place = place_of(node, self, axis, index)
    part = node.let(op.expand_dims(src, axis))
    return replaced(node, self, part, axis, place, plus(node, place, 1))


@table("diagonal_scatter")
def diagonal_scatter(
    node: Node, self: Expr, src: Expr, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Expr:
    axes = (node.axis(self, dim1), node.axis(self, dim2))
    places = diagonal_of(node, numbered(node, self), offset, *axes)
    return written(node, self, places, src)


def numbered(node: Node, data: Expr) -> Expr:
    """The positions in memory of all elements, in the shape of data."""
    count = node.size(flat(node, data), 0)
    return with_shape(node, node.let(op.arange(count, dtype="int64")), node.extents_of(data))


def written(node: Node, data: Expr, places: Expr, values: Expr) -> Expr:
    """Data with values at positions in memory."""
    values = expanded(node, values, node.extents_of(places))
    parts = (flat(node, data), flat(node, places), flat(node, values))
    return with_shape(node, node.let(op.scatter_elements(*parts)), node.extents_of(data))


# --- strides -----------------------------------------------------------------------------------


def strided_places(
    node: Node, size: Sequence[Size], stride: Sequence[Size], offset: Size | None
) -> Expr:
    """The positions in memory of the elements of a tensor with strides."""
    found = node.scalar(offset or 0, "int64")
    rank = len(size)
    for axis, (extent, step) in enumerate(zip(size, stride, strict=True)):
        along = node.declare(
            op.arange(node.scalar(extent, "int64"), dtype="int64"), (node.known(extent),), "int64"
        )
        scaled = node.let(along * node.scalar(step, "int64"))
        behind = rank - axis - 1
        found = node.let(found + (op.expand_dims(scaled, 1, behind) if behind else scaled))
    return found


def _must_lie_by_rows(node: Node) -> None:
    if not node.by_rows:
        raise node.refused(
            "its operand does not lie in memory row by row",
            hint="call `.contiguous()` before it",
        )


@table("as_strided", "as_strided_copy")
def as_strided(
    node: Node,
    self: Expr,
    size: Sequence[Size],
    stride: Sequence[Size],
    storage_offset: Size | None = None,
) -> Expr:
    """Elements by their positions in memory, of a tensor that is contiguous."""
    _must_lie_by_rows(node)
    places = strided_places(node, size, stride, storage_offset)
    return op.take(flat(node, self), places, axis=0)


@table("as_strided_scatter")
def as_strided_scatter(
    node: Node,
    self: Expr,
    src: Expr,
    size: Sequence[Size],
    stride: Sequence[Size],
    storage_offset: Size | None = None,
) -> Expr:
    _must_lie_by_rows(node)
    return written(node, self, strided_places(node, size, stride, storage_offset), src)
