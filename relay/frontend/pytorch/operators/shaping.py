"""Other shapes of the same elements: views, transpositions, axes of extent 1, broadcasting."""

from __future__ import annotations

from collections.abc import Sequence

from relay import op
from relay.frontend.common.broadcast import without_names
from relay.frontend.common.builder import int64, static
from relay.frontend.common.reshaping import is_same, product, reshaped
from relay.frontend.pytorch.converters import Converters
from relay.frontend.pytorch.node import Node, Size
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Expr

table = Converters()

# --- views -------------------------------------------------------------------------------------


def with_shape(node: Node, data: Expr, sizes: Sequence[Size]) -> Expr:
    """view, reshape: one size may be -1."""
    if not sizes:
        return node.let(op.reshape(data, ()))
    known = [node.known(one) for one in sizes]
    elements = tuple(None if isinstance(one, dims.Any) else one for one in known)
    allowzero = any(one is None or one == 0 for one in elements)
    found = reshaped(
        node, data, elements, lambda: node.sizes(sizes), allowzero=allowzero, as_computed=True
    )
    return node.let(found)


@table("view", "view_copy", "reshape", "_unsafe_view", "_reshape_alias", "_reshape_copy", "resize")
def view(node: Node, self: Expr, size: Sequence[Size], stride: Sequence[Size] = ()) -> Expr:
    return with_shape(node, self, size)


@table("view_as", "reshape_as")
def view_as(node: Node, self: Expr, other: Expr) -> Expr:
    return with_shape(node, self, node.extents_of(other))


@table("flatten.using_ints")
def flatten(node: Node, self: Expr, start_dim: int = 0, end_dim: int = -1) -> Expr:
    if node.rank(self) == 0:
        return op.reshape(self, (1,))
    first, last = node.axis(self, start_dim), node.axis(self, end_dim)
    return merged(node, self, first, last)


def merged(node: Node, data: Expr, first: int, last: int) -> Expr:
    """Data with the axes from `first` to `last` as one."""
    if first >= last:
        return data
    if last - first == 1:
        return node.let(op.reshape(data, (*[0] * first, -3, -2)))
    extents, whole = node.extents_of(data), product(node.shape(data)[first : last + 1])
    middle: Size = -1 if isinstance(whole, dims.Any) else whole
    return with_shape(node, data, [*extents[:first], middle, *extents[last + 1 :]])


@table("ravel")
def ravel(node: Node, self: Expr) -> Expr:
    return flat(node, self)


def flat(node: Node, data: Expr) -> Expr:
    """The elements as a vector."""
    return data if node.rank(data) == 1 else with_shape(node, data, [-1])


@table("unflatten.int")
def unflatten(node: Node, self: Expr, dim: int, sizes: Sequence[Size]) -> Expr:
    axis, extents = node.axis(self, dim), node.extents_of(self)
    if -1 in sizes and isinstance(whole := node.shape(self)[axis], int):
        rest = product([node.known(one) for one in sizes if one != -1])
        if isinstance(rest, int) and rest:
            sizes = [whole // rest if one == -1 else one for one in sizes]
    return with_shape(node, self, [*extents[:axis], *sizes, *extents[axis + 1 :]])


@table("atleast_1d", "atleast_2d", "atleast_3d")
def atleast(node: Node, self: Expr | Sequence[Expr]) -> Expr | list[Expr]:
    if not isinstance(self, Expr):
        return [node.let(_with_axes(node, one)) for one in self]
    return _with_axes(node, self)


def _with_axes(node: Node, data: Expr) -> Expr:
    """Axes of extent 1 in front, and for three axes one behind."""
    count, rank = int(node.operator[-2]), node.rank(data)
    if rank >= count:
        return data
    if count == 3 and rank > 0:
        data = node.let(op.expand_dims(data, rank))
        rank += 1
    return op.expand_dims(data, 0, num_newaxis=count - rank) if count > rank else data


# --- orders of axes ----------------------------------------------------------------------------


def permuted(node: Node, data: Expr, axes: Sequence[int]) -> Expr:
    """Axes in another order."""
    return data if [*axes] == [*range(len(axes))] else node.let(op.transpose(data, tuple(axes)))


@table("permute", "permute_copy")
def permute(node: Node, self: Expr, dims: Sequence[int]) -> Expr:
    return permuted(node, self, node.axes_of(dims, node.rank(self), distinct=True))


@table("transpose.int", "transpose_copy.int", "swapaxes", "swapdims")
def transpose(node: Node, self: Expr, dim0: int, dim1: int) -> Expr:
    return swapped(node, self, node.axis(self, dim0), node.axis(self, dim1))


def swapped(node: Node, data: Expr, one: int, other: int) -> Expr:
    """transpose: two axes exchanged."""
    axes = [*range(node.rank(data))]
    if axes:
        axes[one], axes[other] = axes[other], axes[one]
    return permuted(node, data, axes)


@table("t", "t_copy", "numpy_T")
def reversed_axes(node: Node, self: Expr) -> Expr:
    return permuted(node, self, [*reversed(range(node.rank(self)))])


@table("mT", "mH", "adjoint", "matrix_H")
def matrix_transpose(node: Node, self: Expr) -> Expr:
    rank = node.rank(self)
    return swapped(node, self, rank - 2, rank - 1) if rank >= 2 else self


@table("movedim", "moveaxis")
def movedim(
    node: Node, self: Expr, source: int | Sequence[int], destination: int | Sequence[int]
) -> Expr:
    if isinstance(source, int):
        source = [source]
    if isinstance(destination, int):
        destination = [destination]
    rank = node.rank(self)
    if rank == 0:
        return self
    return moved(node, self, node.axes_of(source, rank), node.axes_of(destination, rank))


def moved(node: Node, data: Expr, sources: Sequence[int], places: Sequence[int]) -> Expr:
    """movedim: moves some axes; the others keep their order."""
    rest = [axis for axis in range(node.rank(data)) if axis not in sources]
    order: list[int] = []
    at = dict(zip(places, sources, strict=True))
    for place in range(node.rank(data)):
        order.append(at[place] if place in at else rest.pop(0))
    return permuted(node, data, order)


# --- axes of extent 1 --------------------------------------------------------------------------


@table("unsqueeze", "unsqueeze_copy")
def unsqueeze(node: Node, self: Expr, dim: int) -> Expr:
    rank = node.rank(self)
    return op.expand_dims(self, node.axis_of(dim, rank + 1, "`dim`"))


@table("squeeze", "squeeze_copy")
def squeeze(node: Node, self: Expr, dim: int | Sequence[int] | None = None) -> Expr:
    """Without axes of extent 1; which of the dynamic ones are 1, torch knows."""
    rank = node.rank(self)
    if rank == 0:
        return self
    axes = (
        [*range(rank)]
        if dim is None
        else node.axes_of([dim] if isinstance(dim, int) else dim, rank)
    )
    shape = node.shape(self)
    gone = [axis for axis in axes if shape[axis] == 1]
    open_axes = [axis for axis in axes if not isinstance(shape[axis], int)]
    left = rank - len(gone) if node.declared is None else len(node.declared.shape)
    if rank - len(gone) - len(open_axes) == left:
        gone += open_axes
    elif rank - len(gone) != left:
        text = "which axes have extent 1 must be known before the model runs"
        raise node.refused(text, found=str(node.type_of(self)), hint=node.give_sizes)
    elif node.declared is None and dim is not None and open_axes:
        gone += open_axes  # asked for by name: checked at run time
    return without_axes(node, self, gone)


def without_axes(node: Node, data: Expr, axes: Sequence[int]) -> Expr:
    """Without these axes; that a dynamic extent is 1 is checked at run time."""
    if not axes:
        return data
    shape = [
        dims.ANY if axis in axes and not isinstance(one, int) else one
        for axis, one in enumerate(node.shape(data))
    ]
    if tuple(shape) != node.shape(data):
        data = node.declare(data, shape, node.dtype(data))
    return node.let(op.squeeze(data, tuple(axes)))


# --- broadcasting ------------------------------------------------------------------------------


def expanded(node: Node, data: Expr, sizes: Sequence[Size]) -> Expr:
    """Data broadcast to a shape; a size of -1 keeps the extent."""
    own = (*[1] * (len(sizes) - node.rank(data)), *node.shape(data))
    skipped = len(own) - node.rank(data)
    wanted: list[Size] = [
        node.dimension(data, axis - skipped) if isinstance(one, int) and one == -1 else one
        for axis, one in enumerate(sizes)
    ]
    known = [node.known(one) for one in wanted]
    if skipped == 0 and all(map(is_same, known, own)):
        return data
    for extent, size in zip(own, known, strict=True):
        if isinstance(extent, int) and isinstance(size, int) and extent not in (1, size):
            raise node.refused("the shape does not broadcast", str(extent), str(size))
    found: list[Dim] = [
        extent if extent != 1 and not isinstance(extent, dims.Any) else size
        for extent, size in zip(own, known, strict=True)
    ]
    if not all(a == 1 or is_same(b, a) for a, b in zip(own, known, strict=True)):
        data = without_names(node, data)
    if (numbers := static(known)) is not None:
        return node.let(op.broadcast_to(data, numbers))
    return node.declare(op.broadcast_to(data, node.sizes(wanted)), found, node.dtype(data))


@table("expand", "expand_copy", "broadcast_to")
def expand(node: Node, self: Expr, size: Sequence[Size], implicit: bool = False) -> Expr:
    return expanded(node, self, size)


@table("expand_as")
def expand_as(node: Node, self: Expr, other: Expr) -> Expr:
    return expanded(node, self, node.extents_of(other))


def common_extents(node: Node, tensors: Sequence[Expr]) -> list[Size]:
    """The shape to which tensors broadcast."""
    rank = max(map(node.rank, tensors), default=0)
    found: list[Size] = []
    for back in range(rank, 0, -1):
        sizes = [node.dimension(one, -back) for one in tensors if node.rank(one) >= back]
        wide = [one for one in sizes if isinstance(one, Expr) or one != 1] or [1]
        best = next((one for one in wide if not isinstance(one, Expr)), wide[0])
        if isinstance(best, Expr) and len(wide) > 1:
            for one in wide[1:]:
                assert isinstance(one, Expr)
                best = node.let(op.where(op.equal(best, int64(1)), one, best))
        found.append(best)
    return found


@table("broadcast_tensors")
def broadcast_tensors(node: Node, tensors: Sequence[Expr]) -> list[Expr]:
    sizes = common_extents(node, tensors)
    return [expanded(node, one, sizes) for one in tensors]


@table("meshgrid")
def meshgrid(node: Node, tensors: Sequence[Expr], indexing: str = "ij") -> list[Expr]:
    rank = len(tensors)
    order = [*range(rank)]
    if indexing == "xy" and rank > 1:
        order[:2] = [1, 0]
    vectors = [flat(node, one) for one in tensors]
    extents = {order[at]: node.dimension(one, 0) for at, one in enumerate(vectors)}
    found = []
    for at, one in enumerate(vectors):
        shape: list[Size] = [1] * rank
        shape[order[at]] = extents[order[at]]
        placed = with_shape(node, one, shape)
        found.append(expanded(node, placed, [extents[axis] for axis in range(rank)]))
    return found


@table("sum_to_size")
def sum_to_size(node: Node, self: Expr, size: Sequence[Size]) -> Expr:
    """The sum over the axes along which a shape would be broadcast."""
    rank, shape = node.rank(self), node.shape(self)
    ahead = rank - len(size)
    axes = [
        axis for axis in range(rank) if axis < ahead or (size[axis - ahead] == 1 != shape[axis])
    ]
    if not axes:
        return self
    total = node.let(op.sum(self, axis=tuple(axes), keepdims=True))
    return without_axes(node, total, range(ahead))
