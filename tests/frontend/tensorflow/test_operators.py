"""Operators of TensorFlow give what TensorFlow gives."""

import pytest

from tests.frontend.tensorflow.models import agree, load
from tests.support import sampling
from tests.support.looping import naming

PART = 2  # of the recorded cases that a run takes


def test_operators_give_what_tensorflow_gave() -> None:
    for one in sampling.part_of(load(), PART):
        with naming(one.name):
            agree(one)


def test_compiled_operators_give_what_tensorflow_gave() -> None:
    for one in sampling.part_of(load(), 20 * PART):
        with naming(one.name):
            agree(one, compiled=True)


@pytest.mark.full
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("compiled", [False, True])
def test_all_operators_give_what_tensorflow_gives(compiled: bool) -> None:
    pytest.importorskip("tensorflow", reason="tensorflow is not installed")
    from tests.frontend.tensorflow.cases import all_cases
    from tests.frontend.tensorflow.oracle import recorded

    for one in all_cases():
        with naming(str(one)):
            agree(recorded(one), compiled=compiled)
