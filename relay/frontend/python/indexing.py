"""`x[…]`: fields of tuples, elements of lists, parts of tensors.

pair[0], pair[-1]       a field; the index is known when the program is made
xs[i]                   an element of a list, counted from 0
x[i]                    an index along the first axis, which may be computed: relay.take.
                        Negative indices count from the end; others wrap around
x[i, :, -1]             the same for several axes
x[1:5], x[::2], x[a:b]  a slice of an axis: relay.strided_slice; bounds may be computed
x[..., 0], x[None]      all axes between; a new axis of extent 1
x[indices]              several indices along an axis, given by a tensor of integers
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

import numpy as np

from relay import dtypes
from relay.frontend.python import statics
from relay.frontend.python.operators import Operators
from relay.frontend.python.unit import Value
from relay.ir.expr import Call, Expr, TupleGetItem
from relay.ir.types import IncompleteType, TensorType, TupleType
from relay.op.tensor.convert import cast
from relay.op.tensor.indexing import take
from relay.op.tensor.rearrange import stack
from relay.op.tensor.shape import expand_dims
from relay.op.tensor.slicing import strided_slice
from relay.tree import Steps

_TO_THE_END = 2**31 - 1


@dataclass
class _AxisSlice:
    """`start:stop:step` of one axis."""

    axis: int
    start: Value
    stop: Value
    step: Value


class Indexing(Operators):
    """Translates subscripts, given their parts."""

    def item(self, value: Value, index: Value, node: ast.Subscript) -> Steps[Value]:
        """`value[index]`"""
        if not isinstance(value, Expr):
            if type(value) in (tuple, list, dict, str, range):
                return self._static_item(value, index, node)
            value = yield self.lift(value, node.value)
        ty = self.type_of(value)
        if isinstance(ty, TupleType):
            return self._field(value, ty, index, node)
        if self.is_list(ty):
            position = yield self.lift(index, node.slice)
            nth = self.program.library("nth")
            return self.placed(Call(nth, (value, position)), node, value, position)
        if isinstance(ty, TensorType):
            return (yield self._part(value, ty, index, node))
        if isinstance(ty, IncompleteType):
            raise self.error(
                node,
                "what this index means is not known: the type of the value is open here",
                "a tuple, a list or a tensor",
                ast.unparse(node.value),
                "annotate the variable or the parameter that it comes from",
            )
        raise self.error(node, "this value has no items", "a tuple, a list or a tensor", str(ty))

    def _static_item(self, value: Value, index: Value, node: ast.Subscript) -> Value:
        if not statics.is_static(index):
            raise self.error(
                node.slice,
                "the index into a value of Python must be known when the program is made",
                "a number",
                hint="relay.stack(…) makes a tensor of equal parts, which can be indexed so",
            )
        try:
            return value[index]
        except (LookupError, TypeError, ValueError) as error:
            raise self.error(node, f"there is no such item: {error}") from None

    def _field(self, value: Expr, ty: TupleType, index: Value, node: ast.Subscript) -> Value:
        count = len(ty.fields)
        if isinstance(index, slice) and statics.is_static(index):
            chosen = range(count)[index]
            return tuple(self.projection(value, i, node) for i in chosen)
        if type(index) is not int:
            raise self.error(
                node.slice,
                "the fields of a tuple have types of their own: the index must be known",
                f"a number from 0 to {count - 1}",
                ast.unparse(node.slice),
            )
        if not -count <= index < count:
            raise self.error(
                node.slice, f"there is no field {index}", f"at most {count - 1}", str(ty)
            )
        return self.projection(value, index % count, node)

    def projection(self, value: Expr, index: int, node: ast.AST) -> Expr:
        """One field of a tuple."""
        return self.placed(TupleGetItem(value, index), node, value)

    # --- tensors

    def _part(self, value: Expr, ty: TensorType, index: Value, node: ast.Subscript) -> Steps[Value]:
        places = list(index) if isinstance(index, tuple) else [index]
        places = self._without_ellipsis(places, len(ty.shape), node)
        slices: list[_AxisSlice] = []
        axis = 0  # of the result, as far as it is made
        for place in places:
            if place is None:
                value = self.placed(expand_dims(value, axis), node, value)
                axis += 1
            elif isinstance(place, slice):
                if place != slice(None):
                    slices.append(_AxisSlice(axis, place.start, place.stop, place.step))
                axis += 1
            else:
                known = self._known_place(place, value, axis, node)
                position = yield self.lift(place if known is None else known, node.slice)
                value, taken = self._at(value, position, axis, known is not None, node)
                if taken and sum(p is not None and not isinstance(p, slice) for p in places) > 1:
                    raise self.error(node, "a tensor of indices stands alone, beside slices only")
                axis += taken
        if slices:
            value = yield self._sliced(value, slices, node)
        return value

    def _without_ellipsis(self, places: list[Value], rank: int, node: ast.Subscript) -> list[Value]:
        count = sum(1 for p in places if p is not None and p is not Ellipsis)
        if count > rank:
            raise self.error(node, "too many indices", f"at most {rank}", str(count))
        if places.count(Ellipsis) > 1:
            raise self.error(node, "an index has one `...` at most")
        if Ellipsis in places:
            at = places.index(Ellipsis)
            places[at : at + 1] = [slice(None)] * (rank - count)
        return places

    def _known_place(self, place: Value, value: Expr, axis: int, node: ast.Subscript) -> int | None:
        """A Python index into an axis of static extent, normalized; None for all others."""
        ty = self.type_of(value)
        extent = ty.shape[axis] if isinstance(ty, TensorType) else None
        if type(place) is not int or type(extent) is not int:
            return None
        if not -extent <= place < extent:
            raise self.error(
                node.slice,
                f"index {place} is outside of axis {axis}",
                f"less than {extent}",
                str(ty),
            )
        return place % extent

    def _at(
        self, value: Expr, position: Expr, axis: int, is_within: bool, node: ast.Subscript
    ) -> tuple[Expr, int]:
        """`value` at the indices `position` of an axis, and the rank of these."""
        ty = self.type_of(position)
        if not isinstance(ty, TensorType) or not dtypes.is_integer(ty.dtype):
            hint = "relay.where chooses by a mask" if "bool" in str(ty) else None
            raise self.error(node.slice, "an index is an integer", "int32 or int64", str(ty), hint)
        made = take(value, position, axis=axis, mode="fast" if is_within else "wrap")
        return self.placed(made, node, value, position), len(ty.shape)

    def _sliced(self, value: Expr, slices: list[_AxisSlice], node: ast.Subscript) -> Steps[Expr]:
        axes = [s.axis for s in slices]
        bounds = [part for s in slices for part in (s.start, s.stop, s.step)]
        if all(part is None or type(part) is int for part in bounds):
            strides = [1 if s.step is None else s.step for s in slices]
            if 0 in strides:
                raise self.error(node, "the step of a slice cannot be 0")
            begin = [_start(s.start, step) for s, step in zip(slices, strides, strict=True)]
            end = [_stop(s.stop, step) for s, step in zip(slices, strides, strict=True)]
            return self.placed(strided_slice(value, begin, end, strides, axes), node, value)
        steps = [1 if s.step is None else s.step for s in slices]
        if not all(type(step) is int and step > 0 for step in steps):
            raise self.error(
                node, "the step of a slice with computed bounds must be a positive number"
            )
        begin = yield self._bounds([0 if s.start is None else s.start for s in slices], node)
        stops = [_TO_THE_END if s.stop is None else s.stop for s in slices]
        end = yield self._bounds(stops, node)
        made = strided_slice(value, begin, end, self.constant(np.array(steps, "int64"), node), axes)
        return self.placed(made, node, value, begin, end)

    def _bounds(self, values: list[Value], node: ast.AST) -> Steps[Expr]:
        """Bounds of several axes as one tensor."""
        parts: list[Expr] = []
        for value in values:
            part = yield self.lift(value, node)
            if self.type_of(part) != TensorType((), "int64"):
                part = self.placed(cast(part, "int64"), node, part)
            parts.append(part)
        return self.placed(stack(parts, axis=0), node, *parts)


def _start(start: int | None, step: int) -> int:
    if start is not None:
        return start
    return 0 if step > 0 else _TO_THE_END


def _stop(stop: int | None, step: int) -> int:
    if stop is not None:
        return stop
    return _TO_THE_END if step > 0 else -_TO_THE_END - 1
