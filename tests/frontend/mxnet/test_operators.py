"""Operators, loops and layers of MXNet give what MXNet 1.9.1 gave."""

import pytest

from tests.frontend.mxnet.models import agree, cases
from tests.support import sampling
from tests.support.looping import naming

PART = 5  # of the cases that a run takes


def test_operators_give_what_mxnet_gave() -> None:
    for case in sampling.part_of(cases(), PART):
        with naming(str(case)):
            agree(case)


def test_compiled_operators_give_what_mxnet_gave() -> None:
    for case in sampling.part_of(cases(), 20 * PART):
        with naming(str(case)):
            agree(case, compiled=True)


@pytest.mark.full
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("compiled", [False, True])
def test_all_operators_give_what_mxnet_gave(compiled: bool) -> None:
    for case in cases():
        with naming(str(case)):
            agree(case, compiled=compiled)
