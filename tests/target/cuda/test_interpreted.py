"""Kernels of all templates in Triton's interpreter, against code for the processor."""

import pytest

from tests.support.gpu_cases import CASES, check
from tests.support.interpreted_gpu import InterpretedGPU

pytest.importorskip("triton", reason="the extra `cuda` is not installed")


@pytest.mark.rotate(8)
@pytest.mark.parametrize("name", CASES)
def test_kernels_agree_with_the_processor(name):
    check(name, InterpretedGPU("sm_80"))
