"""The scope of an ONNX graph: names, with what the graph declares and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from onnx import NodeProto, ValueInfoProto

from relay.frontend.common.elements import Elements, elements_of_array
from relay.frontend.common.scope import ImportScope
from relay.ir.dims import Dim
from relay.ir.expr import Constant, Expr


@dataclass
class GraphScope(ImportScope):
    """The names of a graph, and the `let`s they stand for."""

    # known elements of small integer tensors: one table for all scopes
    elements: dict[Expr, Elements] = field(default_factory=dict)
    # declarations of values
    declared: dict[str, ValueInfoProto] = field(default_factory=dict)
    # whether dimensions, or axes of values, are 1
    ones: dict[Dim | tuple[Expr, int], bool] = field(default_factory=dict)
    # the nodes that read a value
    readers: dict[str, list[NodeProto]] = field(default_factory=dict)

    def is_one(self, size: Dim | tuple[Expr, int]) -> bool | None:
        """Whether a dimension is 1; None where that is not known."""
        return next((s.ones[size] for s in self.outwards() if size in s.ones), None)

    def declaration(self, name: str) -> ValueInfoProto | None:
        """The declaration of a value."""
        return next((s.declared[name] for s in self.outwards() if name in s.declared), None)

    def readers_of(self, name: str) -> list[NodeProto]:
        """The nodes that read a value."""
        return next((s.readers[name] for s in self.outwards() if name in s.readers), [])

    def known(self, value: Expr) -> Elements | None:
        """The known elements of an integer tensor of rank 0 or 1."""
        if isinstance(value, Constant):
            return elements_of_array(value.data)
        return self.elements.get(value)

    def inner(self) -> GraphScope:
        """A new scope inside this one."""
        return GraphScope(self.module, self, elements=self.elements)
