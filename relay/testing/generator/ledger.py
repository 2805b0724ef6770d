"""The account of a random program as it is written: its size, its cost, its effects, its parts.

An expression that has no effects can be used again somewhere else, which makes a program a graph.
One that has is used in one place only: when it happens would depend on who asks first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from relay.immutable import frozen
from relay.ir.attrs import DictAttrs
from relay.ir.expr import Expr, Var, is_atom
from relay.ir.types import Type
from relay.ir.variables import free_vars
from relay.testing.generator.choices import Choices, chance, pick, several
from relay.testing.generator.features import Features
from relay.testing.generator.scope import Binding, Callee, Scope
from relay.testing.generator.tensors import Built
from relay.testing.generator.types import Vocabulary, random_type

# Two variables may have the same name, and names come from anywhere.
NAMES: Final = ("x", "y", "z", "data", "x1", "let", "conv1/weight:0")
# So many of the newest expressions can be used once more.
REMEMBERED: Final = 30


@frozen
class Remembered:
    """An expression without effects that was made earlier."""

    built: Built
    ty: Type


class Ledger:
    """What has been written so far."""

    def __init__(self, choices: Choices, features: Features) -> None:
        self.choices = choices
        self.features = features
        self.callees: list[Callee] = []  # the functions of the module that are done
        self.left = 0  # how many more expressions there should be
        self.cost = 0  # of what has been written since the beginning of the function
        self.limit = 0  # of the cost
        self.effects = 0  # a count of expressions that have some
        self.memory: list[Remembered] = []

    # --- using an expression once more

    def remember(self, built: Built, ty: Type, effects_before: int) -> None:
        if self.features.sharing and self.effects == effects_before and not is_atom(built.expr):
            self.memory.append(Remembered(built, ty))
            del self.memory[:-REMEMBERED]

    def remembered(self, goal: Type, scope: Scope) -> list[Remembered]:
        """Earlier expressions of that type which mean something here."""
        fitting = [m for m in reversed(self.memory) if m.ty == goal]
        if not fitting:
            return []
        visible = scope.variables()
        return [m for m in fitting if visible.issuperset(free_vars(m.built.expr))]

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """What is made inside is not used outside."""
        kept = list(self.memory)
        try:
            yield
        finally:
            self.memory = kept

    # --- effects and cost

    def use(self, binding: Binding) -> Expr:
        if not binding.pure:
            self.effects += 1
        return binding.var

    @contextmanager
    def costing_at_most(self, limit: int) -> Iterator[Callable[[], int]]:
        """What is written inside runs later, if at all; the yielded function tells its cost."""
        before, before_limit = self.cost, self.limit
        self.cost, self.limit = 0, limit
        spent = 0
        try:
            yield lambda: spent
        finally:
            spent = self.cost
            self.cost, self.limit = before + 1, before_limit

    # --- attributes, types and variables

    def attributes(self) -> DictAttrs:
        """Attributes of a function, which mean nothing to anybody."""
        if not chance(self.choices, 5):
            return DictAttrs()
        values = [1, 'a "note"', 2.5, True, None, (1, 2), (), ("a", (1.0, False)), {"b": 3}]
        return DictAttrs({"note": pick(self.choices, values), "testing.level": -1})

    def types(self, words: Vocabulary, low: int, high: int) -> list[Type]:
        return several(self.choices, lambda: random_type(self.choices, words, 1), low, high)

    def variable(self, ty: Type, words: Vocabulary, annotated: bool, name: str = "") -> Var:
        return Var(name or pick(self.choices, NAMES), words.shown(ty) if annotated else None)

    def parameter(self, ty: Type, words: Vocabulary) -> Var:
        return self.variable(ty, words, True)

    def pattern_variable(self, words: Vocabulary, ty: Type) -> Var:
        return self.variable(ty, words, chance(self.choices, 20))
