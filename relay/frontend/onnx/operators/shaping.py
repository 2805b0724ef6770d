"""The same elements under another shape, or their axes in another order; and shapes themselves.

A shape that the graph computes is a tensor. Where its elements are known, as numbers or as named
dimensions, the result keeps them: by the operator that has numbers as attributes where that can say
it, and otherwise by a declared type, which a run checks.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from relay import op
from relay.errors import VALUE
from relay.frontend.onnx.branches import Fork
from relay.frontend.onnx.computations.broadcast import without_names
from relay.frontend.onnx.computations.checking import axes_within, within
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.elements import Elements
from relay.frontend.onnx.node import Node
from relay.frontend.onnx.operators.reductions import places_of
from relay.frontend.onnx.ranks import expected_rank
from relay.frontend.onnx.scope import Scope
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Expr, const
from relay.ir.types import TensorType

table = Converters()

# --- questions about shapes --------------------------------------------------------------------


@table("Shape")
def shape(node: Node, data: Expr) -> Expr:
    extents = node.shape(data)
    start, end, _ = slice(node.attribute("start", 0), node.attribute("end")).indices(len(extents))
    wanted = extents[start:end]
    if all(isinstance(one, int) for one in wanted):
        return node.importer.constant(np.array(wanted, "int64"))
    found = op.shape_of(data, dtype="int64")
    if len(wanted) < len(extents):
        found = op.strided_slice(found, [start], [end])
    return found


@table("Size")
def size(node: Node, data: Expr) -> Expr:
    count = _product(node.shape(data))
    if isinstance(count, int):
        return node.importer.constant(np.array(count, "int64"))
    return op.ndarray_size(data, dtype="int64")


def _product(extents: Sequence[Dim]) -> Dim:
    total: Dim = 1
    for extent in extents:
        total = dims.multiply(total, extent)
    return total


# --- other shapes ------------------------------------------------------------------------------


@table("Reshape")
def reshape_by_attribute(node: Node, data: Expr) -> Expr:
    return op.reshape(data, tuple(node.required("shape")))


@table("Reshape", since=5)
def reshape(node: Node, data: Expr, wanted: Expr) -> Expr:
    allowzero = bool(node.attribute("allowzero", 0))
    elements = node.elements(wanted)
    if elements is None or not all(_is_extent(one) for one in elements):
        message = "the shape has a number that is neither an extent nor -1"
        wanted = within(node, wanted, -1, None, message, "-1 or more")
    if elements is None:
        return op.reshape(data, whole_shape(node, wanted), allowzero=allowzero)
    old = node.shape(data)
    copied = set() if allowzero else _copied_where_empty(elements, old)
    elements = tuple(
        None if _may_be_a_code(one, old) or place in copied else one
        for place, one in enumerate(elements)
    )
    new = _reshaped(elements, old, allowzero)
    codes = _codes(elements, old, allowzero)
    if codes is not None and _is_number_for_name(codes, old, new):
        codes = None
    if _product(old) != _product(new):
        # what a run counts may be equal all the same, which names would not allow
        data = without_names(node, data)
    elif codes is not None:
        return op.reshape(data, codes, allowzero=allowzero)
    found = op.reshape(data, wanted if codes is None else codes, allowzero=allowzero)
    return node.let(found, declared=TensorType(new, node.dtype(data)))


def whole_shape(node: Node, wanted: Expr) -> Expr:
    """The shape of the result, with as many elements as it is known to have axes."""
    if node.has_open_length(wanted) and (rank := expected_rank(node)) is not None:
        return node.of_length(wanted, rank, "the shape")
    node.length(wanted, "the shape")
    return wanted


def _is_extent(one: Dim | None) -> bool:
    """Whether an element of a shape is known to be an extent, or -1."""
    return one == -1 or (one is not None and dims.sign_of(one) in (0, 1))


def _codes(elements: Elements, old: Sequence[Dim], allowzero: bool) -> tuple[int, ...] | None:
    """The elements of a shape as numbers: a dimension that stays where it is is 0, and one that
    is all that is left is -1. None where that does not say it."""
    codes: list[int] = []
    rest: list[int] = []  # places of what is neither a number nor stays
    for place, one in enumerate(elements):
        if isinstance(one, int):
            codes.append(one)
        elif place < len(old) and _is_same(one, old[place]) and not allowzero:
            codes.append(0)
        else:
            rest.append(place)
            codes.append(-1)
    if rest and (codes.count(-1) > 1 or 0 in elements):
        return None
    # what is not known may be one of those codes itself
    return None if any(elements[place] is None for place in rest) else tuple(codes)


def _may_be_a_code(one: Dim | None, old: Sequence[Dim]) -> bool:
    """Whether a run may find -1 there, though an extent is computed: n - 4 of small models. What
    is an extent of the data is never negative."""
    if one is None or isinstance(one, int | dims.Any) or dims.sign_of(one) == 1:
        return False
    if any(_is_same(one, extent) for extent in old):
        return False
    names = set(dims.atoms(one))
    corners = [names, set(), *({name} for name in names)]  # the names that are 0; others are 1
    return any(_is_negative_at(one, zero) for zero in corners)


def _is_negative_at(one: Dim, zero: Collection[dims.Symbol]) -> bool:
    size = dims.substitute(one, lambda name: 0 if name in zero else 1)
    return isinstance(size, int) and size < 0


def _copied_where_empty(elements: Elements, old: Sequence[Dim]) -> set[int]:
    """Places of names that, where they are 0, copy another extent of a tensor without elements:
    (m, m) for a tensor (k, m) is then (k, 0). If nothing else were 0, a run would refuse them."""
    found: set[int] = set()
    named = [one for one in elements if one is not None and not isinstance(one, int | dims.Any)]
    for symbol in {symbol for one in named for symbol in dims.atoms(one)}:
        empty = [place for place, one in enumerate(elements) if _is_zero_at(one, symbol)]
        copies = [place for place in empty if place < len(old)]
        if any(_is_zero_at(old[place], symbol) for place in copies):
            found |= {place for place in copies if not _is_zero_at(old[place], symbol)}
    return found


def _is_zero_at(one: Dim | None, symbol: dims.Symbol) -> bool:
    """Whether a dimension is 0 where a name in it is."""
    if one is None or isinstance(one, int | dims.Any):
        return False
    return dims.substitute(one, lambda other: 0 if other == symbol else other) == 0


def _is_number_for_name(codes: Sequence[int], old: Sequence[Dim], new: Sequence[Dim]) -> bool:
    """Whether -1 stands for a name, and numbers alone say what it is: (n,) for (2, 3)."""
    if -1 not in codes or isinstance(new[codes.index(-1)], int | dims.Any):
        return False
    left = [one for place, one in enumerate(old) if place >= len(codes) or codes[place] != 0]
    return isinstance(_product(left), int)


def _is_same(one: Dim | None, other: Dim) -> bool:
    return one is not None and dims.equal(one, other) is True


def _reshaped(elements: Elements, old: Sequence[Dim], allowzero: bool) -> tuple[Dim, ...]:
    """What is known of the shape that a tensor gets."""
    found: list[Dim] = []
    for place, one in enumerate(elements):
        if one == 0 and not allowzero:
            found.append(old[place] if place < len(old) else dims.ANY)
        else:
            found.append(dims.ANY if one is None else one)
    if -1 in found:
        place = found.index(-1)
        rest = _product([*found[:place], *found[place + 1 :]])
        whole = dims.exact_quotient(_product(old), rest)
        found[place] = dims.ANY if whole is None else whole
    return tuple(found)


@table("Flatten")
def flatten(node: Node, data: Expr) -> Expr:
    old = node.shape(data)
    axis = node.attribute("axis", 1)
    axis = axis + len(old) if axis < 0 else axis
    if not 0 <= axis <= len(old):
        raise node.refused("`axis` is out of range", f"an axis of {len(old)}", str(axis))
    before, after = _product(old[:axis]), _product(old[axis:])
    if isinstance(after, int) and not (after == 0 and not isinstance(before, int)):
        return op.reshape(data, (before if isinstance(before, int) else -1, after), allowzero=True)
    if isinstance(before, int) and before != 0:
        return op.reshape(data, (before, -1))
    if axis == 1:
        return op.nn.batch_flatten(data)
    extents = op.shape_of(data, dtype="int64")
    first = op.prod(op.strided_slice(extents, [0], [axis]), axis=0, keepdims=True)
    second = op.prod(op.strided_slice(extents, [axis], [len(old)]), axis=0, keepdims=True)
    wanted = op.concatenate([first, second], axis=0)
    declared = TensorType((before, after), node.dtype(data))
    return node.let(op.reshape(data, wanted, allowzero=True), declared=declared)


@table("Squeeze")
def squeeze_by_attribute(node: Node, data: Expr) -> Expr | Fork:
    axes = node.attribute("axes")
    return _squeezed_all(node, data) if axes is None else _squeezed(node, data, axes)


@table("Squeeze", since=13)
def squeeze(node: Node, data: Expr, axes: Expr | None = None) -> Expr | Fork:
    if axes is None or node.shape(axes) == (0,):  # as ONNX Runtime
        return _squeezed_all(node, data)
    found = node.constant(axes)
    if found is None:
        if node.has_open_length(axes) and (left := expected_rank(node)) is not None:
            axes = node.of_length(axes, node.rank(data) - left, "the axes")
        return op.squeeze(data, axes)
    return _squeezed(node, data, [int(one) for one in found.reshape(-1)])


def _squeezed(node: Node, data: Expr, axes: Sequence[int]) -> Expr:
    """Without these axes. One that has a name may be of extent 1 all the same: a run tells."""
    ty = node.tensor_type(data)
    extents = list(ty.shape)
    for axis in axes:
        if -len(extents) <= axis < len(extents) and not isinstance(extents[axis], int):
            extents[axis] = dims.Any()
    if extents != list(ty.shape):
        data = node.let(data, declared=TensorType(tuple(extents), ty.dtype))
    return op.squeeze(data, tuple(axes))


MOST_FORKS = 2  # sizes of which both is tried: each makes twice as much of the rest of the graph


def _squeezed_all(node: Node, data: Expr) -> Expr | Fork:
    """Without all axes of extent 1.

    How many axes are left depends on sizes that only a run knows: the rest of the graph goes two
    ways for each of them, and the declared ranks of outputs tell which ones are possible.
    """
    extents = node.shape(data)
    sizes = [(data, axis) if isinstance(one, dims.Any) else one for axis, one in enumerate(extents)]
    ones = [
        one == 1 if isinstance(one, int) else node.scope.is_one(size)
        for one, size in zip(extents, sizes, strict=True)
    ]
    gone = [axis for axis, is_one in enumerate(ones) if is_one]
    if None not in ones:
        return _squeezed(node, data, gone)
    open_ = [axis for axis, is_one in enumerate(ones) if is_one is None]
    reason = node.refused(
        "which axes have extent 1 must be known before the model runs",
        expected="outputs that are declared with a number of axes",
        found=str(node.type_of(data)),
        hint="give sizes with from_onnx(model, shape={input: (…)})",
    )
    if len(open_) > MOST_FORKS:
        left = expected_rank(node)
        if left is None or not 0 <= len(extents) - len(gone) - left <= len(open_):
            raise reason
        return _squeezed_to(node, data, left)
    axis = open_[0]
    ways = [Scope(node.scope.module, node.scope, elements=node.scope.elements) for _ in range(2)]
    for way, is_one in zip(ways, (True, False), strict=True):
        way.declared = node.scope.declared
        way.ones[sizes[axis]] = is_one
    test = node.let(op.equal(node.size(data, axis), const(1, "int64")))
    return Fork(test, ((ways[0], []), (ways[1], [])), reason, again=True)


def _squeezed_to(node: Node, data: Expr, count: int) -> Expr:
    """Without the axes of extent 1, of which so many are left, or the run ends."""
    extents = node.let(op.shape_of(data, dtype="int64"))
    stays = node.let(op.not_equal(extents, const(1, "int64")))
    found = node.let(op.sum(op.cast(stays, "int64"), axis=0))
    extents = node.checked(
        extents,
        op.equal(found, const(count, "int64")),
        "the result has another number of axes than is declared",
        f"{count} axes",
        f"{VALUE} axes of another extent than 1",
        found,
    )
    return op.reshape(data, op.take(extents, places_of(node, stays, count), axis=0), allowzero=True)


@table("Unsqueeze")
def unsqueeze_by_attribute(node: Node, data: Expr) -> Expr:
    return _unsqueezed(node, data, node.required("axes"))


@table("Unsqueeze", since=13)
def unsqueeze(node: Node, data: Expr, axes: Expr) -> Expr:
    found = node.constant(axes)
    if found is not None:
        return _unsqueezed(node, data, [int(one) for one in found.reshape(-1)])
    axes = node.let(op.reshape(op.cast(axes, "int64"), (-1,))) if node.rank(axes) == 0 else axes
    if node.has_open_length(axes) and (known := expected_rank(node)) is not None:
        axes = node.of_length(axes, known - node.rank(data), "the axes")
    rank = node.rank(data) + node.length(axes, "the axes")
    axes = axes_within(node, axes, rank, different=True)
    places = op.where(op.less(axes, const(0, "int64")), op.add(axes, const(rank, "int64")), axes)
    hits = op.equal(
        op.expand_dims(op.arange(const(rank, "int64"), dtype="int64"), 1), op.expand_dims(places, 0)
    )
    new = node.let(op.any(hits, axis=1))
    # how many old axes there are up to each place
    old = op.cumsum(op.cast(op.logical_not(new), "int64"), axis=0)
    extents = op.concatenate([const([1], "int64"), op.shape_of(data, dtype="int64")], axis=0)
    sizes = op.where(new, const(1, "int64"), op.take(extents, old, axis=0))
    return op.reshape(data, sizes, allowzero=True)


def _unsqueezed(node: Node, data: Expr, axes: Sequence[int]) -> Expr:
    rank = node.rank(data) + len(axes)
    if not all(-rank <= axis < rank for axis in axes):
        raise node.refused("an axis is out of range", f"axes of {rank}", str(list(axes)))
    places = sorted(axis % rank for axis in axes)
    if len(set(places)) < len(places):
        raise node.refused("an axis is named twice", found=str(list(axes)))
    for place in places:
        data = op.expand_dims(data, place)
    return data


@table("Transpose")
def transpose(node: Node, data: Expr) -> Expr:
    axes = node.attribute("perm")
    if axes is None and node.rank(data) < 2:
        return data
    return op.transpose(data, None if axes is None else tuple(axes))


# --- repetition --------------------------------------------------------------------------------


@table("Expand")
def expand(node: Node, data: Expr, wanted: Expr) -> Expr:
    """Data and a shape broadcast against each other: either may be stretched."""
    own = node.shape(data)
    if node.rank(wanted) == 0:
        wanted = node.let(op.reshape(wanted, (1,)))
    if node.has_open_length(wanted) and (known := expected_rank(node)) is not None:
        wanted = _with_ones(node, wanted, known)
    count = node.length(wanted, "the shape")
    elements = node.elements(wanted) or (None,) * count
    rank = max(len(own), count)
    left = (*[1] * (rank - len(own)), *own)
    right = (*[1] * (rank - count), *elements)
    found = tuple(_stretched(node, a, b) for a, b in zip(left, right, strict=True))
    numbers = [one for one in found if isinstance(one, int)]
    stays = len(own) == rank and all(map(_is_same, found, own))
    if stays or len(numbers) == rank:  # no operator will look at the shape
        data = _broadcasting(node, data, left, wanted, right)
    if stays:
        return data
    if not all(b == 1 or a == 1 or _is_same(b, a) for a, b in zip(left, right, strict=True)):
        data = without_names(node, data)
    if len(numbers) == rank:
        return op.broadcast_to(data, numbers)
    asked = _in_front(node, op.cast(wanted, "int64"), rank - count)
    extents = _in_front(node, op.shape_of(data, dtype="int64"), rank - len(own))
    both = op.where(op.equal(asked, const(1, "int64")), extents, asked)
    return node.let(op.broadcast_to(data, both), declared=TensorType(found, node.dtype(data)))


def _with_ones(node: Node, extents: Expr, rank: int) -> Expr:
    """A shape of up to so many elements, with ones in front."""
    own = node.let(op.cast(extents, "int64"))
    count, most = node.size(own, 0), const(rank, "int64")
    count = node.checked(
        count,
        op.less_equal(count, most),
        "the shape has more elements than the result has axes",
        f"at most {rank}",
        VALUE,
        count,
    )
    missing = op.reshape(op.subtract(most, count), (1,))
    ones = node.let(op.dyn.ones(missing, "int64"))
    return node.of_length(node.let(op.concatenate([ones, own], axis=0)), rank, "the shape")


def _broadcasting(
    node: Node, data: Expr, left: Sequence[Dim], wanted: Expr, right: Sequence[Dim | None]
) -> Expr:
    """Data whose extents are those that a run asks for, or 1 is asked for."""
    unsure = [
        place - len(left)  # counted from the back
        for place, (own, one) in enumerate(zip(left, right, strict=True))
        if own != 1 and not isinstance(one, int) and not _is_same(one, own)
    ]
    (count,) = node.shape(wanted)
    for place in unsure:
        at = const(place + int(count), "int64")  # type: ignore[arg-type]
        asked = node.let(op.take(op.cast(wanted, "int64"), at, axis=0))
        extent = node.size(data, place)
        fits = op.logical_or(op.equal(asked, const(1, "int64")), op.equal(asked, extent))
        message = "the shape does not broadcast"
        data = node.checked(data, fits, message, VALUE, VALUE, asked, extent)
    return data


def _stretched(node: Node, own: Dim, asked: Dim | None) -> Dim:
    if asked == 1:
        return own
    if own == 1:
        return dims.ANY if asked is None else asked
    if isinstance(own, int):
        if isinstance(asked, int) and asked != own:
            raise node.refused("the shape does not broadcast", str(own), str(asked))
        return own
    return asked if isinstance(asked, int) or _is_same(asked, own) else dims.ANY  # type: ignore[return-value]


def _in_front(node: Node, extents: Expr, count: int) -> Expr:
    """A shape with ones in front."""
    return op.concatenate([const([1] * count, "int64"), extents], axis=0) if count else extents


# --- space and channels ------------------------------------------------------------------------


@table("SpaceToDepth")
def space_to_depth(node: Node, data: Expr) -> Expr:
    mode = node.attribute("mode", "DCR")
    return op.nn.space_to_depth(data, block_size=node.required("blocksize"), mode=mode)


@table("DepthToSpace")
def depth_to_space(node: Node, data: Expr) -> Expr:
    mode = node.attribute("mode", "DCR")
    return op.nn.depth_to_space(data, block_size=node.required("blocksize"), mode=mode)
