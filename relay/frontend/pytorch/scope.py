"""The names of a graph of torch, with the values they stand for.

A value is an expression (a tensor), a Python number, string, bool or None, a dimension, a list of
values, or complex numbers (`Complex`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from relay.frontend.common.builder import Builder
from relay.frontend.common.scope import ImportScope
from relay.immutable import frozen
from relay.ir.dims import Symbol
from relay.ir.expr import Expr, Var


@frozen
class Complex:
    """A tensor of complex numbers: their parts along a trailing axis of 2."""

    pairs: Expr


@frozen
class Grid:
    """The numbers that a quantized tensor may have: scale * (integer - zero point)."""

    scale: Any  # a number or a scalar; a vector, if the grid is another one along an axis
    zero_point: Any
    dtype: str  # of the integers
    axis: int = -1


@dataclass
class TorchScope(ImportScope):
    """The names of a graph, and the `let`s they stand for."""

    names: dict[str, Any] = field(default_factory=dict)
    # where the shape variables of the model are found: a tensor, and one of its axes
    sources: dict[Symbol, tuple[Var, int]] = field(default_factory=dict)
    # variables of this scope for dimensions
    extents: dict[Symbol, Expr] = field(default_factory=dict)
    # scalars that are Python's numbers rather than tensors: one table for all scopes
    numbers: set[Expr] = field(default_factory=set)
    # tensors of real numbers that are quantized ones: one table for all scopes
    quantized: dict[Expr, Grid] = field(default_factory=dict)
    # values that may share memory, by what they share: one table for all scopes
    sharing: dict[Any, list[Any]] = field(default_factory=dict)
    # what the model asserts: conditions, with the error where they do not hold
    assertions: list[tuple[Builder, Expr, str]] = field(default_factory=list)

    def inner(self) -> TorchScope:
        """A new scope inside this one."""
        found = TorchScope(self.module, self, sources=self.sources)
        found.numbers, found.sharing = self.numbers, self.sharing
        found.quantized = self.quantized
        return found

    def require(self, node: Builder, condition: Expr, message: str) -> None:
        """Check a condition before there are results."""
        self.assertions.append((node, condition, message))

    def asserted(self, results: list[Any]) -> list[Any]:
        """Results that are there if all assertions of this scope hold."""
        for node, condition, message in self.assertions:
            place = next((at for at, one in enumerate(results) if isinstance(one, Expr)), None)
            if place is not None:
                results[place] = node.checked(results[place], condition, message)
        self.assertions.clear()
        return results

    def lookup(self, name: str) -> Any:
        """The value of a name, here or outside; KeyError for none."""
        for scope in self.outwards():
            if name in scope.names:
                return scope.names[name]
        raise KeyError(name)

    def extent(self, dim: Symbol) -> Expr | None:
        """The variable that holds a dimension, here or outside."""
        return next((s.extents[dim] for s in self.outwards() if dim in s.extents), None)
