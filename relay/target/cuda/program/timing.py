"""The launches of a program, timed while it is profiled.

A function that times takes the place of the driver's in the record of a context: it launches,
waits, and reads the clock. So what is measured includes the launch, a few microseconds.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence

import numpy as np

from relay.target.cuda.loaded import DeviceKernels
from relay.target.cuda.program import runtime
from relay.target.cuda.program.record import Record
from relay.target.kernel import Kernel

_Launch = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)
_Wait = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class TimedLaunches:
    """Counts the calls of kernels, and adds up their times."""

    def __init__(self, loaded: DeviceKernels, names: Sequence[str], kernels: list[Kernel]) -> None:
        driver = loaded.driver
        self.kernels = kernels
        self._launch = _Launch(driver.entry("cuLaunchKernelEx"))
        self._wait = _Wait(driver.entry("cuStreamSynchronize"))
        self._numbers: dict[int, int] = {}  # of kernels, by their functions
        self._first: set[int] = set()  # the first functions of kernels
        for number, name in enumerate(names):
            functions = [driver.word(one.function) for one in loaded.launches[name]]
            self._first.update(functions[:1])
            self._numbers |= dict.fromkeys(functions, number)
        self._timed = _Launch(self._time)
        self.reset()

    def take_part(self, record: Record) -> None:
        """Time the launches of a context."""
        place = ctypes.cast(self._timed, ctypes.c_void_p).value
        assert place is not None
        record[runtime.DRIVER["cuLaunchKernelEx"]] = place
        record.kept.append(self)

    def reset(self) -> None:
        """Set all counts and times to zero."""
        self.counts = np.zeros(len(self.kernels), np.int64)
        self.seconds = np.zeros(len(self.kernels))

    def _time(self, configuration: int, function: int, params: int, extra: int | None) -> int:
        at = configuration + runtime.CONFIGURED_STREAM
        stream = ctypes.c_void_p.from_address(at).value
        before = time.perf_counter()
        status = int(self._launch(configuration, function, params, extra))
        if not status:
            status = int(self._wait(stream))
        number = self._numbers[function]
        self.seconds[number] += time.perf_counter() - before
        self.counts[number] += function in self._first
        return status
