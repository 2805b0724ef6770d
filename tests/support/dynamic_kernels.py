"""Run the kernels of primitive functions with dynamic dimensions.

    function = DynamicFunction(lower_dynamic(function, constant, target), target)
    function.run([x, y])

As a compiled program does: reads the sizes, checks the requirements, chooses a variant and runs
its kernels, in the guarded memory of `tests.support.kernels`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from relay.errors import Diagnostic, EvaluationError
from relay.extents import has_room
from relay.lower.dynamic import Dynamic, ElementOf, Requirement, Variable, Variant
from relay.lower.sizes import evaluate
from relay.target.target import Target
from tests.support.kernels import Batch, Memory


class DynamicFunction:
    """A primitive function with dynamic dimensions, compiled once and loaded."""

    def __init__(self, made: Dynamic, target: Target) -> None:
        self.made = made
        self.parts = [*(one.lowered for one in made.searches)]
        self.parts += [one.lowered for one in made.variants]
        self.batch = Batch(self.parts, target)

    def run(
        self, inputs: Sequence[np.ndarray], *, threads: int = 1, memory: Memory | None = None
    ) -> tuple[np.ndarray, ...]:
        """The results; EvaluationError if a requirement on the sizes does not hold."""
        made = self.made
        sizes = {one.name: _read(one, inputs) for one in made.variables}
        _check(made.required, sizes)
        for number, search in enumerate(made.searches):
            room = [(len(search.names),)]
            (found,) = self.batch.run(number, inputs, sizes=sizes, shapes=room).results
            sizes |= dict(zip(search.names, found.tolist(), strict=True))
            _check(search.required, sizes)
        number, variant = self.choose(sizes)
        _check(variant.required, sizes)
        for shape in variant.rooms:
            if not has_room([evaluate(dim, sizes) for dim in shape], "int8"):
                raise EvaluationError(Diagnostic("a tensor has too many elements"))
        shapes = [tuple(evaluate(dim, sizes) for dim in shape) for shape in variant.results]
        outcome = self.batch.run(
            len(made.searches) + number,
            inputs,
            threads=threads,
            memory=memory,
            sizes=sizes,
            shapes=shapes,
        )
        if outcome.status and not outcome.problem.startswith("axis"):
            raise EvaluationError(Diagnostic(outcome.problem))
        assert outcome.status == 0, outcome.problem
        if not made.counted:
            return outcome.results
        *rooms, actual = outcome.results
        return tuple(
            _front(room, tuple(shape[: room.ndim]))
            for room, shape in zip(rooms, actual.tolist(), strict=True)
        )

    def choose(self, sizes: dict[str, int]) -> tuple[int, Variant]:
        """The first variant whose conditions hold, and its number."""
        for number, variant in enumerate(self.made.variants):
            if all(evaluate(a, sizes) == evaluate(b, sizes) for a, b in variant.conditions):
                return number, variant
        raise AssertionError("the last variant has conditions")


def _read(variable: Variable, inputs: Sequence[np.ndarray]) -> int:
    source = variable.source
    if isinstance(source, ElementOf):
        found = int(inputs[source.param].reshape(-1)[source.index])
    else:
        found = inputs[source.param].shape[source.axis]
    if found < 0:
        raise EvaluationError(Diagnostic(variable.message))
    return found


def _check(required: Iterable[Requirement], sizes: dict[str, int]) -> None:
    for one in required:
        if evaluate(one.left, sizes) != evaluate(one.right, sizes):
            raise EvaluationError(Diagnostic(one.message))


def _front(room: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The first elements, reshaped."""
    return room.reshape(-1)[: int(np.prod(shape, dtype=int))].reshape(shape)
