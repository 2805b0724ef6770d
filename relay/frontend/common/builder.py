"""What converters build expressions with: `let`, the types of values, run-time checks, errors.

Values are variables of known type, or constants. A converter that needs the type of an intermediate
value binds it: `step = node.let(relay.exp(data))`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from relay.errors import FrontendError, Span, with_value
from relay.frontend.common.failing import Misfit
from relay.frontend.common.scope import ImportScope, type_of
from relay.immutable import frozen
from relay.ir.dims import Any as AnyDim
from relay.ir.dims import Dim
from relay.ir.expr import Constant, Expr, Tuple, TupleGetItem, Var, const
from relay.ir.types import TensorType, Type
from relay.op import arange, cast, dyn, require, shape_of, stack, strided_slice, take, zeros


@frozen
class Builder:
    """One operation of a model while it is converted."""

    operator: str
    span: Span
    scope: ImportScope

    # what to try where sizes must be known
    give_sizes = "give sizes with `shape`"

    # --- axes

    def axis_of(self, axis: int, rank: int, what: str = "the axis") -> int:
        """An axis of a tensor of that rank, counted from the front."""
        if not -rank <= axis < rank:
            raise self.misfit(f"{what} is out of range", f"an axis of {rank}", str(axis))
        return int(axis) % rank

    def axes_of(self, axes: Iterable[int], rank: int, *, distinct: bool = False) -> list[int]:
        """Axes of a tensor of that rank, counted from the front."""
        given = [int(axis) for axis in axes]
        if not all(-rank <= axis < rank for axis in given):
            raise self.misfit("an axis is out of range", f"axes of {rank}", str(given))
        found = [axis % rank for axis in given]
        if distinct and len(set(found)) < len(found):
            raise self.misfit("an axis is named twice", "different axes", str(given))
        return found

    # --- types

    def type_of(self, value: Expr) -> Type:
        """The type of an input, or of a value bound by `let`."""
        return type_of(value)

    def tensor_type(self, value: Expr) -> TensorType:
        ty = self.type_of(value)
        if not isinstance(ty, TensorType):
            raise self.misfit("an input is no tensor", expected="a tensor", found=str(ty))
        return ty

    def shape(self, value: Expr) -> tuple[Dim, ...]:
        return self.tensor_type(value).shape

    def rank(self, value: Expr) -> int:
        return len(self.shape(value))

    def must_have_axes(self, value: Expr, count: int, what: str) -> None:
        """Refuse an input of another rank."""
        if self.rank(value) != count:
            message = f"{what} have the wrong number of axes"
            raise self.misfit(message, str(count), str(self.type_of(value)))

    def dtype(self, value: Expr) -> str:
        return self.tensor_type(value).dtype

    def static_shape(self, value: Expr, what: str) -> tuple[int, ...]:
        """The shape of a tensor that must not have dynamic dimensions."""
        found = static(self.shape(value))
        if found is None:
            message = f"{what} must have a shape of numbers"
            raise self.refused(message, found=str(self.type_of(value)), hint=self.give_sizes)
        return found

    def static_extent(self, value: Expr, axis: int, what: str) -> int:
        """The extent of an axis that must be there and not be dynamic."""
        shape = self.shape(value)
        if not -len(shape) <= axis < len(shape):
            message = f"{what} is the extent of axis {axis}, which a value does not have"
            raise self.refused(message, found=str(self.type_of(value)))
        extent = shape[axis]
        if not isinstance(extent, int):
            message = f"{what} must be known before the model runs"
            raise self.refused(message, found=str(self.type_of(value)), hint=self.give_sizes)
        return extent

    def constant(self, value: Expr | None) -> np.ndarray | None:
        """The elements of a constant, otherwise None."""
        return value.data.array if isinstance(value, Constant) else None

    # --- building

    def let(self, value: Expr, name: str = "", declared: Type | None = None) -> Expr:
        """A variable bound to a value, so that its type is known; constants are folded.

        `declared` is a type that says more than inference finds; it is checked at run time.
        """
        return self.scope.bind(value, name or self.operator, self.span, declared)

    def declare(self, value: Expr, shape: Sequence[Dim | None], dtype: str) -> Expr:
        """A variable bound to a tensor of that shape, which is checked at run time; an extent that
        is None is unknown."""
        extents = tuple(AnyDim() if one is None else one for one in shape)
        return self.let(value, declared=TensorType(extents, dtype))

    def fields(self, value: Expr, count: int) -> list[Expr]:
        """Variables bound to the fields of a tuple."""
        whole = self.let(value)
        return [self.let(TupleGetItem(whole, place)) for place in range(count)]

    def checked(
        self,
        value: Expr,
        condition: Expr,
        message: str,
        expected: str = "",
        shown: str = "",
        found: Expr | None = None,
        bound: Expr | None = None,
    ) -> Expr:
        """A value with a run-time check (`relay.require`); one that fails on constants is refused.

        `{}` in `shown` is the scalar `found`, in `expected` the scalar `bound`.
        """
        test = self.let(condition)
        known = self.constant(test)
        if known is not None:
            if known.item():
                return value
            numbers = [self.constant(one) if one is not None else None for one in (bound, found)]
            texts = [
                with_value(text, 0 if number is None else number.item())
                for text, number in zip((expected, shown), numbers, strict=True)
            ]
            raise self.misfit(message, *texts)
        given = [None if one is None else self.let(one) for one in (found, bound)]
        text = f"{self.operator}: {message}"
        return self.let(require(value, test, text, expected, shown, *given))

    def as_dtype(self, value: Expr, dtype: str) -> Expr:
        """A tensor converted to an element type, if it has another one."""
        return value if self.dtype(value) == dtype else self.let(cast(value, dtype))

    def number(self, value: float | int | bool, like: Expr) -> Expr:
        """A scalar of the element type of another value."""
        return const(value, self.dtype(like))

    def size(self, value: Expr, axis: int) -> Expr:
        """The extent of an axis as an int64 scalar."""
        extent = self.shape(value)[axis]
        if isinstance(extent, int):
            return self.let(int64(extent))
        sizes = shape_of(value, "int64")
        return self.let(take(sizes, int64(axis % self.rank(value)), axis=0))

    def extents(self, value: Expr, first: int, last: int) -> Expr:
        """The extents of the axes from `first` to `last` as an int64 vector."""
        return strided_slice(shape_of(value, "int64"), [first], [last], axes=(0,))

    def positions(self, value: Expr, axis: int) -> Expr:
        """0, 1, … along an axis of a tensor."""
        return self.declare(
            arange(self.size(value, axis), dtype="int64"), (self.shape(value)[axis],), "int64"
        )

    def extent(self, dim: Dim) -> Expr | None:
        """A dimension as an int64 scalar; None where no tensor in scope has it."""
        if isinstance(dim, int):
            return self.let(int64(dim))
        for value in self.scope.everything():
            ty = value.type_annotation if isinstance(value, Var) else None
            if isinstance(ty, TensorType) and dim in ty.shape and not isinstance(dim, AnyDim):
                return self.size(value, ty.shape.index(dim))
        return None

    def zeros(self, shape: Sequence[Dim], dtype: str) -> Expr:
        """A tensor of zeros; a dimension that no tensor in scope has is 0."""
        if (numbers := static(shape)) is not None:
            return self.let(zeros(numbers, dtype))
        zero = int64(0)
        sizes = [self.extent(one) or zero for one in shape]
        known = [None if size is zero else one for one, size in zip(shape, sizes, strict=True)]
        return self.declare(dyn.zeros(stack(Tuple(tuple(sizes)), 0), dtype), known, dtype)

    def zeros_along(self, value: Expr, axis: int, rest: Sequence[int], dtype: str) -> Expr:
        """A tensor of zeros whose first axis has the extent of an axis of another tensor."""
        extent = self.shape(value)[axis]
        if isinstance(extent, int):
            return self.zeros((extent, *rest), dtype)
        sizes = Tuple((self.size(value, axis), *map(int64, rest)))
        return self.declare(dyn.zeros(stack(sizes, 0), dtype), (extent, *rest), dtype)

    def inside(self) -> Self:
        """The same operation in a new scope inside its own."""
        return replace(self, scope=self.scope.inner())

    # --- errors

    def refused(
        self,
        message: str,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> FrontendError:
        """The error to raise where a node cannot be converted."""
        text = f"{self.operator}: {message}"
        return FrontendError.of(text, self.span, expected, found, hint)

    def misfit(
        self,
        message: str,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> FrontendError:
        """The error to raise where what a node is given does not fit it: a branch that is never
        taken may have such a node."""
        return Misfit(self.refused(message, expected, found, hint).diagnostics)


def static(extents: Sequence[Dim | None] | None) -> tuple[int, ...] | None:
    """Extents as numbers; None if one of them is dynamic, or they are not known."""
    found = tuple(one for one in extents or () if isinstance(one, int))
    return found if extents is not None and len(found) == len(extents) else None


def int64(value: Any) -> Constant:
    """A constant of 64-bit integers: sizes, positions."""
    return const(value, "int64")


def either(options: Collection[str]) -> str:
    """a, b or c"""
    *others, last = options
    return f"{', '.join(others)} or {last}" if others else last
