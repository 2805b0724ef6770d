"""The state of the generator: size, cost, effects, and expressions that may be shared.

Only expressions without effects are shared, as the order of effects must not depend on the order
of uses.
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
from relay.testing.generator.scope import Binding, Callee, GeneratorScope
from relay.testing.generator.tensors import Built
from relay.testing.generator.types import Vocabulary, random_type

# Names of variables; they need not be unique or valid identifiers.
NAMES: Final = ("x", "y", "z", "data", "x1", "let", "conv1/weight:0")
# The number of recent expressions that may be shared.
REMEMBERED: Final = 30


@frozen
class Remembered:
    """An earlier expression without effects."""

    built: Built
    ty: Type


class Ledger:
    """The state of the generator."""

    def __init__(self, choices: Choices, features: Features) -> None:
        self.choices = choices
        self.features = features
        self.callees: list[Callee] = []  # finished functions of the module
        self.left = 0  # expressions still to be made
        self.cost = 0  # of the current function so far
        self.limit = 0  # of the cost
        self.effects = 0  # number of expressions with effects
        self.memory: list[Remembered] = []

    # --- sharing

    def remember(self, built: Built, ty: Type, effects_before: int) -> None:
        if self.features.sharing and self.effects == effects_before and not is_atom(built.expr):
            self.memory.append(Remembered(built, ty))
            del self.memory[:-REMEMBERED]

    def remembered(self, goal: Type, scope: GeneratorScope) -> list[Remembered]:
        """Earlier expressions of that type whose variables are in scope."""
        fitting = [m for m in reversed(self.memory) if m.ty == goal]
        if not fitting:
            return []
        visible = scope.variables()
        return [m for m in fitting if visible.issuperset(free_vars(m.built.expr))]

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """Expressions made inside are not shared outside."""
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
        """Account separately for code that runs later; yields a function that returns its cost."""
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
        """Random function attributes without meaning."""
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
