"""Sizes of torch (`SymInt`) as dimensions: one shape variable per symbol that inputs determine.

4*s0 + 1        4 * s0 + 1
s0 // 2         s0 // 2
u0              unknown: a number that the program computes, as in x[: n.item()]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from relay import tree
from relay.ir import dims
from relay.ir.dims import Dim
from relay.ir.types import ShapeVar, TypeVar


@dataclass
class Sizes:
    """The shape variables of a model, by the names of torch's symbols."""

    variables: dict[str, TypeVar] = field(default_factory=dict)

    def declare(self, name: str) -> TypeVar:
        """The variable of a symbol that an input determines."""
        return self.variables.setdefault(name, ShapeVar(name))

    def dim(self, size: Any) -> Dim | None:
        """A size as a dimension; None where inputs do not determine it."""
        if isinstance(size, torch.SymInt):
            return self.of_expression(size.node.expr)
        return int(size)

    def of_expression(self, expression: Any) -> Dim | None:
        """An expression of SymPy as a dimension."""
        found: Dim | None = tree.run(self._steps(expression))
        return None if isinstance(found, dims.Any) else found

    def _steps(self, expression: Any) -> tree.Steps[Dim | None]:
        if expression.is_Integer:
            return int(expression)
        if expression.is_Symbol:
            return self.variables.get(expression.name)
        args: list[Dim] = []
        for one in expression.args:
            value = yield self._steps(one)
            if value is None:
                return None
            args.append(value)
        return _applied(type(expression).__name__, args)


def _applied(function: str, args: list[Dim]) -> Dim | None:
    """A function of SymPy or of torch applied to dimensions; None for one that is not known."""
    match function, args:
        case "Add", _:
            return sum(args[1:], args[0])
        case "Mul", _:
            return _product(args)
        case "Pow", [base, int(power)] if power >= 0:
            return _product([base] * power)
        case (("FloorDiv" | "CleanDiv"), [one, int(other)]) if other > 0:
            return dims.floor_divide(one, other)
        case (("Mod" | "PythonMod"), [one, int(other)]) if other > 0:
            return dims.remainder(one, other)
        case "Max", [one, other]:
            return dims.maximum(one, other)
        case "Min", [one, other]:
            return dims.minimum(one, other)
    return None


def _product(args: Iterable[Dim]) -> Dim:
    found: Dim = 1
    for one in args:
        found = dims.multiply(found, one)
    return found
