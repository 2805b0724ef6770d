"""Where a random program gets its decisions from: one integer at a time.

Everything random is drawn through `Choices.integer`, so a seeded generator and Hypothesis can both
make the decisions. The lowest integer always stands for the simplest choice; that is the direction
in which Hypothesis shrinks a failing program.
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
        """What `make` makes. Its decisions belong together, so they may be dropped together."""
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
    """From `low` to `high` of what `make` makes, each with its own decision to be there at all."""
    made: list[T] = []
    while len(made) < high and (len(made) < low or chance(choices, 60)):
        made.append(choices.unit(make))
    return made


def signed(choices: Choices, limit: int) -> int:
    """An integer from -limit to limit; the nearer to zero the simpler."""
    drawn = choices.integer(0, 2 * limit)
    return (drawn + 1) // 2 * (1 if drawn % 2 else -1)
