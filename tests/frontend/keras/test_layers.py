"""Layers and operations of Keras give what Keras gives."""

import pytest

from tests.frontend.keras.cases import layer_cases
from tests.frontend.keras.models import KERAS, agree
from tests.frontend.keras.operation_cases import operation_cases
from tests.frontend.keras.shipped_cases import shipped_cases
from tests.support import sampling
from tests.support.looping import naming

pytestmark = pytest.mark.filterwarnings(*KERAS)

PART = 12  # of the cases that a run takes


def test_layers_give_what_keras_gives() -> None:
    for case in sampling.part_of(layer_cases(), PART):
        with naming(str(case)):
            agree(case)


def test_operations_give_what_keras_gives() -> None:
    for case in sampling.part_of(operation_cases(), PART):
        with naming(str(case)):
            agree(case)


def test_compiled_layers_give_what_keras_gives() -> None:
    for case in sampling.part_of([*layer_cases(), *operation_cases()], 30 * PART):
        with naming(str(case)):
            agree(case, compiled=True)


@pytest.mark.full
@pytest.mark.timeout(3000)
def test_layers_of_the_tests_that_ship_in_keras_give_what_keras_gives() -> None:
    found, _ = shipped_cases()
    for case in found:
        with naming(str(case)):
            agree(case)


@pytest.mark.full
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("compiled", [False, True])
def test_all_layers_and_operations_give_what_keras_gives(compiled: bool) -> None:
    for case in (*layer_cases(), *operation_cases()):
        with naming(str(case)):
            agree(case, compiled=compiled)
