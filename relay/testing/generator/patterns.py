"""Random exhaustive patterns for a type.

Chain[int32]   ->   Link(%x, Link(_, %y)),   Link(%x, _),   Empty
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from relay.immutable import frozen
from relay.ir import expr as ir
from relay.ir.types import TupleType, Type, TypeCall
from relay.testing.generator.choices import Choices, chance
from relay.testing.generator.types import Vocabulary

MAX_CLAUSES = 6


@frozen
class Case:
    """A pattern, and the variables it binds with their types."""

    pattern: ir.Pattern
    variables: tuple[tuple[ir.Var, Type], ...] = ()


class Patterns:
    """Makes patterns; `new_var` makes their variables."""

    def __init__(
        self, choices: Choices, words: Vocabulary, new_var: Callable[[Type], ir.Var]
    ) -> None:
        self.choices = choices
        self.words = words
        self.new_var = new_var

    def cover(self, ty: Type, depth: int) -> list[Case]:
        """Exhaustive cases for `ty`; their order may matter."""
        cases = self._split(ty, depth) if depth > 0 else None
        if cases is None or len(cases) > MAX_CLAUSES:
            return [self.anything(ty)]
        if len(cases) > 1 and chance(self.choices, 30):
            keep = self.choices.integer(1, len(cases) - 1)
            cases = [*cases[:keep], self.anything(ty)]
        return cases

    def anything(self, ty: Type) -> Case:
        if chance(self.choices, 60):
            var = self.new_var(ty)
            return Case(ir.PatternVar(var), ((var, ty),))
        return Case(ir.PatternWildcard())

    def fields(self, constructor: ir.Constructor, ty: TypeCall, depth: int = 0) -> list[Case]:
        """Exhaustive cases for the values of `constructor`."""
        return [
            Case(ir.PatternConstructor(constructor, tuple(p for p, _ in parts)), _joined(parts))
            for parts in self._rows(self.words.fields(constructor, ty), depth)
        ]

    def _split(self, ty: Type, depth: int) -> list[Case] | None:
        match ty:
            case TypeCall():
                constructors = self.words.definition(ty).constructors
                return list(
                    chain.from_iterable(self.fields(c, ty, depth - 1) for c in constructors)
                )
            case TupleType(fields=types):
                return [
                    Case(ir.PatternTuple(tuple(p for p, _ in parts)), _joined(parts))
                    for parts in self._rows(types, depth - 1)
                ]
        return None

    def _rows(self, types: tuple[Type, ...], depth: int) -> list[list[Row]]:
        """Exhaustive rows of patterns for tuples of values; one column is refined."""
        if not types:
            return [[]]
        column = self.choices.integer(0, len(types) - 1)
        rows = []
        for inner in self.cover(types[column], depth):
            row = []
            for i, ty in enumerate(types):
                case = inner if i == column else self.anything(ty)
                row.append((case.pattern, case.variables))
            rows.append(row)
        return rows


Row = tuple[ir.Pattern, tuple[tuple[ir.Var, Type], ...]]


def _joined(parts: list[Row]) -> tuple[tuple[ir.Var, Type], ...]:
    return tuple(chain.from_iterable(variables for _, variables in parts))
