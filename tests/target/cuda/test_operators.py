"""Kernels of every operator, against the reference that its record has."""

import pytest

from relay.target import Target
from tests.support.gpu_uses import check_use, some_uses
from tests.support.interpreted_gpu import InterpretedGPU
from tests.support.looping import naming
from tests.support.operator_uses import computed_names

pytest.importorskip("triton", reason="the extra `cuda` is not installed")

NAMES = computed_names()
PART = 20  # of the uses of an operator


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.rotate(100)
@pytest.mark.parametrize("name", NAMES)
def test_kernels_agree_with_the_reference(name):
    for use in some_uses(name, PART):
        with naming(use.name):
            check_use(use, InterpretedGPU("sm_80"))


@pytest.mark.gpu
@pytest.mark.parametrize("name", NAMES)
def test_kernels_agree_with_the_reference_on_a_gpu(name):
    for use in some_uses(name, PART):
        with naming(use.name):
            check_use(use, Target("cuda"))
