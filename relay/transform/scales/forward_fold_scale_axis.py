"""Move a multiplication by constants forward, into the weights of the operators after it:

nn.conv2d(nn.relu(add(multiply(%x, %s), %b)), %w)
->
%0 = reshape(%s, newshape=[8]);
%1 = nn.relu(add(%x, divide(%b, expand_dims(%0, axis=1, num_newaxis=2))));
nn.conv2d(%1, multiply(%w, expand_dims(%0, axis=1, num_newaxis=2)))

for %x: Tensor[(1, 8, 5, 5), float32], weights %w: Tensor[(4, 8, 3, 3), float32],
weights %b: Tensor[(8, 1, 1), float32] and a positive constant %s: Tensor[(8, 1, 1), float32]

All users of the product must do without it: the scale goes into the weights that
`relay.transform.scales.weight_axes` lists, on the input side, or into another fixed factor. On the
way it may pass what `relay.transform.scales.axis_moves` lists, and one side of multiply, divide,
add, subtract, maximum and minimum.

It must be positive where it passes nn.relu and similar operators or max pooling, and where
something fixed is added, because that is divided by it.

Rounding, element types and weights are as in BackwardFoldScaleAxis, which runs first because it
needs no division.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relay import tree
from relay.analysis.provable_sign import Signs
from relay.analysis.value_flow import Flow, tensor_type
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Syntax
from relay.ir.types import TensorType
from relay.op.opdef import OpDef
from relay.op.tensor.binary import divide, multiply
from relay.transform.scales import axis_moves
from relay.transform.scales.scale_folding import Folding, FoldScales
from relay.transform.scales.scales import ELEMENTS, Room, Scale, find_scale
from relay.transform.scales.weight_axes import Product, is_own_weight, products

ADDITIONS = frozenset({"add", "subtract", "maximum", "minimum"})


@frozen
class _Step:
    """What becomes of a call when one of its arguments lacks a scale.

    `moves` leads to the axes of the result, which lacks the scale then; None where the call makes
    up for it. `other` is the fixed argument that has to change, and `changed` how.
    """

    room: Room
    moves: axis_moves.Moves | None
    other: int = -1
    changed: Callable[[Expr, Scale], Expr] = lambda e, scale: e


class _Forward(Folding):
    """Looks for room, results first; then takes scales along, arguments first."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._signs = Signs(flow)
        self._room: dict[int, Room] = {}  # what may be missing from a value
        self._steps: dict[tuple[int, int], _Step | None] = {}
        self._missing: dict[int, Scale] = {}
        self._changes: dict[int, tuple[_Step, Scale]] = {}
        self.dropped: dict[int, int] = {}
        for call in reversed(flow.calls):
            ty = tensor_type(call)
            if ty is None or ty.dtype not in ELEMENTS or flow.is_fixed(call):
                continue
            if (room := self._room_behind(call, ty)) is not None:
                self._room[id(call)] = room
        for call in flow.calls:
            self._take_along(call)

    def changed(self, before: Syntax, after: Syntax) -> Syntax:
        if (change := self._changes.get(id(before))) is None:
            return after
        assert isinstance(after, Call)
        step, scale = change
        args = list(after.args)
        args[step.other] = step.changed(args[step.other], scale)
        return tree.replace(after, args=tuple(args))

    # --- room

    def _room_behind(self, call: Call, ty: TensorType) -> Room | None:
        """What all users of a value can do without."""
        axes: axis_moves.Axes | None = None
        positive = False
        for user, index in self._flow.users(call):
            if not isinstance(user, Call) or self._flow.call(user) is None:
                return None
            if (step := self._step(user, index)) is None:
                return None
            axes = step.room.axes if axes is None or axes == step.room.axes else ()
            positive |= step.room.positive
        if axes is None:
            return None
        return Room.along(axes, ty, positive)

    def _step(self, user: Call, index: int) -> _Step | None:
        key = (id(user), index)
        if key not in self._steps:
            self._steps[key] = self._find_step(user, index)
        return self._steps[key]

    def _find_step(self, user: Call, index: int) -> _Step | None:
        ty = tensor_type(user)
        if ty is None or index < 0 or not isinstance(user.op, OpDef):
            return None
        name = user.op.name
        if (found := axis_moves.crossing(user)) is not None:
            return self._onward(user, *found) if index == 0 else None
        if name == "multiply":
            return self._through_product(user, index, ty)
        if name == "divide" and index == 0:
            return self._onward(user, axis_moves.broadcasting(user.args[0], ty))
        if name in ADDITIONS or (name == "nn.bias_add" and index == 0):
            return self._through_addition(user, index, ty)
        for product in products(user):
            if product.data == index and is_own_weight(user.args[product.weight], self._flow):
                room = Room(product.entering.axes, (), positive=False)
                return _Step(room, None, product.weight, _weight(product))
        return None

    def _onward(self, user: Call, moves: axis_moves.Moves, positive: bool = False) -> _Step | None:
        """What is missing from the argument is missing from the result as well."""
        room = self._room.get(id(user))
        if room is None:
            return None
        axes = moves.to_argument(room.axes) or ()
        return _Step(Room(axes, (), positive or room.positive), moves)

    def _through_product(self, user: Call, index: int, ty: TensorType) -> _Step | None:
        other = user.args[1 - index]
        if self._flow.meant(other) is self._flow.meant(user.args[index]):
            return None
        moves = axis_moves.broadcasting(user.args[index], ty)
        if (onward := self._onward(user, moves)) is not None or not self._flow.is_fixed(other):
            return onward
        shared = axis_moves.axes_without_growth(other, ty) or frozenset()
        axes = tuple(sorted(axis for axis, place in moves.pairs.items() if place in shared))
        return _Step(Room(axes, (), positive=False), None, 1 - index, _factor(moves, ty, multiply))

    def _through_addition(self, user: Call, index: int, ty: TensorType) -> _Step | None:
        other = user.args[1 - index]
        moves = axis_moves.broadcasting(user.args[index], ty)
        onward = self._onward(user, moves, positive=True)
        if onward is None or not self._flow.is_fixed(other):
            return None
        axes = onward.room.axes
        divided = _factor(moves, ty, divide)
        if isinstance(user.op, OpDef) and user.op.name == "nn.bias_add":
            known: Any = user.attrs
            fits = axes == (known.axis % len(ty.shape),)
            divided = _divided_bias
        else:
            shared = axis_moves.axes_without_growth(other, ty)
            fits = shared is None or shared.issuperset(moves.to_result(axes) or ())
        room = Room(axes if fits else (), (), positive=True)
        return _Step(room, moves, 1 - index, divided)

    # --- taking along

    def _take_along(self, call: Call) -> None:
        missing = self._missing_from_arguments(call)
        room = self._room.get(id(call))
        source = find_scale(call, self._flow, self._signs) if room is not None else None
        if source is not None and room is not None and room.takes(source[1]):
            data, scale = source
            onward = None
            if missing:
                ((index, onward),) = missing  # the other argument is fixed
                assert index == data
            self._missing[id(call)] = scale.over(room.axes, room.extents).times(onward)
            self.dropped[id(call)] = data
            return
        for index, scale in missing:
            step = self._step(call, index)
            assert step is not None
            if step.other >= 0:
                self._changes[id(call)] = (step, scale)
            if step.moves is not None:
                axes = step.moves.to_result(scale.axes)
                assert axes is not None and room is not None
                found = scale.at(axes, room.extents if scale.axes else ())
                self._missing[id(call)] = found.times(self._missing.get(id(call)))

    def _missing_from_arguments(self, call: Call) -> list[tuple[int, Scale]]:
        """The arguments that lack a scale, and which: one, or both factors of a product."""
        found = ((i, self._missing.get(id(self._flow.meant(a)))) for i, a in enumerate(call.args))
        return [(index, scale) for index, scale in found if scale is not None]


def _factor(
    moves: axis_moves.Paired, ty: TensorType, combine: Callable[[Expr, Expr], Expr]
) -> Callable[[Expr, Scale], Expr]:
    """How a fixed argument is combined with a scale of the other one."""

    def combined(e: Expr, scale: Scale) -> Expr:
        axes = moves.to_result(scale.axes)
        assert axes is not None
        return combine(e, scale.at(axes, scale.extents).broadcast(len(ty.shape)))

    return combined


def _weight(product: Product) -> Callable[[Expr, Scale], Expr]:
    return lambda e, scale: product.scaled(e, scale, product.entering)


def _divided_bias(e: Expr, scale: Scale) -> Expr:
    return divide(e, scale.value)


@frozen
class ForwardFoldScaleAxis(FoldScales):
    """Folds scales into the weights of the operators behind them."""

    folding = _Forward
