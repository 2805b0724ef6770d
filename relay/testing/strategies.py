"""Hypothesis strategies for random programs.

@given(programs(size=30, references=False))
def test_something(program):
    module, inputs = program
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from relay.ir.module import IRModule
from relay.testing.generate import random_module
from relay.testing.generator.features import Features
from relay.testing.generator.values import random_inputs

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

T = TypeVar("T")


class Drawn:
    """Decisions of Hypothesis."""

    def __init__(self, draw: DrawFn) -> None:
        # imported here because Hypothesis is an optional dependency
        from hypothesis.strategies import builds, integers

        self._draw = draw
        self._integers = integers
        self._builds = builds

    def integer(self, low: int, high: int) -> int:
        return self._draw(self._integers(low, high))

    def unit(self, make: Callable[[], T]) -> T:
        return self._draw(self._builds(make))


def modules(features: Features | None = None, **switches: Any) -> SearchStrategy[IRModule]:
    """Modules with a `main`; keywords are those of `Features`."""
    from hypothesis.strategies import composite

    @composite
    def strategy(draw: DrawFn) -> IRModule:
        return random_module(Drawn(draw), features, **switches)

    return strategy()


def programs(
    features: Features | None = None, **switches: Any
) -> SearchStrategy[tuple[IRModule, list[Any]]]:
    """Modules, each with arguments for its `main`."""
    from hypothesis.strategies import composite

    @composite
    def strategy(draw: DrawFn) -> tuple[IRModule, list[Any]]:
        choices = Drawn(draw)
        module = random_module(choices, features, **switches)
        return module, random_inputs(module, choices)

    return strategy()
