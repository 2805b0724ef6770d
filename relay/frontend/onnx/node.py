"""A node as its converter sees it: its attributes, its inputs, and `let` for intermediate values.

    @table("Celu", since=12)
    def celu(node, data):
        alpha = node.number(node.attribute("alpha", 1.0), data)
        return relay.maximum(data, …)

Inputs are variables of known type, or constants; an omitted input is None. A converter that needs
the type of an intermediate value binds it: `step = node.let(relay.exp(data))`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from relay.errors import VALUE, FrontendError, Span, with_value
from relay.frontend.onnx.elements import Elements, static
from relay.frontend.onnx.scope import GraphScope, type_of
from relay.frontend.onnx.types import MOST_AXES
from relay.immutable import frozen
from relay.ir.dims import Any as AnyDim
from relay.ir.dims import Dim
from relay.ir.expr import Constant, Expr, Tuple, TupleGetItem, Var, const
from relay.ir.types import TensorType, Type
from relay.op import arange, cast, dyn, equal, require, shape_of, stack, strided_slice, take, zeros

if TYPE_CHECKING:
    from relay.frontend.onnx.graph import GraphImporter, Subgraph

GIVE_SIZES = "give sizes with from_onnx(model, shape={input: (…)})"


@frozen
class Node:
    """One node of a graph while it is converted."""

    operator: str
    domain: str
    version: int  # of the operator set the model imports
    inputs: tuple[Expr | None, ...]
    outputs: tuple[str, ...]  # names; "" for an unused output
    attributes: Mapping[str, Any]  # numbers, strings, lists, arrays, subgraphs
    span: Span
    scope: GraphScope
    importer: GraphImporter

    # --- attributes

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute; strings as `str`, tensors as arrays."""
        return self.attributes.get(name, default)

    def required(self, name: str) -> Any:
        """The value of a required attribute."""
        if name not in self.attributes:
            raise self.refused(f"attribute `{name}` is missing")
        return self.attributes[name]

    def choice(
        self, name: str, default: str | None, options: Collection[str], what: str = ""
    ) -> str:
        """An attribute with one of several values; required where it has no default."""
        given = self.required(name) if default is None else self.attribute(name, default)
        if given not in options:
            raise self.refused(f"there is no such {what or name}", either(options), str(given))
        return str(given)

    def subgraph(self, name: str) -> Subgraph:
        """An attribute that is a graph."""
        found: Subgraph = self.required(name)
        return found

    def numbers(self, name: str, count: int, default: int = 0) -> list[int]:
        """A list attribute of that length."""
        given = self.attribute(name) or [default] * count
        if len(given) != count:
            message = f"attribute `{name}` has the wrong length"
            raise self.refused(message, str(count), str(len(given)))
        return [int(one) for one in given]

    # --- axes

    def axis(self, data: Expr, default: int = 0, name: str = "axis") -> int:
        """An axis of data that an attribute names, counted from the front."""
        return self.axis_of(self.attribute(name, default), self.rank(data), f"`{name}`")

    def axis_of(self, axis: int, rank: int, what: str = "the axis") -> int:
        """An axis of a tensor of that rank, counted from the front."""
        if not -rank <= axis < rank:
            raise self.refused(f"{what} is out of range", f"an axis of {rank}", str(axis))
        return int(axis) % rank

    def axes_of(self, axes: Iterable[int], rank: int, *, distinct: bool = False) -> list[int]:
        """Axes of a tensor of that rank, counted from the front."""
        given = [int(axis) for axis in axes]
        if not all(-rank <= axis < rank for axis in given):
            raise self.refused("an axis is out of range", f"axes of {rank}", str(given))
        found = [axis % rank for axis in given]
        if distinct and len(set(found)) < len(found):
            raise self.refused("an axis is named twice", "different axes", str(given))
        return found

    # --- types of inputs

    def type_of(self, value: Expr) -> Type:
        """The type of an input, or of a value bound by `let`."""
        return type_of(value)

    def declared(self) -> Type | None:
        """The type the graph declares for the first output, if any."""
        declaration = self.scope.declared.get(self.outputs[0])
        return None if declaration is None else self.importer.declared_type(declaration)

    def tensor_type(self, value: Expr) -> TensorType:
        ty = self.type_of(value)
        if not isinstance(ty, TensorType):
            raise self.refused("an input is no tensor", expected="a tensor", found=str(ty))
        return ty

    def shape(self, value: Expr) -> tuple[Dim, ...]:
        return self.tensor_type(value).shape

    def rank(self, value: Expr) -> int:
        return len(self.shape(value))

    def must_have_axes(self, value: Expr, count: int, what: str) -> None:
        """Refuse an input of another rank."""
        if self.rank(value) != count:
            message = f"{what} have the wrong number of axes"
            raise self.refused(message, str(count), str(self.type_of(value)))

    def dtype(self, value: Expr) -> str:
        return self.tensor_type(value).dtype

    def static_shape(self, value: Expr, what: str) -> tuple[int, ...]:
        """The shape of a tensor that must not have dynamic dimensions."""
        found = static(self.shape(value))
        if found is None:
            message = f"{what} must have a shape of numbers"
            raise self.refused(message, found=str(self.type_of(value)), hint=GIVE_SIZES)
        return found

    def static_extent(self, value: Expr, axis: int, what: str) -> int:
        """The extent of an axis that must not be dynamic."""
        extent = self.shape(value)[axis]
        if not isinstance(extent, int):
            message = f"{what} must be known before the model runs"
            raise self.refused(message, found=str(self.type_of(value)), hint=GIVE_SIZES)
        return extent

    def constant(self, value: Expr | None) -> np.ndarray | None:
        """The elements of a constant, otherwise None."""
        return value.data.array if isinstance(value, Constant) else None

    def integers(self, value: Expr | None, what: str) -> list[int]:
        """The integers of an input that must be constant: axes, sizes."""
        found = self.constant(value)
        if found is None:
            message = f"{what} must be known before the model runs"
            raise self.refused(message, hint="make it an initializer, or a constant")
        return [int(one) for one in found.reshape(-1)]

    def length(self, value: Expr, what: str) -> int:
        """The number of elements of a tensor of rank 1, which must not be dynamic."""
        shape = self.shape(value)
        if len(shape) == 1 and isinstance(shape[0], int) and shape[0] <= MOST_AXES:
            return shape[0]
        raise self.refused(
            f"{what} must be a list of so many elements",
            expected=f"one axis, of an extent that is a number up to {MOST_AXES}",
            found=str(self.type_of(value)),
            hint="or an output that is declared with a number of axes",
        )

    def has_dynamic_length(self, value: Expr) -> bool:
        """Whether this is a tensor of rank 1 with a dynamic extent."""
        shape = self.shape(value)
        return len(shape) == 1 and not isinstance(shape[0], int)

    def of_length(self, value: Expr, count: int, what: str) -> Expr:
        """A tensor of rank 1 with `count` elements; a dynamic extent is checked at run time."""
        if self.has_dynamic_length(value) and 0 <= count <= MOST_AXES:
            dtype, found = self.dtype(value), self.size(value, 0)
            whole, fits = self.declare(value, (None,), dtype), equal(found, int64(count))
            message = f"{what} must be a list of so many elements"
            whole = self.checked(whole, fits, message, str(count), VALUE, found)
            return self.declare(whole, (count,), dtype)
        if (length := self.length(value, what)) != count:
            raise self.refused(f"{what} have the wrong length", f"{count}", f"{length}")
        return value

    def elements(self, value: Expr) -> Elements | None:
        """What is known of the elements of an integer tensor; they may be named dimensions."""
        return self.scope.known(value)

    # --- building

    def let(self, value: Expr, name: str = "", declared: Type | None = None) -> Expr:
        """A variable bound to a value, so that its type is known; constants are folded.

        `declared` is a type that says more than inference finds; it is checked at run time.
        """
        given = name or next(filter(None, self.outputs), self.operator)
        return self.scope.bind(value, given, self.span, declared)

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
            raise self.refused(message, *texts)
        given = [None if one is None else self.let(one) for one in (found, bound)]
        text = f"{self.operator}: {message}"
        made = self.let(require(value, test, text, expected, shown, *given))
        if (elements := self.elements(value)) is not None:
            self.scope.elements[made] = elements
        return made

    def as_dtype(self, value: Expr, dtype: str) -> Expr:
        """A tensor converted to an element type, if it has another one."""
        return value if self.dtype(value) == dtype else self.let(cast(value, dtype))

    def number(self, value: float | int | bool, like: Expr) -> Constant:
        """A scalar of the element type of another value."""
        return const(value, self.dtype(like))

    def size(self, value: Expr, axis: int) -> Expr:
        """The extent of an axis as an int64 scalar."""
        extent = self.shape(value)[axis]
        if isinstance(extent, int):
            return self.importer.constant(np.array(extent, "int64"))
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

    def inside(self) -> Node:
        """The node in a new scope inside its own."""
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


def int64(value: Any) -> Constant:
    """A constant of 64-bit integers: sizes, positions."""
    return const(value, "int64")


def either(options: Collection[str]) -> str:
    """a, b or c"""
    *others, last = options
    return f"{', '.join(others)} or {last}" if others else last
