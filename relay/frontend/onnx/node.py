"""A node as its converter sees it: attributes, questions about its inputs, and names for steps.

    @table("Celu", since=12)
    def celu(node, data):
        alpha = node.number(node.attribute("alpha", 1.0), data)
        return relay.maximum(data, …)

Inputs are variables of known type, or constants; one that is left out is None. A converter that
needs the type of a step on the way gives the step a name: `step = node.let(relay.exp(data))`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relay.errors import VALUE, Diagnostic, FrontendError, Span, with_value
from relay.frontend.onnx.elements import Elements
from relay.frontend.onnx.scope import Scope, type_of
from relay.frontend.onnx.types import MOST_AXES
from relay.immutable import frozen
from relay.ir.dims import Any as AnyDim
from relay.ir.dims import Dim
from relay.ir.expr import Constant, Expr, Tuple, Var, const
from relay.ir.types import TensorType, Type
from relay.op import dyn, equal, require, shape_of, stack, take, zeros

if TYPE_CHECKING:
    from relay.frontend.onnx.graph import GraphImporter, Subgraph


@frozen
class Node:
    """One node of a graph, while it is translated."""

    operator: str
    domain: str
    version: int  # of the operator set that the model imports
    inputs: tuple[Expr | None, ...]
    outputs: tuple[str, ...]  # names; an output that nobody wants has none
    attributes: Mapping[str, Any]  # numbers, strings, lists, arrays, subgraphs
    span: Span
    scope: Scope
    importer: GraphImporter

    # --- attributes

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute; strings as `str`, tensors as arrays."""
        return self.attributes.get(name, default)

    def required(self, name: str) -> Any:
        """The value of an attribute that has to be there."""
        if name not in self.attributes:
            raise self.refused(f"attribute `{name}` is missing")
        return self.attributes[name]

    def subgraph(self, name: str) -> Subgraph:
        """An attribute that is a graph."""
        found: Subgraph = self.required(name)
        return found

    # --- what is known of inputs

    def type_of(self, value: Expr) -> Type:
        """The type of an input, or of a step that has a name."""
        return type_of(value)

    def declared(self) -> Type | None:
        """The type that the graph says its first output has, where it does."""
        said = self.scope.declared.get(self.outputs[0])
        return None if said is None else self.importer.declared_type(said)

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
        """Refuse an input with another number of axes."""
        if self.rank(value) != count:
            raise self.refused(
                f"{what} have the wrong number of axes",
                expected=f"{count}",
                found=str(self.type_of(value)),
            )

    def numbers(self, name: str, count: int, default: int = 0) -> list[int]:
        """A list attribute with a number for each of several things."""
        given = self.attribute(name) or [default] * count
        if len(given) != count:
            raise self.refused(
                f"attribute `{name}` has the wrong length",
                expected=f"{count}",
                found=f"{len(given)}",
            )
        return [int(one) for one in given]

    def dtype(self, value: Expr) -> str:
        return self.tensor_type(value).dtype

    def static_shape(self, value: Expr, what: str) -> tuple[int, ...]:
        """The shape of what must have a shape of numbers."""
        shape = self.shape(value)
        if not all(isinstance(one, int) for one in shape):
            raise self.refused(
                f"{what} must have a shape of numbers",
                found=str(self.type_of(value)),
                hint="give sizes with from_onnx(model, shape={input: (…)})",
            )
        return tuple(int(one) for one in shape)  # type: ignore[arg-type]

    def constant(self, value: Expr | None) -> np.ndarray | None:
        """The elements of an input that is constant, otherwise None."""
        return value.data.array if isinstance(value, Constant) else None

    def must_be_constant(self, value: Expr | None, what: str) -> np.ndarray:
        """The elements of an input that has to be constant."""
        found = self.constant(value)
        if found is None:
            raise self.refused(
                f"{what} must be known before the model runs",
                hint="make it an initializer, or a constant",
            )
        return found

    def integers(self, value: Expr | None, what: str) -> list[int]:
        """The integers of an input that has to be constant: axes, sizes."""
        return [int(one) for one in self.must_be_constant(value, what).reshape(-1)]

    def length(self, value: Expr, what: str) -> int:
        """How many elements a list has, which must be known: a tensor of one axis."""
        shape = self.shape(value)
        if len(shape) == 1 and isinstance(shape[0], int) and shape[0] <= MOST_AXES:
            return shape[0]
        raise self.refused(
            f"{what} must be a list of so many elements",
            expected=f"one axis, of an extent that is a number up to {MOST_AXES}",
            found=str(self.type_of(value)),
            hint="or an output that is declared with a number of axes",
        )

    def has_open_length(self, value: Expr) -> bool:
        """Whether a list has as many elements as a run finds."""
        shape = self.shape(value)
        return len(shape) == 1 and not isinstance(shape[0], int)

    def of_length(self, value: Expr, count: int, what: str) -> Expr:
        """A list that must have so many elements; where its length is open, a run looks at it."""
        if self.has_open_length(value) and 0 <= count <= MOST_AXES:
            dtype, found = self.dtype(value), self.size(value, 0)
            whole = self.checked(
                self.let(value, declared=TensorType((AnyDim(),), dtype)),
                equal(found, const(count, "int64")),
                f"{what} must be a list of so many elements",
                f"{count}",
                VALUE,
                found,
            )
            return self.let(whole, declared=TensorType((count,), dtype))
        if (length := self.length(value, what)) != count:
            raise self.refused(f"{what} have the wrong length", f"{count}", f"{length}")
        return value

    def elements(self, value: Expr) -> Elements | None:
        """What is known of the elements of a tensor of integers; dimensions may have names."""
        return self.scope.known(value)

    # --- building

    def let(self, value: Expr, name: str = "", declared: Type | None = None) -> Expr:
        """A name for a step, so that its type is known; constants are computed at once.

        `declared` says more about the type than inference finds out, and is checked in every run.
        """
        given = name or next(filter(None, self.outputs), self.operator)
        return self.scope.bind(value, given, self.span, declared)

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
        """A value under a condition that a run looks at: what `refused` says of constants.

        `{}` in `shown` is the scalar `found`, in `expected` the scalar `bound` (`relay.require`).
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

    def number(self, value: float | int | bool, like: Expr) -> Constant:
        """A scalar of the element type of another value."""
        return const(value, self.dtype(like))

    def size(self, value: Expr, axis: int) -> Expr:
        """How long a tensor is along an axis, as a scalar of 64 bits."""
        extent = self.shape(value)[axis]
        if isinstance(extent, int):
            return self.importer.constant(np.array(extent, "int64"))
        sizes = shape_of(value, "int64")
        return self.let(take(sizes, const(axis % self.rank(value), "int64"), axis=0))

    def extent(self, dim: Dim) -> Expr | None:
        """A dimension as a scalar of 64 bits; None where nothing has it for its size."""
        if isinstance(dim, int):
            return self.let(const(dim, "int64"))
        for value in self.scope.everything():
            ty = value.type_annotation if isinstance(value, Var) else None
            if isinstance(ty, TensorType) and dim in ty.shape and not isinstance(dim, AnyDim):
                return self.size(value, ty.shape.index(dim))
        return None

    def zeros(self, shape: Sequence[Dim], dtype: str) -> Expr:
        """A tensor of zeros; what is not known of its shape is 0."""
        numbers = [one for one in shape if isinstance(one, int)]
        if len(numbers) == len(shape):
            return self.let(zeros(tuple(numbers), dtype))
        none = const(0, "int64")
        sizes = [self.extent(one) or none for one in shape]
        known = [AnyDim() if size is none else one for one, size in zip(shape, sizes, strict=True)]
        return self.let(
            dyn.zeros(stack(Tuple(tuple(sizes)), 0), dtype),
            declared=TensorType(tuple(known), dtype),
        )

    def zeros_along(self, value: Expr, axis: int, rest: Sequence[int], dtype: str) -> Expr:
        """A tensor of zeros, as long as another one is along an axis."""
        extent = self.shape(value)[axis]
        if isinstance(extent, int):
            return self.zeros((extent, *rest), dtype)
        sizes = (self.size(value, axis), *(const(one, "int64") for one in rest))
        return self.let(
            dyn.zeros(stack(Tuple(sizes), 0), dtype), declared=TensorType((extent, *rest), dtype)
        )

    # --- errors

    def refused(
        self,
        message: str,
        expected: str | None = None,
        found: str | None = None,
        hint: str | None = None,
    ) -> FrontendError:
        """What to raise where a node cannot be translated."""
        return FrontendError(
            Diagnostic(f"{self.operator}: {message}", self.span, expected, found, hint)
        )


Converted = Expr | Sequence[Expr]
