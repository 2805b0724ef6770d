"""Scales: factors along some axes of a tensor, and how programs express them:

multiply(%x, expand_dims(%s, axis=1, num_newaxis=2))  ->  %x, scaled by %s along axis 1

A scale is a fixed tensor whose axes are some of the axes of what it scales; without axes it is one
factor for all elements. For blocked channels, a scale has an axis for the blocks and one for the
channels inside a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay.analysis.provable_sign import Signs
from relay.analysis.value_flow import Flow, static_shape, tensor_type
from relay.immutable import frozen
from relay.ir.expr import Call, Expr, const
from relay.ir.types import TensorType
from relay.op.opdef import OpDef
from relay.op.tensor.binary import divide, multiply
from relay.op.tensor.extend import broadcast_to
from relay.op.tensor.rearrange import transpose
from relay.op.tensor.reshape import reshape
from relay.op.tensor.shape import expand_dims
from relay.op.tensor.slicing import strided_slice

# In float16 a weight times a small factor has hardly any bits left; integers wrap differently.
ELEMENTS = frozenset({"float32", "float64", "bfloat16"})


@frozen
class Scale:
    """A tensor `value` of shape `extents`, along the axes `axes` of the tensor it scales."""

    value: Expr
    axes: tuple[int, ...]
    extents: tuple[int, ...]
    dtype: str
    positive: bool

    def at(self, axes: Sequence[int], extents: Sequence[int]) -> Scale:
        """The same factors along axes of another tensor."""
        if not self.axes:
            return self
        value = shaped(self.value, self.extents, extents)
        return replace(self, value=value, axes=tuple(axes), extents=tuple(extents))

    def over(self, axes: tuple[int, ...], extents: tuple[int, ...]) -> Scale:
        """The scale broadcast to these axes, which include its own."""
        if not self.axes or axes == self.axes:
            return self
        order = sorted(range(len(self.axes)), key=lambda i: axes.index(self.axes[i]))
        own = dict(zip(self.axes, self.extents, strict=True))
        shape = tuple(own.get(axis, 1) for axis in axes)
        given = tuple(self.extents[i] for i in order)
        value = shaped(_transposed(self.value, order), given, shape)
        if shape != extents:
            value = broadcast_to(value, extents)
        return replace(self, value=value, axes=axes, extents=extents)

    def times(self, other: Scale | None) -> Scale:
        """The product of two scales with the same axes, or of which one is a scalar."""
        if other is None:
            return self
        longer = self if self.axes else other
        positive = self.positive and other.positive
        return replace(longer, value=multiply(self.value, other.value), positive=positive)

    def inverse(self) -> Scale:
        return replace(self, value=divide(const(1.0, self.dtype), self.value))

    def part(self, axis: int, begin: int, end: int) -> Scale:
        """The scale of a slice of the tensor along one axis."""
        if axis not in self.axes:
            return self
        place = self.axes.index(axis)
        value = strided_slice(self.value, [begin], [end], axes=[place])
        extents = (*self.extents[:place], end - begin, *self.extents[place + 1 :])
        return replace(self, value=value, extents=extents)

    def broadcast(self, rank: int) -> Expr:
        """The scale in a shape that broadcasts to a tensor of that rank."""
        if not self.axes:
            return self.value
        order = sorted(range(len(self.axes)), key=self.axes.__getitem__)
        first = self.axes[order[0]]
        shape = [1] * (rank - first)
        for i in order:
            shape[self.axes[i] - first] = self.extents[i]
        given = tuple(self.extents[i] for i in order)
        return shaped(_transposed(self.value, order), given, tuple(shape))


@frozen
class Room:
    """The scales that a value can take: along these axes, or a scalar."""

    axes: tuple[int, ...]
    extents: tuple[int, ...]
    positive: bool  # by positive factors only

    @staticmethod
    def along(axes: tuple[int, ...], ty: TensorType, positive: bool) -> Room:
        """The room in a tensor along these axes; for scalars only, where an extent is unknown."""
        extents = [extent for axis in axes if isinstance(extent := ty.shape[axis], int)]
        if len(extents) < len(axes):
            return Room((), (), positive)
        return Room(axes, tuple(extents), positive)

    def takes(self, scale: Scale) -> bool:
        return set(scale.axes) <= set(self.axes) and (scale.positive or not self.positive)


def _transposed(value: Expr, order: Sequence[int]) -> Expr:
    return value if list(order) == sorted(order) else transpose(value, axes=list(order))


def shaped(value: Expr, extents: Sequence[int], shape: Sequence[int]) -> Expr:
    """`value`, of shape `extents`, reshaped to `shape`."""
    extents, shape = tuple(extents), tuple(shape)
    if extents == shape:
        return value
    behind = len(shape) - len(extents)
    if behind > 0 and extents and shape == (*extents, *[1] * behind):
        return expand_dims(value, axis=len(extents), num_newaxis=behind)
    return reshape(value, shape)


def find_scale(call: Call, flow: Flow, signs: Signs) -> tuple[int, Scale] | None:
    """The argument that `call` scales, and the scale, if it is a product with a constant."""
    if not isinstance(call.op, OpDef) or call.op.name not in ("multiply", "divide"):
        return None
    result = tensor_type(call)
    if result is None or result.dtype not in ELEMENTS:
        return None
    sides = ((0, 1), (1, 0)) if call.op.name == "multiply" else ((0, 1),)
    for data, factor in sides:
        one, other = call.args[data], call.args[factor]
        shape = static_shape(other)
        if flow.is_fixed(one) or not flow.is_fixed(other) or shape is None or one.ty != result:
            continue
        ahead = len(result.shape) - len(shape)
        axes = tuple(ahead + axis for axis, extent in enumerate(shape) if extent != 1)
        extents = tuple(extent for extent in shape if extent != 1)
        if any(result.shape[a] != e for a, e in zip(axes, extents, strict=True)):
            return None
        value = _bare(flow.anywhere(other), shape, extents)
        found = Scale(value, axes, extents, result.dtype, signs.is_positive(other))
        return data, found if call.op.name == "multiply" else found.inverse()
    return None


def _bare(value: Expr, shape: tuple[int, ...], extents: tuple[int, ...]) -> Expr:
    """`value` before axes of extent 1 were added to it."""
    while isinstance(value, Call) and isinstance(value.op, OpDef) and shape != extents:
        inner = static_shape(value.args[0]) if value.args else None
        if value.op.name not in ("expand_dims", "reshape") or inner is None:
            break
        if tuple(extent for extent in inner if extent != 1) != extents:
            break
        value, shape = value.args[0], inner
    return shaped(value, shape, extents)
