"""Kernels called from the virtual machine: workspaces, errors."""

import numpy as np
import pytest

from relay.errors import EvaluationError
from tests.vm.conftest import machine as machine
from tests.vm.programs import FAIL, TOTAL, TOTAL_CODE


def test_a_kernel_says_how_large_its_workspace_is(machine):
    vm = machine(TOTAL, TOTAL_CODE)
    for length in (3, 10_000, 0, 5):
        assert vm.run(np.ones(length, "float32")).item() == length


def test_what_fails_in_a_kernel_is_said_in_words(machine):
    text = """
    kernel @fail(float32[?]) -> (float32[?]) checks=("an index of `take`",) operators=("take",)
    function @main("x" = %0: float32[?]) -> float32[?] {
      invoke @fail(%0) -> (%0)
      return %0
    }
    """
    vm = machine(text, {"fail": FAIL})
    for _ in range(2):  # a run that failed leaves nothing behind
        with pytest.raises(EvaluationError, match="an index of `take` is out of range") as error:
            vm.run(np.ones(3, "float32"))
        assert "expected: 0 to 3" in str(error.value) and "found:    9" in str(error.value)
