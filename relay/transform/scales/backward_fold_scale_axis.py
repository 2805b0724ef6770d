"""Move a multiplication by constants backward, into the weights of the operators before it:

multiply(nn.relu(add(nn.conv2d(%x, %w), %b)), %s)
->
%0 = reshape(%s, newshape=[8]);
%1 = nn.conv2d(%x, multiply(%w, expand_dims(%0, axis=1, num_newaxis=3)));
nn.relu(add(%1, multiply(%b, expand_dims(%0, axis=1, num_newaxis=2))))

for %x: Tensor[(1, 4, 5, 5), float32], weights %w: Tensor[(8, 4, 3, 3), float32],
weights %b: Tensor[(8, 1, 1), float32] and a positive constant %s: Tensor[(8, 1, 1), float32]

What replaces the multiplication depends on constants and weights alone
(`relay.analysis.value_flow`), so it is computed once. The scale goes

    into       the weights of nn.conv1d/2d/3d, their transposed forms, nn.dense, nn.matmul and
               nn.batch_matmul, and into another fixed factor
    through    both sides of add, subtract, maximum, minimum and concatenate, where one may be
               fixed; one side of multiply; the dividend of divide; and what `axis_moves` lists
    if it is   positive, where nn.relu and similar operators, maxima and max pooling are on the way

and only through values that have no other use. A scalar factor is a scale too, and can go where no
axis leads. Division by constants is multiplication by their inverses.

The result is rounded differently: `(w * s) * x` for `(w * x) * s`. Elements are float32, float64 or
bfloat16; the weights must be fixed, or multiplying them would take as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from relay import tree
from relay.analysis.provable_sign import Signs
from relay.analysis.value_flow import Flow, tensor_type
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, Syntax, Tuple
from relay.ir.types import TensorType
from relay.op.opdef import OpDef
from relay.op.tensor.binary import multiply
from relay.transform.scales import axis_moves
from relay.transform.scales.scale_folding import Folding, FoldScales
from relay.transform.scales.scales import ELEMENTS, Room, Scale, find_scale
from relay.transform.scales.weight_axes import Product, is_own_weight, products

# Operators of which these arguments are scaled when the result is; those of order need s > 0.
LINEAR = {"add": (0, 1), "subtract": (0, 1), "nn.bias_add": (0, 1), "where": (1, 2)}
OF_ORDER = {"maximum": (0, 1), "minimum": (0, 1)}


# --- what takes part when the result of a call is scaled -----------------------------------------


@frozen
class _Value:
    """A value that is scaled where it is computed; maybe by a part of the scale along an axis."""

    value: Expr
    moves: axis_moves.Moves
    part: tuple[int, int, int] | None = None  # (axis, begin, end)


@frozen
class _Factor:
    """A fixed part of `owner` that is multiplied; `axes` are those of the result it has."""

    owner: Syntax
    index: int
    axes: frozenset[int] | None  # None: any
    rank: int
    part: tuple[int, int, int] | None = None

    def scaled(self, e: Expr, scale: Scale) -> Expr:
        return multiply(e, scale.broadcast(self.rank))


@frozen
class _Bias(_Factor):
    """The bias of nn.bias_add, which has one axis."""

    def scaled(self, e: Expr, scale: Scale) -> Expr:
        return multiply(e, scale.value)


@frozen
class _Weight:
    """A fixed argument that is the weight of a product."""

    owner: Syntax
    product: Product

    @property
    def index(self) -> int:
        return self.product.weight

    def scaled(self, e: Expr, scale: Scale) -> Expr:
        return self.product.scaled(e, scale, self.product.leaving)


Share = _Value | _Factor | _Weight


class _Backward(Folding):
    """Looks for room, arguments first; then hands scales over, results first."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._signs = Signs(flow)
        self._room: dict[int, Room] = {}
        self._shares: dict[int, Sequence[Share]] = {}
        self._sources: dict[int, tuple[int, Scale]] = {}  # (the argument that is scaled, by what)
        self._incoming: dict[int, Scale] = {}
        # parts of calls and tuples that are scaled, and calls of which only an argument is left
        self._scaled: dict[int, list[tuple[_Factor | _Weight, Scale]]] = {}
        self.dropped: dict[int, int] = {}
        for call in flow.calls:
            ty = tensor_type(call)
            if ty is not None and ty.dtype in ELEMENTS and not flow.is_fixed(call):
                self._find_room(call, ty)
        for call in reversed(flow.calls):
            self._hand_over(call)

    def changed(self, before: Syntax, after: Syntax) -> Syntax:
        if (scaled := self._scaled.get(id(before))) is None:
            return after
        assert isinstance(after, Call | Tuple)
        parts = list(after.args if isinstance(after, Call) else after.fields)
        for share, scale in scaled:
            parts[share.index] = share.scaled(parts[share.index], scale)
        if isinstance(after, Call):
            return tree.replace(after, args=tuple(parts))
        return tree.replace(after, fields=tuple(parts))

    # --- room

    def _find_room(self, call: Call, ty: TensorType) -> None:
        if (source := find_scale(call, self._flow, self._signs)) is not None:
            data, scale = source
            self._sources[id(call)] = source
            room = self._room_in(call.args[data])
            if room is not None and room.takes(scale):
                self._room[id(call)] = room
                return
        for shares, positive in self._ways(call, ty):
            if (room := self._room_of(shares, positive, ty)) is not None:
                self._room[id(call)] = room
                self._shares[id(call)] = shares
                return

    def _room_in(self, value: Expr) -> Room | None:
        """The room in a value with no other use."""
        call = self._flow.call(value)
        if call is None or len(self._flow.users(call)) != 1:
            return None
        return self._room.get(id(call))

    def _room_of(self, shares: Sequence[Share], positive: bool, ty: TensorType) -> Room | None:
        """The room where all of these take part; one factor for all finds some in fixed values."""
        axes: axis_moves.Axes | None = None
        for share in shares:
            match share:
                case _Value(value=value, moves=moves):
                    if (room := self._room_in(value)) is None:
                        return None
                    positive |= room.positive
                    found = moves.to_result(room.axes) or ()
                case _Weight(product=product):
                    found = product.leaving.axes
                case _:
                    continue
            axes = found if axes is None or axes == found else ()
        fixed = [share.axes for share in shares if isinstance(share, _Factor)]
        known = [share_axes for share_axes in fixed if share_axes is not None]
        if axes is None:  # fixed values take it all
            axes = tuple(sorted(frozenset.intersection(*known))) if known else ()
        if not all(share_axes.issuperset(axes) for share_axes in known):
            axes = ()
        return Room.along(axes, ty, positive)

    def _ways(self, call: Call, ty: TensorType) -> Iterator[tuple[Sequence[Share], bool]]:
        """What may be scaled instead of the result, and whether by positive factors only."""
        assert isinstance(call.op, OpDef)
        name = call.op.name
        if (found := axis_moves.crossing(call)) is not None:
            moves, positive = found
            yield (_Value(call.args[0], moves),), positive
        elif name in LINEAR or name in OF_ORDER:
            indices = (LINEAR.get(name) or OF_ORDER.get(name)) or ()
            yield tuple(self._share(call, i, ty) for i in indices), name in OF_ORDER
        elif name == "multiply":
            for index in sorted((0, 1), key=lambda i: self._flow.is_fixed(call.args[i])):
                yield (self._share(call, index, ty),), False
        elif name == "divide":
            yield (self._share(call, 0, ty),), False
        elif name == "concatenate":
            if (shares := self._joined(call)) is not None:
                yield shares, False
        else:
            yield from self._product_ways(call, ty)

    def _share(self, call: Call, index: int, ty: TensorType) -> Share:
        """An argument that broadcasts to the result."""
        arg = call.args[index]
        rank = len(ty.shape)
        if isinstance(call.op, OpDef) and call.op.name == "nn.bias_add" and index == 1:
            known: Any = call.attrs
            axis = known.axis % rank
            if self._flow.is_fixed(arg):
                return _Bias(call, 1, frozenset({axis}), rank)
            return _Value(arg, axis_moves.Paired({0: axis}))
        if self._flow.is_fixed(arg):
            return _Factor(call, index, axis_moves.axes_without_growth(arg, ty), rank)
        return _Value(arg, axis_moves.broadcasting(arg, ty))

    def _joined(self, call: Call) -> Sequence[Share] | None:
        """The parts of a concatenation, each with its part of the scale."""
        parts = self._flow.meant(call.args[0])
        if not isinstance(parts, Tuple) or len(self._flow.users(parts)) != 1:
            return None
        known: Any = call.attrs
        shares: list[Share] = []
        begin = 0
        for index, part in enumerate(parts.fields):
            ty = tensor_type(part)
            if ty is None:
                return None
            rank = len(ty.shape)
            axis = known.axis % rank
            extent = ty.shape[axis]
            if not isinstance(extent, int):
                return None
            every = {i: i for i in range(rank)}
            cut = (axis, begin, begin + extent)
            if self._flow.is_fixed(part):
                shares.append(_Factor(parts, index, frozenset(every), rank, cut))
            else:
                shares.append(_Value(part, axis_moves.Paired(every), cut))
            begin += extent
        return shares

    def _product_ways(self, call: Call, ty: TensorType) -> Iterator[tuple[Sequence[Share], bool]]:
        found = products(call)
        for product in found:
            if is_own_weight(call.args[product.weight], self._flow):
                yield (_Weight(call, product),), False
        for product in found:
            yield (_Value(call.args[product.data], axis_moves.Paired({})),), False

    # --- handing over

    def _hand_over(self, call: Call) -> None:
        incoming = self._incoming.get(id(call))
        source = self._sources.get(id(call))
        if source is not None and id(call) not in self._shares:
            data, scale = source
            room = self._room.get(id(call))
            if room is not None:
                self._give(call.args[data], scale.over(room.axes, room.extents).times(incoming))
                self.dropped[id(call)] = data
        elif incoming is not None:
            for share in self._shares[id(call)]:
                self._share_out(share, incoming)

    def _share_out(self, share: Share, scale: Scale) -> None:
        match share:
            case _Value(value=value, moves=moves, part=part):
                axes = moves.to_argument(scale.axes)
                room = self._room_in(value)
                assert axes is not None and room is not None
                own = scale if part is None else scale.part(*part)
                extents = room.extents if scale.axes else ()
                self._give(value, own.at(axes, extents))
            case _Factor(owner=owner, part=part):
                own = scale if part is None else scale.part(*part)
                self._scaled.setdefault(id(owner), []).append((share, own))
            case _Weight(owner=owner):
                self._scaled.setdefault(id(owner), []).append((share, scale))

    def _give(self, value: Expr, scale: Scale) -> None:
        call = self._flow.call(value)
        assert call is not None
        self._incoming[id(call)] = scale


@frozen
class BackwardFoldScaleAxis(FoldScales):
    """Folds scales into the weights of the operators before them."""

    folding = _Backward
