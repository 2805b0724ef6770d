"""Contexts: what a call runs in."""

import gc
import weakref

import numpy as np
import pytest

from relay.native import layout
from relay.native.call import ConstantObjects, ProgramContext, program_runtime
from tests.native.object_programs import call


def test_there_is_one_runtime():
    assert program_runtime() is program_runtime()


def test_a_context_takes_no_memory_before_it_is_used():
    context = ProgramContext(1)
    assert context.heap_bytes == 0
    assert context[layout.STACK] == 0


def test_a_context_goes_with_the_last_who_holds_it():
    context = ProgramContext(1)
    call(context, "list", 100)
    seen = weakref.ref(context)
    gc.disable()
    try:
        del context
        assert seen() is None  # not only when somebody looks for cycles
    finally:
        gc.enable()


@pytest.mark.parametrize("threads", [0, 100_000])
def test_the_number_of_threads_has_limits(threads):
    with pytest.raises(ValueError, match="threads"):
        ProgramContext(threads)


def test_the_stack_is_at_least_what_kernels_need():
    context = ProgramContext(1, stack=1)
    assert call(context, "recurse", 1000) == (0, [1000])
    assert context[layout.STACK_SIZE] >= 1 << 20


def test_constants_are_aligned_objects_that_nobody_frees():
    arrays = [np.zeros((2,) * rank, np.int8) for rank in (0, 1, 3, 7, 20)]
    constants = ConstantObjects(arrays)
    assert constants.address % 64 == 0
    context = ProgramContext(1)
    context.constants = constants
    assert context[layout.CONSTANTS] == constants.address
    context.constants = None
    assert context[layout.CONSTANTS] == 0
