"""Memory that was given away becomes an array, and goes back with the last view of it."""

import ctypes
import gc
import signal
import time

import numpy as np
import pytest

from relay import dtypes
from relay.target.llvm.executable.block import Block


@pytest.mark.parametrize("dtype", ["float32", "bool", "int64", "float16", "bfloat16", "int4"])
def test_an_array_is_the_memory_until_nobody_looks_at_it(dtype):
    kind = dtypes.to_numpy(dtype)
    memory = np.ones((4, 6), kind)
    freed = []
    made = Block(17, freed.append).array(memory.ctypes.data, (4, 6), kind)
    assert (made.dtype, made.shape) == (kind, (4, 6))
    assert made.flags.writeable
    made[2, 3] = 0
    assert memory[2, 3] == 0
    part = made[1:].T
    del made
    gc.collect()
    assert freed == []
    del part
    gc.collect()
    assert freed == [17]


def test_a_signal_while_it_is_freed_is_not_lost():
    """Python drops what a `__del__` raises."""

    def handle(number, frame):
        raise LookupError

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        with pytest.raises(LookupError):
            Block(signal.SIGUSR1, getattr(ctypes.CDLL(None), "raise"))
            time.sleep(0)  # here it is noticed
    finally:
        signal.signal(signal.SIGUSR1, before)
