"""Shapes, reshapes and transpositions.

A shape that the graph computes is a tensor. Where its elements are known, as numbers or as named
dimensions, the result keeps them: by static attributes where these can say it, otherwise by a
declared type, which is checked at run time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay import op
from relay.errors import VALUE
from relay.frontend.common.broadcast import without_names
from relay.frontend.common.builder import int64, static
from relay.frontend.common.checking import axes_within, within
from relay.frontend.common.elements import Elements
from relay.frontend.common.reshaping import is_same, product, reshaped
from relay.frontend.onnx.branches import Fork
from relay.frontend.onnx.converters import Converters
from relay.frontend.onnx.node import GIVE_SIZES, Node
from relay.frontend.onnx.operators.reductions import places_of
from relay.frontend.onnx.ranks import expected_rank
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Expr
from relay.ir.types import TensorType

table = Converters()

# --- shapes ------------------------------------------------------------------------------------


@table("Shape")
def shape(node: Node, data: Expr) -> Expr:
    extents = node.shape(data)
    start, end, _ = slice(node.attribute("start", 0), node.attribute("end")).indices(len(extents))
    wanted = extents[start:end]
    if static(wanted) is not None:
        return node.importer.constant(np.array(wanted, "int64"))
    found = op.shape_of(data, dtype="int64")
    if len(wanted) < len(extents):
        found = op.strided_slice(found, [start], [end])
    return found


@table("Size")
def size(node: Node, data: Expr) -> Expr:
    count = product(node.shape(data))
    if isinstance(count, int):
        return node.importer.constant(np.array(count, "int64"))
    return op.ndarray_size(data, dtype="int64")


# --- reshapes ----------------------------------------------------------------------------------


@table("Reshape")
def reshape(node: Node, data: Expr, wanted: Expr | None = None) -> Expr:
    """The shape is an attribute before version 5."""
    if wanted is None:
        return op.reshape(data, tuple(node.required("shape")))
    allowzero = bool(node.attribute("allowzero", 0))
    elements = node.elements(wanted)
    if elements is None or not all(
        one == -1 or (one is not None and dims.sign_of(one) in (0, 1)) for one in elements
    ):
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
    return reshaped(node, data, elements, lambda: wanted, allowzero=allowzero)


def whole_shape(node: Node, wanted: Expr) -> Expr:
    """A shape tensor, with as many elements as the expected rank of the result."""
    if node.has_dynamic_length(wanted) and (rank := expected_rank(node)) is not None:
        return node.of_length(wanted, rank, "the shape")
    node.length(wanted, "the shape")
    return wanted


def _may_be_a_code(one: Dim | None, old: Sequence[Dim]) -> bool:
    """Whether a computed extent, like n - 4 of small models, may be -1 at run time."""
    if one is None or isinstance(one, int | dims.Any) or dims.sign_of(one) == 1:
        return False
    if any(is_same(one, extent) for extent in old):
        return False
    names = set(dims.atoms(one))
    corners = [names, set(), *({name} for name in names)]  # names that are 0; others are 1
    values = ({name: int(name not in zero) for name in names} for zero in corners)
    sizes = [dims.substitute(one, value.__getitem__) for value in values]
    return any(isinstance(size, int) and size < 0 for size in sizes)


def _copied_where_empty(elements: Elements, old: Sequence[Dim]) -> set[int]:
    """Positions of named dimensions that copy another extent where they are 0: (m, m) for a
    tensor (k, m) is then (k, 0). If nothing else were 0, the reshape would fail."""
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


@table("Flatten")
def flatten(node: Node, data: Expr) -> Expr:
    old = node.shape(data)
    axis = node.attribute("axis", 1)
    if axis != len(old):
        axis = node.axis(data, 1)
    before, after = product(old[:axis]), product(old[axis:])
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
def squeeze(node: Node, data: Expr, axes: Expr | None = None) -> Expr | Fork:
    """The axes are an attribute before version 13."""
    if node.version < 13 and (given := node.attribute("axes")) is not None:
        return _squeezed(node, data, given)
    if axes is None or node.shape(axes) == (0,):  # as ONNX Runtime
        return _squeezed_all(node, data)
    found = node.constant(axes)
    if found is None:
        if node.has_dynamic_length(axes) and (left := expected_rank(node)) is not None:
            axes = node.of_length(axes, node.rank(data) - left, "the axes")
        return op.squeeze(data, axes)
    return _squeezed(node, data, [int(one) for one in found.reshape(-1)])


def _squeezed(node: Node, data: Expr, axes: Sequence[int]) -> Expr:
    """Without these axes; a dynamic extent is checked to be 1 at run time."""
    ty = node.tensor_type(data)
    extents = list(ty.shape)
    for axis in axes:
        if -len(extents) <= axis < len(extents) and not isinstance(extents[axis], int):
            extents[axis] = dims.Any()
    if extents != list(ty.shape):
        data = node.declare(data, extents, ty.dtype)
    return op.squeeze(data, tuple(axes))


MOST_FORKS = 2  # dynamic dimensions: each duplicates the rest of the graph


def _squeezed_all(node: Node, data: Expr) -> Expr | Fork:
    """Without all axes of extent 1.

    Where the result rank depends on dynamic dimensions, the graph forks for each of them; the
    declared ranks of outputs tell which branches are possible.
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
    unknown = [axis for axis, is_one in enumerate(ones) if is_one is None]
    reason = node.refused(
        "which axes have extent 1 must be known before the model runs",
        "outputs that are declared with a number of axes",
        str(node.type_of(data)),
        GIVE_SIZES,
    )
    if len(unknown) > MOST_FORKS:
        left = expected_rank(node)
        if left is None or not 0 <= len(extents) - len(gone) - left <= len(unknown):
            raise reason
        return _squeezed_to(node, data, left)
    axis = unknown[0]
    yes, no = node.scope.inner(), node.scope.inner()
    for branch, is_one in ((yes, True), (no, False)):
        branch.declared = node.scope.declared
        branch.ones[sizes[axis]] = is_one
    test = node.let(op.equal(node.size(data, axis), int64(1)))
    return Fork(test, ((yes, []), (no, [])), reason, again=True)


def _squeezed_to(node: Node, data: Expr, count: int) -> Expr:
    """Without the axes of extent 1, with a run-time check of the result rank."""
    extents = node.let(op.shape_of(data, dtype="int64"))
    stays = node.let(op.not_equal(extents, int64(1)))
    found = node.let(op.sum(op.cast(stays, "int64"), axis=0))
    message = "the result has another number of axes than is declared"
    shown = f"{VALUE} axes of another extent than 1"
    fits = op.equal(found, int64(count))
    extents = node.checked(extents, fits, message, f"{count} axes", shown, found)
    return op.reshape(data, op.take(extents, places_of(node, stays, count), axis=0), allowzero=True)


@table("Unsqueeze")
def unsqueeze(node: Node, data: Expr, axes: Expr | None = None) -> Expr:
    """The axes are an attribute before version 13."""
    found = node.required("axes") if axes is None else node.constant(axes)
    if found is not None:
        given = np.ravel(found)
        for axis in sorted(node.axes_of(given, node.rank(data) + len(given), distinct=True)):
            data = op.expand_dims(data, axis)
        return data
    assert axes is not None
    axes = node.let(op.reshape(op.cast(axes, "int64"), (-1,))) if node.rank(axes) == 0 else axes
    if node.has_dynamic_length(axes) and (known := expected_rank(node)) is not None:
        axes = node.of_length(axes, known - node.rank(data), "the axes")
    rank = node.rank(data) + node.length(axes, "the axes")
    axes = axes_within(node, axes, rank, different=True)
    positions = op.where(axes < int64(0), axes + int64(rank), axes)
    hits = op.equal(
        op.expand_dims(op.arange(int64(rank), dtype="int64"), 1), op.expand_dims(positions, 0)
    )
    new = node.let(op.any(hits, axis=1))
    # the number of old axes up to each position
    old = op.cumsum(op.cast(op.logical_not(new), "int64"), axis=0)
    extents = op.concatenate([int64([1]), op.shape_of(data, dtype="int64")], axis=0)
    sizes = op.where(new, int64(1), op.take(extents, old, axis=0))
    return op.reshape(data, sizes, allowzero=True)


@table("Transpose")
def transpose(node: Node, data: Expr) -> Expr:
    axes = node.attribute("perm")
    if axes is None and node.rank(data) < 2:
        return data
    return op.transpose(data, None if axes is None else tuple(axes))


# --- repetition --------------------------------------------------------------------------------


@table("Expand")
def expand(node: Node, data: Expr, wanted: Expr) -> Expr:
    """Data and a shape broadcast against each other."""
    own = node.shape(data)
    if node.rank(wanted) == 0:
        wanted = node.let(op.reshape(wanted, (1,)))
    if node.has_dynamic_length(wanted) and (known := expected_rank(node)) is not None:
        wanted = _with_ones(node, wanted, known)
    count = node.length(wanted, "the shape")
    elements = node.elements(wanted) or (None,) * count
    rank = max(len(own), count)
    left = (*[1] * (rank - len(own)), *own)
    right = (*[1] * (rank - count), *elements)
    found = tuple(_stretched(node, a, b) for a, b in zip(left, right, strict=True))
    numbers = static(found)
    stays = len(own) == rank and all(map(is_same, found, own))
    if stays or numbers is not None:  # no operator checks the shape
        data = _broadcasting(node, data, left, wanted, right)
    if stays:
        return data
    if not all(b == 1 or a == 1 or is_same(b, a) for a, b in zip(left, right, strict=True)):
        data = without_names(node, data)
    if numbers is not None:
        return op.broadcast_to(data, numbers)
    asked = _in_front(node, op.cast(wanted, "int64"), rank - count)
    extents = _in_front(node, op.shape_of(data, dtype="int64"), rank - len(own))
    both = op.where(op.equal(asked, int64(1)), extents, asked)
    return node.declare(op.broadcast_to(data, both), found, node.dtype(data))


def _with_ones(node: Node, extents: Expr, rank: int) -> Expr:
    """A shape with leading ones up to a rank."""
    own = node.let(op.cast(extents, "int64"))
    count, most = node.size(own, 0), int64(rank)
    message = "the shape has more elements than the result has axes"
    count = node.checked(count, count <= most, message, f"at most {rank}", VALUE, count)
    missing = op.reshape(most - count, (1,))
    ones = node.let(op.dyn.ones(missing, "int64"))
    return node.of_length(node.let(op.concatenate([ones, own], axis=0)), rank, "the shape")


def _broadcasting(
    node: Node, data: Expr, left: Sequence[Dim], wanted: Expr, right: Sequence[Dim | None]
) -> Expr:
    """Data with run-time checks that its extents are those asked for, or that 1 is asked for."""
    unsure = [
        place - len(left)  # from the back
        for place, (own, one) in enumerate(zip(left, right, strict=True))
        if own != 1 and not isinstance(one, int) and not is_same(one, own)
    ]
    (count,) = node.shape(wanted)
    for place in unsure:
        at = int64(place + int(count))  # type: ignore[arg-type]
        asked = node.let(op.take(op.cast(wanted, "int64"), at, axis=0))
        extent = node.size(data, place)
        fits = op.logical_or(op.equal(asked, int64(1)), op.equal(asked, extent))
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
            raise node.misfit("the shape does not broadcast", str(own), str(asked))
        return own
    return asked if isinstance(asked, int) or is_same(asked, own) else dims.ANY  # type: ignore[return-value]


def _in_front(node: Node, extents: Expr, count: int) -> Expr:
    """A shape with leading ones."""
    return op.concatenate([int64([1] * count), extents], axis=0) if count else extents


# --- space and channels ------------------------------------------------------------------------


@table("DepthToSpace", "SpaceToDepth")
def space_and_depth(node: Node, data: Expr) -> Expr:
    operator = op.nn.depth_to_space if node.operator == "DepthToSpace" else op.nn.space_to_depth
    mode = node.attribute("mode", "DCR")
    return operator(data, block_size=node.required("blocksize"), mode=mode)
