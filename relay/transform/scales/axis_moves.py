"""Which axes of an argument become which axes of the result, for operators that a scale may cross:

nn.relu(%x)  ->  all axes, for positive factors
nn.max_pool2d(%x, layout="NHWC")  ->  axes 0 and 3, for positive factors
reshape(%x, newshape=[0, 0, 12, 64])  ->  axes 2 and 3 of the result are axis 2 of %x

Such an operator is linear or monotonic: f(s * x) = s * f(x), at least for a positive `s`, and where
`s` is the same for all elements that are combined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from relay.analysis.value_flow import static_shape, tensor_type
from relay.immutable import frozen
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.expr import Call, Constant, Expr
from relay.ir.types import TensorType
from relay.nd import Weight
from relay.op.building.layout_rules import LayoutAttributes
from relay.op.building.layouts import Layout, parse_layout
from relay.op.facts import Trait
from relay.op.opdef import FusionKind, OpDef
from relay.op.tensor.reduce import ReduceAttrs
from relay.transform.layout.layout_spelling import spelled_layouts

Axes = tuple[int, ...]


@frozen
class Paired:
    """Axes of the argument, each with the axis of the result that it becomes."""

    pairs: Mapping[int, int]

    def to_result(self, axes: Axes) -> Axes | None:
        return _mapped(axes, self.pairs)

    def to_argument(self, axes: Axes) -> Axes | None:
        return _mapped(axes, {there: here for here, there in self.pairs.items()})


@frozen
class Regrouped:
    """A reshape."""

    before: tuple[Dim, ...]
    after: tuple[Dim, ...]

    def to_result(self, axes: Axes) -> Axes | None:
        return _regrouped(axes, self.before, self.after)

    def to_argument(self, axes: Axes) -> Axes | None:
        return _regrouped(axes, self.after, self.before)


@frozen
class Relaid:
    """A change of layout, which may split axes into blocks or merge them."""

    before: Layout
    after: Layout

    def to_result(self, axes: Axes) -> Axes | None:
        return _relaid(axes, self.before, self.after)

    def to_argument(self, axes: Axes) -> Axes | None:
        return _relaid(axes, self.after, self.before)


Moves = Paired | Regrouped | Relaid


def _mapped(axes: Axes, pairs: Mapping[int, int]) -> Axes | None:
    return tuple(pairs[axis] for axis in axes) if all(axis in pairs for axis in axes) else None


def _regrouped(axes: Axes, before: tuple[Dim, ...], after: tuple[Dim, ...]) -> Axes | None:
    """The axes of shape `after` that consecutive `axes` of shape `before` become."""
    if not axes or axes != tuple(range(axes[0], axes[-1] + 1)):
        return None if axes else ()
    ahead, inside = _product(before[: axes[0]]), _product(before[axes[0] : axes[-1] + 1])
    if ahead is None or inside is None or inside == 1:
        return None
    start = 0
    passed: Dim | None = 1
    while passed is not None and passed != ahead and start < len(after):
        passed = _product((passed, after[start]))
        start += 1
    if passed != ahead:
        return None
    found: list[int] = []
    held: Dim | None = 1
    for axis in range(start, len(after)):
        if after[axis] == 1 and not found:
            continue
        held = None if held is None else _product((held, after[axis]))
        found.append(axis)
        if held == inside:
            return tuple(found)
    return None


def _relaid(axes: Axes, before: Layout, after: Layout) -> Axes | None:
    """The places of whole axes in `after`, outermost part first; None for parts of an axis."""
    found: list[int] = []
    rest = list(axes)
    while rest:
        letter = before.axes[rest[0]][0]
        places = before.places(letter)
        if rest[: len(places)] != places:
            return None
        del rest[: len(places)]
        found += after.places(letter)
    return tuple(found)


def _product(extents: tuple[Dim, ...]) -> Dim | None:
    """The product of extents; None where one is unknown."""
    total: Dim = 1
    for extent in extents:
        if isinstance(extent, dims.Any):
            return None
        total = dims.multiply(total, extent)
    return total


# Only positive factors cross operators that choose by order, or treat signs differently.
POSITIVE = Trait.CHOOSES | Trait.HOMOGENEOUS

# --- the operators --------------------------------------------------------------------------------


# (call, type of its first argument, type of its result) -> how axes move; None where they do not
Rule = Callable[[Call, TensorType, TensorType], Moves | None]


def _same(call: Call, data: TensorType, result: TensorType) -> Moves | None:
    return Paired({a: a for a in range(len(data.shape))}) if data.shape == result.shape else None


def _regroup(call: Call, data: TensorType, result: TensorType) -> Moves:
    return Regrouped(data.shape, result.shape)


def _transposed(call: Call, data: TensorType, result: TensorType) -> Moves:
    known: Any = call.attrs
    rank = len(data.shape)
    order = range(rank)[::-1] if known.axes is None else [axis % rank for axis in known.axes]
    return Paired({axis: place for place, axis in enumerate(order)})


def _beside_windows(call: Call, data: TensorType, result: TensorType) -> Moves | None:
    """All axes but the spatial ones."""
    layouts = spelled_layouts(call)
    assert layouts is not None and layouts[0][0] is not None
    before, after = parse_layout(layouts[0][0]), parse_layout(layouts[1])
    if before is None or after is None:
        return None
    pairs: dict[int, int] = {}
    for letter in before.letters:
        if letter not in "DHW" and before.blocks(letter) == after.blocks(letter):
            pairs.update(zip(before.places(letter), after.places(letter), strict=True))
    return Paired(pairs)


def _relayout(call: Call, data: TensorType, result: TensorType) -> Moves | None:
    known: Any = call.attrs
    before, after = parse_layout(known.src_layout), parse_layout(known.dst_layout)
    if before is None or after is None or sorted(before.letters) != sorted(after.letters):
        return None
    return Relaid(before, after)


def _reduced(call: Call, data: TensorType, result: TensorType) -> Moves:
    known: Any = call.attrs
    rank = len(data.shape)
    named = range(rank) if known.axis is None else {axis % rank for axis in known.axis}
    kept = [axis for axis in range(rank) if (axis in named) == known.exclude]
    if known.axis is None:
        kept = []
    return Paired({axis: axis if known.keepdims else place for place, axis in enumerate(kept)})


def _unchanged_extents(call: Call, data: TensorType, result: TensorType) -> Moves:
    """The axes, counted from the back, with the same extent."""
    return broadcasting(call.args[0], result)


def _sliced(call: Call, data: TensorType, result: TensorType) -> Moves:
    """The axes with the same extent, if none is reversed."""
    known: Any = call.attrs
    if any(stride < 0 for stride in known.strides or ()):
        return Paired({})
    return _unchanged_extents(call, data, result)


def _padded(call: Call, data: TensorType, result: TensorType) -> Moves | None:
    """The axes without padding, where the padding is zeros or elements of the tensor."""
    known: Any = call.attrs
    if getattr(known, "pad_mode", "") == "constant":
        value = call.args[1]
        if not isinstance(value, Constant) or isinstance(value.data, Weight):
            return None
        if np.any(value.data.array != 0):
            return None
    return Paired({axis: axis for axis, width in enumerate(known.pad_width) if not any(width)})


OWN: Mapping[str, Rule] = {
    "broadcast_to": _unchanged_extents,
    "layout_transform": _relayout,
    "nn.mirror_pad": _padded,
    "nn.pad": _padded,
    "strided_slice": _sliced,
    "transpose": _transposed,
}


def _rule_of(op: OpDef) -> Rule | None:
    """How the axes of the first argument move, for operators that a scale may cross."""
    if op.name in OWN:
        return OWN[op.name]
    if Trait.RESHAPES in op.traits:
        return _regroup
    if not op.traits & (Trait.LINEAR | Trait.HOMOGENEOUS | Trait.MOVES | Trait.CHOOSES):
        return None
    if op.attrs is not None and issubclass(op.attrs, ReduceAttrs):
        return _reduced
    if isinstance(op.layout, LayoutAttributes):
        return _beside_windows if op.layout.blocks else None
    moves = Trait.MOVES in op.traits and op.fusion is not FusionKind.ELEMWISE
    return _same if op.fusion <= FusionKind.BROADCAST and not moves else None


def broadcasting(arg: Expr, result: TensorType) -> Paired:
    """The axes of an argument that are not broadcast to the result."""
    ty = tensor_type(arg)
    if ty is None:
        return Paired({})
    ahead = len(result.shape) - len(ty.shape)
    return Paired(
        {
            axis: ahead + axis
            for axis, extent in enumerate(ty.shape)
            if isinstance(extent, int) and result.shape[ahead + axis] == extent
        }
    )


def axes_without_growth(arg: Expr, result: TensorType) -> frozenset[int] | None:
    """The axes of the result along which a fixed argument may be scaled without growing out of
    proportion. None is all: of one element there is one for every factor then."""
    shape = static_shape(arg)
    if shape is not None and prod(shape) == 1:
        return None
    return frozenset(broadcasting(arg, result).pairs.values())


def crossing(call: Call) -> tuple[Moves, bool] | None:
    """How axes move through `call`, and whether only positive factors commute with it."""
    if not isinstance(call.op, OpDef) or (rule := _rule_of(call.op)) is None:
        return None
    data, result = tensor_type(call.args[0]), tensor_type(call)
    if data is None or result is None or data.dtype != result.dtype:
        return None
    moves = rule(call, data, result)
    return None if moves is None else (moves, bool(call.op.traits & POSITIVE))
