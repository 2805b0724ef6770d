"""Sources of random decisions.

All decisions are drawn by `Choices.integer`, from a seeded generator or from Hypothesis. The lowest
integer is the simplest choice: Hypothesis shrinks failing programs in that direction.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Choices(Protocol):
    """A source of decisions."""

    def integer(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included; `low` is the simplest."""
        ...

    def unit(self, make: Callable[[], T]) -> T:
        """The result of `make`, whose decisions may be dropped together when shrinking."""
        ...


class Seeded:
    """Decisions of a pseudo-random generator: the same seed, the same program."""

    def __init__(self, seed: int | random.Random = 0) -> None:
        self._random = seed if isinstance(seed, random.Random) else random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def unit(self, make: Callable[[], T]) -> T:
        return make()


def pick(choices: Choices, options: Sequence[T]) -> T:
    """One of `options`, the simplest first."""
    return options[choices.integer(0, len(options) - 1)] if len(options) > 1 else options[0]


def weighted(choices: Choices, options: Sequence[tuple[int, T]]) -> T:
    """One of the (weight, option), the simplest first."""
    position = choices.integer(0, sum(weight for weight, _ in options) - 1)
    for weight, option in options:
        if position < weight:
            return option
        position -= weight
    raise AssertionError("positions end with the last weight")


def chance(choices: Choices, percent: int) -> bool:
    """True in `percent` of all cases; False is simpler."""
    return choices.integer(0, 99) >= 100 - percent


def several(choices: Choices, make: Callable[[], T], low: int, high: int) -> list[T]:
    """Call `make` from `low` to `high` times, with a decision before each call."""
    made: list[T] = []
    while len(made) < high and (len(made) < low or chance(choices, 60)):
        made.append(choices.unit(make))
    return made


def signed(choices: Choices, limit: int) -> int:
    """An integer from -limit to limit; the nearer to zero the simpler."""
    drawn = choices.integer(0, 2 * limit)
    return (drawn + 1) // 2 * (1 if drawn % 2 else -1)
