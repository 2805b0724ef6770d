"""Kernels with timers, which a program calls while it is profiled.

    timed = TimedKernels(kernels, addresses)   these by name
    load(program, …, timed.imports)            code that calls them by these names
    …
    timed.counts[0], timed.seconds[0]          number of calls of the first one, and their time

The program runs in native code as always; each kernel is wrapped in a function that reads the clock
before and after, which takes some 50 ns.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping, Sequence

import numpy as np

from relay.errors import RelayError
from relay.target.kernel import Kernel
from relay.target.llvm.compile import compile_module
from relay.target.llvm.jit import load
from relay.target.llvm.target import LLVMTarget

_NOW = """
define internal i64 @relay_now() {{
  %time = alloca [2 x i64]
  %_ = call i32 inttoptr (i64 {clock} to ptr)(i32 {kind}, ptr %time)
  %seconds = load i64, ptr %time
  %at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %at
  %scaled = mul i64 %seconds, 1000000000
  %now = add i64 %scaled, %rest
  ret i64 %now
}}
"""
_TIMED = """
define i32 @relay_timed_{number}(ptr %context, ptr %args) {{
  %before = call i64 @relay_now()
  %status = call i32 inttoptr (i64 {kernel} to ptr)(ptr %context, ptr %args)
  %after = call i64 @relay_now()
  %taken = sub i64 %after, %before
  %_ = atomicrmw add ptr inttoptr (i64 {count} to ptr), i64 1 monotonic
  %__ = atomicrmw add ptr inttoptr (i64 {time} to ptr), i64 %taken monotonic
  ret i32 %status
}}
"""


class TimedKernels:
    """Timed wrappers of kernels, which must stay loaded."""

    def __init__(self, kernels: Sequence[Kernel], addresses: Mapping[str, int]) -> None:
        self.kernels = kernels
        clock = getattr(ctypes.CDLL(None), "clock_gettime", None)
        if clock is None or ctypes.sizeof(ctypes.c_long) != 8:
            raise RelayError("a whole program is profiled where C has a clock_gettime of 64 bits")
        self._noted: np.ndarray = np.zeros((2, max(1, len(kernels))), np.int64)
        first = int(self._noted.__array_interface__["data"][0])
        now = _NOW.format(
            clock=ctypes.cast(clock, ctypes.c_void_p).value, kind=int(time.CLOCK_MONOTONIC)
        )
        timed = [
            _TIMED.format(
                number=number,
                kernel=address,
                count=first + 8 * number,
                time=first + 8 * (self._noted.shape[1] + number),
            )
            for number, address in enumerate(addresses.values())
        ]
        names = [f"relay_timed_{number}" for number in range(len(kernels))]
        self._library = load(compile_module([now + "".join(timed)], LLVMTarget.here()), names)
        self.imports = {
            kernel: self._library.address(name)
            for kernel, name in zip(addresses, names, strict=True)
        }

    @property
    def counts(self) -> np.ndarray:
        """The number of calls of each kernel."""
        return self._noted[0, : len(self.imports)].copy()

    @property
    def seconds(self) -> np.ndarray:
        """The total time of each kernel."""
        return self._noted[1, : len(self.imports)] / 1e9

    def reset(self) -> None:
        """Set all counts and times to zero."""
        self._noted[...] = 0
