"""A node as its converter sees it: its attributes, its inputs, and `let` for intermediate values.

    @table("Celu", since=12)
    def celu(node, data):
        alpha = node.number(node.attribute("alpha", 1.0), data)
        return relay.maximum(data, …)

Inputs are variables of known type, or constants; an omitted input is None. A converter that needs
the type of an intermediate value binds it: `step = node.let(relay.exp(data))`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from relay.errors import VALUE
from relay.frontend.common.builder import Builder, either, int64
from relay.frontend.common.elements import Elements
from relay.frontend.onnx.scope import GraphScope
from relay.frontend.onnx.types import MOST_AXES
from relay.immutable import frozen
from relay.ir.expr import Expr
from relay.ir.types import Type
from relay.op import equal

if TYPE_CHECKING:
    from relay.frontend.onnx.graph import GraphImporter, Subgraph

GIVE_SIZES = "give sizes with from_onnx(model, shape={input: (…)})"


@frozen
class Node(Builder):
    """One node of a graph while it is converted."""

    scope: GraphScope
    domain: str
    version: int  # of the operator set the model imports
    inputs: tuple[Expr | None, ...]
    outputs: tuple[str, ...]  # names; "" for an unused output
    attributes: Mapping[str, Any]  # numbers, strings, lists, arrays, subgraphs
    importer: GraphImporter

    give_sizes = GIVE_SIZES

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

    # --- types of inputs

    def declared(self) -> Type | None:
        """The type the graph declares for the first output, if any."""
        declaration = self.scope.declared.get(self.outputs[0])
        return None if declaration is None else self.importer.declared_type(declaration)

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

    def checked(self, value: Expr, condition: Expr, message: str, *more: Any) -> Expr:
        made = super().checked(value, condition, message, *more)
        if (elements := self.elements(value)) is not None:
            self.scope.elements[made] = elements
        return made
