"""A node of a graph as its converter sees it.

    @table("LeakyRelu")
    def leaky_relu(node, features: Expr) -> Expr:
        return op.nn.leaky_relu(features, alpha=node.real("alpha", 0.2))

Inputs are variables of known type, or constants. Attributes may be left out in a file where they
have their defaults.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from relay import op
from relay.errors import DiagnosticError
from relay.frontend.common.known_elements import KnownElements, SizedBuilder
from relay.frontend.common.scope import ImportScope
from relay.frontend.tensorflow.messages import NodeInfo
from relay.frontend.tensorflow.types import element_type
from relay.immutable import frozen
from relay.ir.expr import Expr

if TYPE_CHECKING:
    from relay.frontend.tensorflow.graph import Context, GraphImporter


@frozen
class Node(SizedBuilder):
    """One node while it is converted."""

    info: NodeInfo
    importer: GraphImporter
    context: Context

    @property
    def known(self) -> KnownElements:
        return self.importer.known

    # --- attributes

    def attribute(self, name: str, default: Any, kind: type | tuple[type, ...]) -> Any:
        """An attribute of a type."""
        try:
            found = self.info.attribute(name, default)
        except DiagnosticError as error:
            raise self.refused(f"attribute `{name}`: {error.diagnostics[0].message}") from None
        if isinstance(found, list) and not found and kind is not list:
            return default
        if not isinstance(found, kind):
            expected = kind.__name__ if isinstance(kind, type) else None
            text = f"attribute `{name}` is of another type"
            raise self.refused(text, expected, repr(found)[:80])
        return found

    def text(self, name: str, default: str = "") -> str:
        return str(self.attribute(name, default, str))

    def flag(self, name: str, default: bool = False) -> bool:
        return bool(self.attribute(name, default, bool))

    def integer(self, name: str, default: int = 0) -> int:
        return int(self.attribute(name, default, int))

    def real(self, name: str, default: float = 0.0) -> float:
        return float(self.attribute(name, default, (int, float)))

    def integers(self, name: str, default: Sequence[int] = ()) -> list[int]:
        found = self.attribute(name, list(default), list)
        if not all(isinstance(one, int) for one in found):
            raise self.refused(f"attribute `{name}` is no list of integers", found=str(found)[:80])
        return found or list(default)

    def named_type(self, name: str = "T", default: str = "float32") -> str:
        """An element type that an attribute names."""
        return element_type(str(self.attribute(name, default, str)))

    def choice(self, name: str, default: str, options: Sequence[str]) -> str:
        """An attribute with one of the given string values."""
        found = self.text(name, default)
        if found not in options:
            raise self.refused(f"attribute `{name}` is not understood", ", ".join(options), found)
        return found

    # --- inputs

    def axis(self, value: Expr, rank: int, what: str = "the axis") -> int:
        """A constant axis of a tensor of that rank."""
        given = self.numbers(value, what)
        if len(given) != 1:
            raise self.refused(f"{what} is one number", "1", str(len(given)))
        return self.axis_of(int(given[0]), rank, what)

    def scalar(self, value: Expr) -> Expr:
        """A tensor of one element without axes."""
        return value if self.rank(value) == 0 else self.let(op.reshape(value, ()))

    def within(self, scope: ImportScope) -> Node:
        """The same node in another scope."""
        return replace(self, scope=scope)
