"""Operators of TFLite give what LiteRT's interpreter gives."""

import pytest

from tests.frontend.tflite.cases import all_cases
from tests.frontend.tflite.models import agree
from tests.support import sampling
from tests.support.looping import naming

PART = 6  # of the cases that a run takes


def test_operators_give_what_litert_gives() -> None:
    for case in sampling.part_of(all_cases(), PART):
        with naming(str(case)):
            agree(case)


def test_compiled_operators_give_what_litert_gives() -> None:
    for case in sampling.part_of(all_cases(), 20 * PART):
        with naming(str(case)):
            agree(case, compiled=True)


@pytest.mark.full
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("compiled", [False, True])
def test_all_operators_give_what_litert_gives(compiled: bool) -> None:
    for case in all_cases():
        with naming(str(case)):
            agree(case, compiled=compiled)
