"""Random schedules of small computations, as native code: the same results as the tensors say."""

from __future__ import annotations

import random

import numpy as np
import pytest

from relay.errors import RelayError
from relay.lower.kernel import Lowered
from relay.target.target import Target
from relay.te.evaluate import evaluate
from relay.te.lower import lower
from relay.te.schedule import Schedule, check, create
from tests.support.kernels import Batch
from tests.target.llvm.kernels import LEVEL_NAMES, LEVELS, function_of
from tests.te.schedule.test_any_schedule import COMPUTATIONS, RandomSchedule, arrays_for


def schedule(seed: int) -> Schedule | None:
    """A schedule, the same one for the same number; None where it is of no use."""
    numbers = random.Random(seed)
    computation = COMPUTATIONS[seed % len(COMPUTATIONS)]
    made = RandomSchedule(create(computation([numbers.choice((1, 3, 4, 5, 8)) for _ in range(3)])))
    for _ in range(numbers.randrange(1, 13)):
        made.step(*(numbers.randrange(5040) for _ in range(5)))
    try:
        check(made.s)
    except RelayError:
        return None
    return made.s


def assert_right(seeds: range, target: Target) -> None:
    schedules = [s for s in map(schedule, seeds) if s is not None]
    kernels: list[Lowered] = [
        function_of(lower(s), target, f"kernel{i}") for i, s in enumerate(schedules)
    ]
    batch = Batch(kernels, target)
    for i, s in enumerate(schedules):
        arrays = arrays_for(s, {})
        outcome = batch.run(i, [arrays[tensor] for tensor in s.inputs])
        assert outcome.status == 0
        for mine, wanted in zip(outcome.results, evaluate(s.outputs, arrays), strict=True):
            np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_native_code_computes_what_the_schedule_is_of(target: Target) -> None:
    assert_right(range(24), target)


@pytest.mark.full
@pytest.mark.parametrize("target", LEVELS, ids=LEVEL_NAMES)
def test_much_native_code_computes_what_the_schedule_is_of(target: Target) -> None:
    for start in range(24, 2000, 40):
        assert_right(range(start, start + 40), target)
